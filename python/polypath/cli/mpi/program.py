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
from polypath.cli.errors import UserError

NAME = "polypath_mpi_bench"
FLAGS = ("-std=c11", "-O3")
LIBRARIES = ("-ldl",)


def compiled_program(compiler: Path) -> Path:
    """Return the program for the MPI of this compiler wrapper, compiled if it was not before."""
    folder = cache_folder() / "polypath"
    program = folder / f"{NAME}-{_identity(compiler)}"
    if not os.access(program, os.X_OK):
        _compile(compiler, program)
    return program


def cache_folder() -> Path:
    """Return where this user's caches are, as the XDG base directory specification has it."""
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if chosen.is_absolute():
        return chosen
    home = Path(os.environ.get("HOME", ""))
    if home.is_absolute():
        return home / ".cache"
    raise UserError(
        "there is no folder for the compiled MPI program",
        "neither XDG_CACHE_HOME nor HOME is an absolute path",
        "Set one of them.",
    )


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
    _make_folder(program.parent)
    sources = [str(file) for file in source_files() if file.suffix == ".c"]
    # Under another name first: two may compile at once, and one may be interrupted.
    handle, temporary = tempfile.mkstemp(prefix=f".{NAME}.", dir=program.parent)
    os.close(handle)
    try:
        _run(compiler, [*FLAGS, *sources, "-o", temporary, *LIBRARIES], "")
        Path(temporary).chmod(0o755)
        Path(temporary).replace(program)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        raise UserError(
            "the MPI program cannot be compiled",
            f"this user may not write to {folder}",
            "Set XDG_CACHE_HOME to a folder that you may write to.",
        )


def _run(compiler: Path, arguments: list[str], text: str) -> str:
    try:
        run = subprocess.run(
            [str(compiler), *arguments], input=text, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise _failure(compiler, error.strerror or str(error)) from None
    if run.returncode != 0:
        raise _failure(compiler, _first_error(run.stderr) or f"status {run.returncode}")
    return run.stdout


def _first_error(messages: str) -> str:
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
    return (errors or lines or [""])[0]


def _failure(compiler: Path, why: str) -> UserError:
    return UserError(
        "the MPI program cannot be compiled",
        f"{compiler} says: {why}",
        "Check that this wrapper compiles, or name another with --mpicc.",
    )
