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
