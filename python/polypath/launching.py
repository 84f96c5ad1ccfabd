"""How a program is started so that its copies go through Polypath, without changing the program.

Two ways lead in: ``preload`` puts a library before the CUDA driver in every process of the program;
``plugin`` hands UCX a module (UCX 1.21 or later), which reaches UCX's copies only. The processes of
an MPI program are started by its launcher, perhaps on other nodes: it is told what to pass on.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from polypath import launcher_lines, open_mpi_wheel, preloading, program_file
from polypath.install import preload_library, ucx_plugin_dir
from polypath.preloading import SLURM_LAUNCHER, is_launcher

WAYS = ("auto", "preload", "plugin")

# Exit statuses, as shells have them.
NOT_EXECUTABLE = 126  # found, but not to be run
NOT_FOUND = 127

_ANSWER_SECONDS = 30


class LauncherFamily(Enum):
    """The launchers of MPI programs that take the same options."""

    OPEN_MPI = "Open MPI"
    HYDRA = "Hydra"
    SLURM = "Slurm"
    OTHER = "other"


# What a launcher says of itself with --version.
_MARKS = {
    LauncherFamily.OPEN_MPI: r"open ?mpi|open-?rte|prrte|prterun",
    LauncherFamily.HYDRA: r"hydra|intel\(r\) mpi",
}


class LaunchError(Exception):
    """The program cannot be started in the way that was asked for."""

    def __init__(
        self, problem: str, why: str, remedy: str, shell_status: int | None = None
    ) -> None:
        super().__init__(f"{problem} ({why}) {remedy}")
        self.problem, self.why, self.remedy = problem, why, remedy
        self.shell_status = shell_status  # what a shell would end with


@dataclass(frozen=True)
class Launch:
    """A command with what has been added to it."""

    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)  # added for the command itself
    way: str = "preload"
    why: str = ""
    notes: tuple[str, ...] = ()

    def shell_line(self) -> str:
        """Return the command as one would type it."""
        added = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*added, shlex.join(self.arguments)])


def plan_launch(
    command: Sequence[str],
    how: str = "auto",
    environment: Mapping[str, str] | None = None,
    launcher: LauncherFamily | None = None,
    announced: bool = False,
) -> Launch:
    """Return how to start ``command``; ``how`` is one of :data:`WAYS`.

    ``environment`` is the one that the command will have apart from what is added; by default this
    process's. ``launcher`` is for MPI launchers of any name; by default those with a usual name
    count, and are asked. With ``announced`` the program, or rank 0, says on stderr that it has been
    reached by preload. Raises LaunchError if there is no such way for this program.
    """
    around = dict(os.environ if environment is None else environment)
    program = find_program(command[0], around.get("PATH"))
    if program is None:
        raise refusal(command[0], around.get("PATH"))
    if shutil.which(command[0], path=around.get("PATH")) is None:
        command = [program, *command[1:]]
    if launcher is None and is_launcher(program):
        launcher = launcher_family(program, around)
    way, why = _way_for(program, how, launcher)
    added = _variables(way, around)
    if announced and way == "preload":
        added[preloading.SAYS_SO] = preloading.BY_RANK_0 if launcher else preloading.BY_ITSELF
    arguments, own, notes = _pass_on(list(command), launcher, added, around)
    if launcher is LauncherFamily.OPEN_MPI:
        options = launcher_lines.words_for_open_mpi(list(command))
        advice = open_mpi_wheel.gpu_advice(Path(program).absolute(), options, around)
        notes = (*notes, *advice)
    if way == "plugin":
        notes = ("UCX before 1.21 has no plugin folder, and copies as it always does.", *notes)
    elif launcher is None:
        notes = (*notes, *filter(None, (program_file.obstacle(program, around),)))
    return Launch(tuple(arguments), own, way, why, notes)


def refusal(name: str, path: str | None = None) -> LaunchError:
    """Return why there is nothing to run, with the exit status that shells have for it.

    Without ``path``, this process's PATH counts.
    """
    problem, file = f"'{name}' cannot be run", Path(name)
    if "/" in name and file.is_dir():
        return LaunchError(problem, "it is a folder", "Name a program in it.", NOT_EXECUTABLE)
    if ("/" in name and file.exists()) or shutil.which(name, os.F_OK, path):
        remedy = "Make it so with chmod +x, or name what runs it, such as sh or python."
        return LaunchError(problem, "it is not executable", remedy, NOT_EXECUTABLE)
    remedy = "Name one that is on the PATH or in this Python's environment."
    return LaunchError(problem, "there is no such program", remedy, NOT_FOUND)


def find_program(name: str, path: str | None = None) -> str | None:
    """Return the program of that name: from ``path``, else from this Python's environment.

    Without ``path``, this process's PATH counts. Packages bring programs such as MPI launchers.
    """
    beside_python = str(Path(sys.executable).parent)
    return shutil.which(name, path=path) or shutil.which(name, path=beside_python)


def launcher_family(program: str, environment: Mapping[str, str]) -> LauncherFamily:
    """Return the family of a launcher, which may have any name.

    All but Slurm's are run with --version: do not ask this about what may be no launcher.
    """
    if Path(program).name == SLURM_LAUNCHER:
        return LauncherFamily.SLURM
    version = answer_of([program, "--version"], environment)
    return next(
        (family for family, mark in _MARKS.items() if re.search(mark, version, re.IGNORECASE)),
        LauncherFamily.OTHER,
    )


def answer_of(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return what a program prints, errors included, or nothing where it cannot be asked."""
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            env=dict(environment),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout + ended.stderr


def _way_for(program: str, how: str, launcher: LauncherFamily | None) -> tuple[str, str]:
    if how not in WAYS:
        raise LaunchError(f"way '{how}' is unknown", f"the ways are {', '.join(WAYS)}", "Name one.")
    if how != "auto":
        return how, "as asked for"
    privilege = program_file.privilege(program) if launcher is None else ""
    if privilege:
        return "plugin", f"the system ignores LD_PRELOAD for {privilege}"
    return "preload", "LD_PRELOAD puts it before the CUDA driver"


def _variables(way: str, around: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the way, with what they have been set to before behind ours."""
    name, ours = (
        ("UCX_PLUGIN_PATH", ucx_plugin_dir())
        if way == "plugin"
        else (preloading.VARIABLE, preload_library())
    )
    if not ours.exists():
        raise LaunchError(
            f"{ours} is missing",
            "this installation has no CUDA driver layer",
            "Install a build with POLYPATH_WITH_CUDA=ON.",
        )
    try:
        listed = preloading.as_listed(str(ours))
    except OSError:
        raise LaunchError(
            f"{ours} cannot be named in {name}",
            "its path has a blank, a colon or a $, and no link to it can be made in the cache",
            "Set XDG_CACHE_HOME to a folder without, or install Polypath in one.",
        ) from None
    return {name: preloading.put_before(listed, around.get(name, ""))}


def _pass_on(
    command: list[str],
    launcher: LauncherFamily | None,
    added: Mapping[str, str],
    around: Mapping[str, str],
) -> launcher_lines.Line:
    """Return the command, the variables for it alone, and what its user should know."""
    settings = {name: around[name] for name in sorted(around) if name.startswith("POLYPATH_")}
    passed = launcher_lines.Passed(added, settings, around)
    if launcher is LauncherFamily.OPEN_MPI:
        return launcher_lines.open_mpi(command, passed)
    if launcher is LauncherFamily.HYDRA:
        return launcher_lines.hydra(command, passed)
    if launcher is LauncherFamily.SLURM:
        return launcher_lines.slurm(command, passed)
    notes: tuple[str, ...] = ()
    if launcher is LauncherFamily.OTHER:
        name = next(iter(added))
        notes = (
            f"{command[0]} is neither Open MPI's nor Hydra's: see that it passes {name} on to "
            "other nodes.",
        )
    return command, dict(added), notes
