"""What starts a program with the library before its CUDA driver; loads nothing but `os`.

Most programs are started with that alone (cli/plain_run.py); launching.py has the rest.
"""

# Loading pathlib takes about as long as starting Python does.
# ruff: noqa: PTH103, PTH105, PTH111, PTH114, PTH115, PTH117, PTH118, PTH119, PTH120, PTH211
from __future__ import annotations

import os

NAME = "libpolypath_preload.so"
VARIABLE = "LD_PRELOAD"
# Of this name there is one where the first process is to say that it has the library; it takes the
# variable away (api/preload/library/announce.cc).
SAYS_SO = "_POLYPATH_RUN"
BY_ITSELF, BY_RANK_0 = "process", "ranks"
SLURM_LAUNCHER = "srun"
LAUNCHERS = (
    *("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", "mpirun_rsh"),
    SLURM_LAUNCHER,
)


def library() -> str:
    """Return the file that `polypath run` puts before the CUDA driver."""
    folder = os.path.dirname(os.path.realpath(__file__))
    return os.path.join(folder, "lib", NAME)


def as_listed(file: str) -> str:
    """Return the name of a file in a list that blanks and colons separate: its own or a link's.

    The link is in this user's folder for what Polypath keeps. Raises OSError where that has such a
    name as well, or cannot be written to.
    """
    if not _separates(file):
        return file
    import binascii

    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    name = f"preload-{binascii.crc32(os.fsencode(file)):08x}"
    link = os.path.join(cache, "polypath", name, os.path.basename(file))
    if _separates(link) or not os.path.isabs(link):
        raise OSError
    if not os.path.islink(link) or os.readlink(link) != file:
        os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
        new = f"{link}.{os.getpid()}"
        os.symlink(file, new)
        os.replace(new, link)
    return link


def _separates(file: str) -> bool:
    return any(letter in file for letter in " :$")  # $ORIGIN is another folder


def is_launcher(program: str) -> bool:
    """Return whether the program has the name of a launcher of MPI programs."""
    return os.path.basename(program) in LAUNCHERS


def put_before(ours: str, earlier: str) -> str:
    """Return the list of a variable, ours first; colons and blanks separate earlier ones."""
    others = [part for part in earlier.replace(":", " ").split() if part != ours]
    return ":".join([ours, *others])
