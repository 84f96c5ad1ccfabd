"""The MPI program, compiled for the MPI that is there.

MPI libraries differ in their binary interface, so a compiled program fits one of them only. It is
kept in the user's cache under a name that stands for its source and for the MPI.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

from polypath import install
from polypath.cli.caches import cache_folder, check_cache_folder
from polypath.cli.errors import UserError

NAME = "polypath_mpi_bench"
FLAGS = ("-std=c11", "-O3")
LIBRARIES = ("-ldl",)


def compiled_program(compiler: Path) -> Path:
    """Return the program for the MPI of this compiler wrapper, compiled if it was not before."""
    folder = cache_folder("the compiled MPI program")
    program = folder / f"{NAME}-{_identity(compiler)}"
    if not os.access(program, os.X_OK):
        _compile(compiler, program)
    return program


def source_files() -> list[Path]:
    """Return the sources and headers of the program, in a fixed order."""
    return sorted(install.mpi_source_dir().glob("*.[ch]"))


def _identity(compiler: Path) -> str:
    """Return a name for this source with this MPI.

    The wrapper's own command has the folders of the MPI, and its header has the binary interface:
    after an upgrade in place at least the header differs.
    """
    digest = hashlib.sha256()
    for file in source_files():
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    for part in (*FLAGS, *LIBRARIES, str(compiler.resolve()), _shown(compiler), _header(compiler)):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def _shown(compiler: Path) -> str:
    """Return the command that the wrapper stands for."""
    return _run(compiler, ["-show"], "")


def _header(compiler: Path) -> str:
    """Return the MPI header as the compiler sees it."""
    return _run(compiler, ["-E", "-x", "c", "-"], "#include <mpi.h>\n")


def _compile(compiler: Path, program: Path) -> None:
    check_cache_folder("the MPI program cannot be compiled", program.parent)
    sources = [str(file) for file in source_files() if file.suffix == ".c"]
    # Under another name first: two may compile at once, and one may be interrupted.
    handle, temporary = tempfile.mkstemp(prefix=f".{NAME}.", dir=program.parent)
    os.close(handle)
    try:
        _run(compiler, [*FLAGS, *sources, "-o", temporary, *LIBRARIES], "")
        if Path(temporary).stat().st_size == 0:
            raise _failure(f"{compiler} has written no program")
        Path(temporary).chmod(0o755)
        Path(temporary).replace(program)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _run(compiler: Path, arguments: list[str], text: str) -> str:
    try:
        run = subprocess.run(
            [str(compiler), *arguments], input=text, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise _failure(f"{compiler}: {error.strerror or error}") from None
    if run.returncode != 0:
        why = _first_error(run.stderr) or f"status {run.returncode}"
        raise _failure(f"{compiler} says: {why}")
    return run.stdout


def _first_error(messages: str) -> str:
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
    return (errors or lines or [""])[0]


def _failure(why: str) -> UserError:
    return UserError(
        "the MPI program cannot be compiled",
        why,
        "Check that this wrapper compiles, or name another with --mpicc.",
    )
