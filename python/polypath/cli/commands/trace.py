"""`polypath trace SRC DST SIZE`."""

from __future__ import annotations

from typing import Annotated

import typer

from polypath import parse_bytes, reports
from polypath.cli.arguments import overrides
from polypath.cli.machine_choice import choose_machine
from polypath.cli.options import (
    ChunksOption,
    Destination,
    ExecutorOption,
    MachineOption,
    PathsOption,
    SharesOption,
    Size,
    Source,
)
from polypath.cli.output import STDOUT, check_writable, console_for, write_json


def trace(
    source: Source,
    destination: Destination,
    size: Size,
    output: Annotated[
        str, typer.Option("--output", metavar="FILE", help="Write the timeline; - for stdout.")
    ],
    machine: MachineOption = None,
    executor: ExecutorOption = "auto",
    paths: PathsOption = None,
    shares: SharesOption = None,
    chunks: ChunksOption = None,
) -> None:
    """Run one transfer and write a timeline of its copies, which Perfetto opens."""
    check_writable(output)
    choice = choose_machine(machine)
    fixed = overrides(executor, paths, shares, chunks)
    nbytes = parse_bytes(size)
    document = reports.trace(source, destination, nbytes, machine=choice.name, **fixed)
    write_json(document, output)
    choice.announce()
    if output != STDOUT:
        console = console_for(None)
        console.print(f"{len(document['traceEvents'])} events are in {output}.")
        console.print("Open it at https://ui.perfetto.dev, 'Open trace file'.")
