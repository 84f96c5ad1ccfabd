"""The command that starts the ranks, with and without Polypath under them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from polypath import install
from polypath.cli.errors import UserError
from polypath.cli.mpi.stack import HYDRA, OPEN_MPI, Stack

PRELOAD = "libpolypath_preload.so"


@dataclass(frozen=True)
class Launch:
    """How ranks are started: the launcher, their number, and their environment.

    The variables are set for the ranks, on every node; the launcher itself runs without them.
    """

    stack: Stack
    ranks: int
    variables: dict[str, str] = field(default_factory=dict)

    def command(self, program: Path, arguments: list[str]) -> list[str]:
        """Return the whole command for the ranks to run a program."""
        launcher = [*self.stack.launcher, *self._for_ranks()]
        return [*launcher, "-n", str(self.ranks), str(program), *arguments]

    def environment(self) -> dict[str, str]:
        """Return the launcher's environment; where it cannot set the ranks', they inherit it."""
        environment = {**os.environ, **_without_polypath()}
        if self.stack.family not in (OPEN_MPI, HYDRA):
            environment.update(self.variables)
        return environment

    def _for_ranks(self) -> list[str]:
        words: list[str] = []
        for name, value in sorted(self.variables.items()):
            if self.stack.family == OPEN_MPI:
                words += ["-x", f"{name}={value}"]
            elif self.stack.family == HYDRA:
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
    """Return the same with Polypath preloaded into every rank, as `polypath run` does it."""
    library = install.library_dir() / PRELOAD
    if not library.is_file():
        raise UserError(
            "Polypath cannot be put under MPI programs",
            f"this installation has no {library}",
            "Install the package again.",
        )
    preload = " ".join(filter(None, [str(library), _without_polypath().get("LD_PRELOAD", "")]))
    return Launch(
        launch.stack,
        launch.ranks,
        {**launch.variables, **_set_here("POLYPATH_"), "LD_PRELOAD": preload},
    )


def _set_here(prefix: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(prefix)}


def _before(name: str, folders: list[str]) -> str:
    return ":".join([*folders, *filter(None, [os.environ.get(name, "")])])


def _without_polypath() -> dict[str, str]:
    """Return the variables of this process that put Polypath under it, with that taken out."""
    preload = os.environ.get("LD_PRELOAD", "").replace(":", " ").split()
    kept = [library for library in preload if Path(library).name != PRELOAD]
    return {"LD_PRELOAD": " ".join(kept)} if preload else {}
