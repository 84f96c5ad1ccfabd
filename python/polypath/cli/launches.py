"""How commands start a program, and what they say where it cannot be started."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from polypath.cli.arguments import choice
from polypath.cli.errors import UserError
from polypath.cli.notices import notice
from polypath.launching import WAYS, Launch, LaunchError, plan_launch


def launch_of(
    command: Sequence[str], how: str, around: dict[str, str], quiet: bool, dry: bool = False
) -> Launch:
    """Return how to start a command, and say so; end as shells do where there is no program.

    That copies are reached by preload says the program itself, because nothing else knows it.
    """
    choice("way", how, WAYS)
    try:
        launch = plan_launch(command, how, around, announced=not quiet and not dry)
    except LaunchError as error:
        if error.shell_status is None:
            raise UserError(error.problem, error.why, error.remedy) from None
        notice(str(error))
        sys.exit(error.shell_status)
    if quiet:
        return launch
    if dry or launch.way != "preload":
        notice(f"by {launch.way}: {launch.why}")
    for line in launch.notes:
        notice(line)
    return launch


def say_not_run(name: str, error: OSError) -> None:
    """Say why the system does not run a program that there is."""
    notice(
        f"'{name}' cannot be run ({error.strerror}) "
        "Name a program, or a script whose first line says what runs it."
    )
