"""Where tests look for an MPI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEARCH = f"{ROOT}/.venv-mpi/bin:{os.environ['PATH']}"

needs_mpi = pytest.mark.skipif(
    not all(shutil.which(name, path=SEARCH) for name in ("mpirun", "mpicc")),
    reason="there is no MPI here",
)

# Those that systems have send memory of the host alone, as a rule.
needs_mpi_for_gpus = pytest.mark.skipif(
    not (ROOT / ".venv-mpi" / "bin" / "mpirun").exists(),
    reason="there is no MPI here that sends memory of GPUs: scripts/bootstrap mpi",
)
