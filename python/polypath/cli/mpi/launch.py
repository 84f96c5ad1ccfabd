"""The command that starts the ranks, with and without Polypath under them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from polypath import install
from polypath.cli.errors import UserError
from polypath.cli.mpi.stack import Stack
from polypath.launching import LauncherFamily, LaunchError, plan_launch


@dataclass(frozen=True)
class Launch:
    """How ranks are started: the launcher, their number, and their environment.

    The variables are set for the ranks, on every node; the launcher itself runs without them.
    """

    stack: Stack
    ranks: int
    variables: dict[str, str] = field(default_factory=dict)
    planned: bool = False  # with Polypath

    def started(self, program: Path, arguments: list[str]) -> tuple[list[str], dict[str, str]]:
        """Return the whole command for the ranks to run a program, and its environment."""
        words = [*self.stack.launcher, *self._passed_on(self.variables)]
        words += ["-n", str(self.ranks), str(program), *arguments]
        environment = self._environment()
        if not self.planned:
            return words, environment
        launch = plan_launch(words, "preload", environment, self.stack.family)
        return list(launch.arguments), {**environment, **launch.environment}

    def _environment(self) -> dict[str, str]:
        """Return the launcher's environment; where it cannot set the ranks', they inherit it."""
        environment = {**os.environ, **_without_polypath()}
        if self.stack.family not in (LauncherFamily.OPEN_MPI, LauncherFamily.HYDRA):
            environment.update(self.variables)
        return environment

    def _passed_on(self, variables: dict[str, str]) -> list[str]:
        """Return the launcher's options that set variables of the ranks."""
        words: list[str] = []
        for name, value in sorted(variables.items()):
            if self.stack.family is LauncherFamily.OPEN_MPI:
                words += ["-x", f"{name}={value}"]
            elif self.stack.family is LauncherFamily.HYDRA:
                words += ["-genv", name, value]
        return words


def native_launch(stack: Stack, ranks: int, driver_folder: Path | None) -> Launch:
    """Return how ranks start without Polypath; `driver_folder` has the stand-in driver, if any."""
    variables = {}
    if driver_folder is not None:  # races and uses after free are to be errors
        variables = {"STANDIN_STRICT": "1", **_set_here("STANDIN_")}
    folders = [str(folder) for folder in (driver_folder, stack.ucx_folder) if folder is not None]
    if folders:
        variables["LD_LIBRARY_PATH"] = _before("LD_LIBRARY_PATH", folders)
    return Launch(stack, ranks, variables)


def with_polypath(launch: Launch) -> Launch:
    """Return the same as `polypath run` would start it; refuse where it cannot."""
    planned = replace(launch, planned=True)
    try:
        planned.started(Path("program"), [])
    except LaunchError as error:
        raise UserError(error.problem, error.why, error.remedy) from None
    return planned


def _set_here(prefix: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(prefix)}


def _before(name: str, folders: list[str]) -> str:
    return ":".join([*folders, *filter(None, [os.environ.get(name, "")])])


def _without_polypath() -> dict[str, str]:
    """Return LD_PRELOAD of this process without Polypath, where it is set at all."""
    ours = install.preload_library().name
    preload = re.split(r"[:\s]+", os.environ.get("LD_PRELOAD", ""))
    kept = [library for library in preload if library and Path(library).name != ours]
    return {"LD_PRELOAD": ":".join(kept)} if "LD_PRELOAD" in os.environ else {}
