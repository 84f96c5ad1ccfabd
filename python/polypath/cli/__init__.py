"""The command `polypath`. Every command asks the library, and shows the JSON that it answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import polypath
from polypath.cli.commands import (
    bench,
    calibrate,
    demo,
    info,
    machines,
    mpi,
    plan,
    run,
    trace,
    tune,
    weights,
)
from polypath.cli.errors import INTERRUPTED, RUN_ERROR, describe
from polypath.cli.output import notice

app = typer.Typer(
    name="polypath",
    help="One transfer over every path that helps, and over none that hurts.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_CLASSES = {bench.bench: bench.BenchCommand, trace.trace: trace.TraceCommand}
for command in (
    machines.machines,
    info.info,
    calibrate.calibrate,
    plan.plan,
    bench.bench,
    weights.weights,
    mpi.mpi,
    tune.tune,
    trace.trace,
    demo.demo,
):
    app.command(cls=_CLASSES.get(command))(command)
# What comes after the first word of the command belongs to it.
app.command(context_settings={"allow_interspersed_args": False})(run.run)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"polypath {polypath.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _polypath(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default the one of this process; return the exit status."""
    _tolerate_narrow_encodings()
    try:
        status = app(arguments, prog_name="polypath", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return RUN_ERROR
    except Exception as error:
        line, status = describe(error)
        notice(line)
    return status if isinstance(status, int) else 0


def _tolerate_narrow_encodings() -> None:
    """Let a terminal that cannot show a character show its code instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _discard_stdout() -> None:
    """Keep the interpreter from complaining about a closed pipe when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
