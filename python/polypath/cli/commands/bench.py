"""`polypath bench OP [SRC DST]`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

from polypath import _core
from polypath.cli.arguments import (
    ChunksOption,
    ExecutorOption,
    JsonOption,
    MachineOption,
    OptionalDestination,
    OptionalSource,
    PathsOption,
    PlotOption,
    SharesOption,
    SizesOption,
    choose_machine,
    overrides,
    pair,
)
from polypath.cli.commands.weights import bench_weights, refuse_for_weights
from polypath.cli.errors import RUN_ERROR, UserError, did_you_mean
from polypath.cli.output import (
    Document,
    check_writable,
    console_for,
    notice,
    progress_bar,
    write_json,
)
from polypath.cli.plots import check_picture, write_curves
from polypath.cli.sizes import parse_sizes
from polypath.cli.tables import WIDE, bench_table, heading, shares_text
from polypath.cli.units import lanes_text, size_text

# The operations, each with the places it runs between unless others are named.
PLACES = {
    "put": ("gpu0", "gpu1"),
    "bw": ("gpu0", "gpu1"),
    "bibw": ("gpu0", "gpu1"),
    "latency": ("gpu0", "gpu1"),
    "mbw": ("gpu0", "gpu1"),
    "h2d": ("host", "gpu0"),
    "d2h": ("gpu0", "host"),
    "pageable": ("host", "gpu0"),
    "weights": ("host", "gpu0"),
}
MPI = "mpi"  # as first argument another command: commands/mpi.py
LATER = ("allreduce", "alltoall", "allgather", "reducescatter", "broadcast", "jacobi")


def bench(
    operation: Annotated[
        str, typer.Argument(metavar="OP", help=f"One of {', '.join(PLACES)}, mpi.")
    ],
    source: OptionalSource = None,
    destination: OptionalDestination = None,
    machine: MachineOption = None,
    sizes: SizesOption = "1M:512M",
    window: Annotated[
        int, typer.Option("--window", metavar="COUNT", help="Copies in flight at a time.")
    ] = 1,
    executor: ExecutorOption = "auto",
    paths: PathsOption = None,
    shares: SharesOption = None,
    chunks: ChunksOption = None,
    json_target: JsonOption = None,
    plot: PlotOption = None,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Compare every byte of the destination.")
    ] = True,
    total: Annotated[
        str, typer.Option("--total", metavar="SIZE", help="Of weights: bytes of all tensors.")
    ] = "16G",
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="COUNT", help="Of weights: how often each is timed.")
    ] = 5,
) -> None:
    """Measure an operation over a range of sizes, beside the same with native copies.

    Messages between MPI ranks have options of their own: polypath bench mpi --help.
    """
    check_writable(json_target)
    check_picture(plot)
    default = default_places(operation)
    if operation == "weights":
        refuse_for_weights(machine, plot, paths or shares or chunks)
        check_verified(bench_weights(source, destination, total, repeats, json_target), True)
        return
    choice = choose_machine(machine)
    request = {
        "machine": choice.name,
        "operation": operation,
        **dict(zip(("source", "destination"), pair(source, destination) or default)),
        "sizes": parse_sizes(sizes),
        "window": window,
        "verify": verify,
        **overrides(executor, paths, shares, chunks),
    }
    document = run_bench(request)
    write_json(document, json_target)
    write_curves(document, plot)
    choice.announce()
    show_bench(console_for(json_target), document)
    check_verified(document, verify)


def default_places(operation: str) -> tuple[str, str]:
    """Return the places an operation runs between by default; refuse one that there is not."""
    if operation in PLACES:
        return PLACES[operation]
    if operation == MPI:
        raise UserError(
            "mpi takes options of its own", "they follow it", "Write: polypath bench mpi [OPTIONS]."
        )
    what = "is not available yet" if operation in LATER else "is unknown"
    raise UserError(
        f"operation '{operation}' {what}",
        f"the operations are {', '.join(PLACES)}",
        f"Name one of them.{did_you_mean(operation, PLACES)}",
    )


def run_bench(request: dict[str, Any]) -> Document:
    """Run a benchmark under a progress bar; return its JSON, schema polypath.bench/1."""
    with progress_bar(f"{request['operation']} on {request['machine'] or 'the GPUs'}") as progress:
        document: Document = json.loads(_core.bench(json.dumps(request), progress))
    return document


def show_bench(console: Console, bench: Document) -> None:
    """Print measurements as a table."""
    results = bench["results"]
    heading(
        console,
        f"{bench['machine']} ({_driver_text(bench)}): {lanes_text(bench)}, "
        f"window {results[0]['window']}",
    )
    wide = console.width >= WIDE
    console.print(bench_table(results, wide))
    console.print()
    if not wide:
        last = results[-1]
        console.print(f"Shares at {size_text(last['bytes'])}: {shares_text(last['paths'])}.")
    console.print("GB/s are 1e9 bytes/s; model: how far the predicted time is off.")


def _driver_text(bench: Document) -> str:
    return "simulated" if bench["driver"] == "sim" else "on the GPUs"


def check_verified(bench: Document, wanted: bool) -> None:
    """End with an error if a transfer was to be verified and was not right."""
    wrong = [size_text(result["bytes"]) for result in bench["results"] if not result["verified"]]
    if wanted and wrong:
        notice(f"wrong bytes at {', '.join(wrong)} (compared with the source) This is a bug.")
        raise typer.Exit(RUN_ERROR)
