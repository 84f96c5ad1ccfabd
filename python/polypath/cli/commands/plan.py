"""`polypath plan SRC DST SIZE`."""

from __future__ import annotations

from rich.console import Console

from polypath import parse_bytes, reports
from polypath.cli.arguments import overrides
from polypath.cli.machine_choice import choose_machine
from polypath.cli.options import (
    ChunksOption,
    Destination,
    ExecutorOption,
    JsonOption,
    MachineOption,
    PathsOption,
    PlotOption,
    SharesOption,
    Size,
    Source,
)
from polypath.cli.output import Document, check_writable, console_for, write_json
from polypath.cli.plots import check_picture, write_timeline
from polypath.cli.tables import heading, paths_table, reasons_grid
from polypath.cli.units import bandwidth_text, factor_text, size_text, time_text


def plan(
    source: Source,
    destination: Destination,
    size: Size,
    machine: MachineOption = None,
    executor: ExecutorOption = "auto",
    paths: PathsOption = None,
    shares: SharesOption = None,
    chunks: ChunksOption = None,
    json_target: JsonOption = None,
    plot: PlotOption = None,
) -> None:
    """Show what one transfer would do, how long it takes, and why each path is in or out."""
    check_writable(json_target)
    check_picture(plot)
    choice = choose_machine(machine)
    fixed = overrides(executor, paths, shares, chunks)
    nbytes = parse_bytes(size)
    document = reports.plan(source, destination, nbytes, machine=choice.name, **fixed)
    write_json(document, json_target)
    write_timeline(document, plot)
    choice.announce()
    show_plan(console_for(json_target), document)


def show_plan(console: Console, plan: Document) -> None:
    """Print a plan: what it takes, each path's part, and the reasons."""
    pair = f"{plan['source']} -> {plan['destination']}"
    heading(console, f"{plan['machine']} (simulated): {pair}, {size_text(plan['bytes'])}")
    console.print(_verdict(plan))
    console.print()
    console.print(paths_table(plan))
    if not all(path["included"] for path in plan["paths"]):
        console.print("(in brackets: the whole transfer with that path in use)")
    console.print()
    console.print(reasons_grid(plan))


def _verdict(plan: Document) -> str:
    native, predicted = plan["native_seconds"], plan["predicted_seconds"]
    if plan["executor"] == "native":
        return f"One native copy: {_timing(plan, native)} predicted."
    how = {"stream": "streams", "graph": "a graph"}[plan["executor"]]
    gain = factor_text(native / predicted)
    return (
        f"With {how}: {_timing(plan, predicted)} predicted, {gain} as fast as one native copy "
        f"({_timing(plan, native)})."
    )


def _timing(plan: Document, seconds: float) -> str:
    return f"{time_text(seconds)}, {bandwidth_text(plan['bytes'] / seconds)}"
