"""`polypath tune [SRC DST]`."""

from __future__ import annotations

from typing import Annotated

from rich.console import Console

from polypath import reports
from polypath.cli.arguments import executors, pair
from polypath.cli.declared import Option
from polypath.cli.machine_choice import choose_machine
from polypath.cli.options import (
    CsvOption,
    JsonOption,
    MachineOption,
    OptionalDestination,
    OptionalSource,
    SizesOption,
    TunedOption,
)
from polypath.cli.output import STDOUT, Document, progress_bar, write_json
from polypath.cli.results import Results
from polypath.cli.sizes import parse_sizes
from polypath.cli.tables import heading
from polypath.cli.tuned_table import tuned_table

CLEARLY = 1.005  # faster by what the table would show


def tune(
    source: OptionalSource = None,
    destination: OptionalDestination = None,
    machine: MachineOption = None,
    sizes: SizesOption = "8M,64M,512M",
    executor: Annotated[
        str, Option("--executor", metavar="LIST", help="Search for these executors.")
    ] = "stream,graph",
    json_target: JsonOption = None,
    csv: CsvOption = None,
    output: TunedOption = None,
) -> None:
    """Search all static plans, and compare the best one with the automatic plan."""
    results = Results(json_target, csv, output=output).checked()
    choice = choose_machine(machine)
    named, places = executors(executor), pair(source, destination)
    with progress_bar(f"tune {choice.name}") as progress:
        document = reports.tune(
            parse_sizes(sizes),
            pairs=[places] if places else None,
            machine=choice.name,
            executors=named,
            progress=progress,
        )
    results.write(document)
    write_json(_gaining(document), output)
    choice.announce()
    show_tuned(results.console(), document, output)


def _gaining(tuned: Document) -> Document:
    """Return the plans that are faster than the automatic one, which is made where none is."""
    faster = [each for each in tuned["entries"]
              if each["speedup"] > CLEARLY * each["automatic_speedup"]]  # fmt: skip
    return {**tuned, "entries": faster}


def show_tuned(console: Console, tuned: Document, output: str | None) -> None:
    """Print the best static plans as a table, and how to use those that gain."""
    heading(console, f"{tuned['machine']} (simulated): best static plans")
    console.print(tuned_table(tuned["entries"]))
    console.print("\nBest and automatic: bandwidth over that of one native copy.")
    gaining = len(_gaining(tuned)["entries"])
    if not gaining:
        console.print("None is faster than the automatic plan, which is the one to use.")
    elif output and output != STDOUT:
        faster = "1 plan is" if gaining == 1 else f"{gaining} plans are"
        console.print(
            f"{faster} faster than the automatic one, and in {output}. To use what is there by "
            f"default: export POLYPATH_TUNED={output}",
            soft_wrap=True,
        )
