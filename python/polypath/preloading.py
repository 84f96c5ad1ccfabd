"""What starts a program with the library before its CUDA driver; loads nothing but `os`.

Most programs are started with that alone (cli/plain_run.py); launching.py has the rest.
"""

# Loading pathlib takes about as long as starting Python does.
# ruff: noqa: PTH118, PTH119, PTH120
from __future__ import annotations

import os

NAME = "libpolypath_preload.so"
VARIABLE = "LD_PRELOAD"
WHY = "it reaches every copy of a program that uses CUDA, with or without UCX"
SLURM_LAUNCHER = "srun"
LAUNCHERS = (
    *("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", "mpirun_rsh"),
    SLURM_LAUNCHER,
)


def library() -> str:
    """Return the file that `polypath run` puts before the CUDA driver."""
    folder = os.path.dirname(os.path.realpath(__file__))
    return os.path.join(folder, "lib", NAME)


def is_launcher(program: str) -> bool:
    """Return whether the program has the name of a launcher of MPI programs."""
    return os.path.basename(program) in LAUNCHERS


def put_before(ours: str, earlier: str) -> str:
    """Return the list of a variable, ours first; colons and blanks separate earlier ones."""
    others = [part for part in earlier.replace(":", " ").split() if part != ours]
    return ":".join([ours, *others])
