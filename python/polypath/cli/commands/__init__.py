"""The commands of `polypath`. Every one asks the library, and shows the JSON that it answers."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    from typing import Any, Callable

# In the order of the help. Each is a function in the module of its name.
NAMES = (
    "machines",
    "info",
    "skeleton",
    "calibrate",
    "plan",
    "bench",
    "weights",
    "mpi",
    "paper",
    "tune",
    "trace",
    "demo",
    "doctor",
    "run",
)
RUN_PROGRAMS = ("run",)  # what comes after the first word of a program belongs to it


def command_of(name: str) -> Callable[..., Any]:
    """Load a command, and no other."""
    command: Callable[..., Any] = getattr(import_module(f"polypath.cli.commands.{name}"), name)
    return command
