"""`polypath run -- COMMAND...`."""

# No postponed annotations here: typer evaluates these at run time, on Python 3.9 too.
import os
import sys
from typing import Annotated

import typer

from polypath.cli.errors import UserError
from polypath.cli.output import notice
from polypath.launching import NOT_EXECUTABLE, WAYS, Launch, LaunchError, plan_launch


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="What to run.")],
    how: Annotated[
        str, typer.Option("--how", metavar="WAY", help=f"One of {', '.join(WAYS)}.")
    ] = "auto",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing but what goes wrong.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the command instead of running it.")
    ] = False,
) -> None:
    """Run an unchanged program, its large copies over every path that helps."""
    try:
        launch = plan_launch(command, how)
    except LaunchError as error:
        if error.shell_status is None:
            raise UserError(error.problem, error.why, error.remedy) from None
        notice(str(error))
        raise typer.Exit(error.shell_status) from None
    for line in () if quiet else (f"by {launch.way}: {launch.why}", *launch.notes):
        notice(line)
    if dry_run:
        print(launch.shell_line())
        return
    _become(launch)


def _become(launch: Launch) -> None:
    """Go on as the command: its exit status, signals and terminal are its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(launch.arguments[0], launch.arguments, {**os.environ, **launch.environment})
    except OSError as error:
        notice(
            f"'{launch.arguments[0]}' cannot be run ({error.strerror}) "
            "Name a program, or a script whose first line says what runs it."
        )
        raise typer.Exit(NOT_EXECUTABLE) from None
