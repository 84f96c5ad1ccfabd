"""`polypath trace SRC DST SIZE`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from polypath import _core
from polypath.cli.arguments import (
    ChunksOption,
    Destination,
    ExecutorOption,
    MachineOption,
    PathsOption,
    SharesOption,
    Size,
    Source,
    choose_machine,
    overrides,
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
    request = {
        "machine": choice.name,
        "source": source,
        "destination": destination,
        "bytes": _core.parse_bytes(size),
        **overrides(executor, paths, shares, chunks),
    }
    document = json.loads(_core.trace(json.dumps(request)))
    write_json(document, output)
    choice.announce()
    if output != STDOUT:
        console = console_for(None)
        console.print(f"{len(document['traceEvents'])} events are in {output}.")
        console.print("Open it at https://ui.perfetto.dev, 'Open trace file'.")
