"""The commands of `polypath`. Every one asks the library, and shows the JSON that it answers."""

from __future__ import annotations

from typing import Annotated

import typer

import polypath
from polypath.cli.commands import (
    bench,
    calibrate,
    demo,
    doctor,
    info,
    machines,
    mpi,
    paper,
    plan,
    run,
    trace,
    tune,
    weights,
)

app = typer.Typer(
    name="polypath",
    help="One transfer over every path that helps, and over none that hurts.",
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
    paper.paper,
    tune.tune,
    trace.trace,
    demo.demo,
    doctor.doctor,
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
