"""Plans and measurements of collectives, as tables and a few sentences."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polypath.cli.output import Document
from polypath.cli.provenance import scatter_text
from polypath.cli.sentences import Sentence
from polypath.cli.tables import heading, new_table
from polypath.cli.units import factor_text, gigabytes, percent_text, size_text, time_text


def show_collective_plan(console: Console, plan: Document) -> None:
    """Print which algorithm is chosen, what each would take, and why."""
    where = f"{plan['machine']}{' (simulated)' if plan['simulated'] else ''}"
    heading(console, f"{where}: {what_text(plan)}, {size_text(plan['bytes'])}")
    best = plan["algorithms"][0]
    console.print(
        f"By {best['algorithm']}, as {_how(best)} of {plan['copies_and_reductions']} copies and "
        f"reductions: {time_text(plan['predicted_seconds'])} predicted."
    )
    console.print()
    console.print(algorithms_table(plan["algorithms"]))
    console.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for each in plan["algorithms"]:
        style = "" if each["chosen"] else "dim"
        what = Sentence(f"{each['sentence']}; {each['reason']}")
        grid.add_row(Text(each["algorithm"], style=style), what)
    console.print(grid)


def algorithms_table(algorithms: list[Document]) -> Table:
    """Return what each algorithm takes at its best, the fastest first."""
    numbers = ("time", "bus GB/s", "against the best", "pieces of")
    table = new_table(
        "algorithm", *numbers, "runs as", "paths",
        right=numbers, spare=("paths", "runs as", "pieces of"),
    )  # fmt: skip
    best = algorithms[0]["predicted_seconds"]
    for each in algorithms:
        table.add_row(
            Text(each["algorithm"], style="bold green" if each["chosen"] else ""),
            time_text(each["predicted_seconds"]),
            gigabytes(each["predicted_bus_bytes_per_second"]),
            factor_text(best / each["predicted_seconds"]),
            size_text(each["piece_bytes"]),
            each["executor"],
            "several" if each["several_paths"] else "one",
        )
    return table


def show_collective_bench(console: Console, bench: Document) -> None:
    """Print measurements of a collective as a table."""
    first = {"operation": bench["operation"], **bench["results"][0]}
    where = "simulated" if bench["driver"] == "sim" else "on the GPUs"
    heading(console, f"{bench['machine']} ({where}): {what_text(first)}")
    console.print(collectives_table(bench["results"]))
    console.print()
    console.print(
        "Bus GB/s are 1e9 bytes/s of the links' work; model: how far the predicted time is off."
    )
    console.print(scatter_text(bench))


def collectives_table(results: list[Document]) -> Table:
    """Return a row per size and algorithm."""
    numbers = ("size", "time", "bus GB/s", "model")
    table = new_table(
        "size", "algorithm", "mode", *numbers[1:], "verified",
        right=numbers, spare=("verified", "model", "mode"),
    )  # fmt: skip
    for result in results:
        name, chosen = result["algorithm"], result["chosen"]
        table.add_row(
            size_text(result["bytes"]),
            name if name == chosen else f"{name}: {chosen}",
            result["mode"],
            time_text(result["seconds"]),
            gigabytes(result["bus_bytes_per_second"]),
            percent_text(result["predicted_seconds"] / result["seconds"] - 1, sign=True),
            "yes" if result["verified"] else "no",
        )
    return table


def _how(draft: Document) -> str:
    return "a graph" if draft["executor"] == "graph" else "streams"


def what_text(document: Document) -> str:
    """Return "allreduce of 4 GPUs, float32 sum"."""
    reduction = f" {document['reduction']}" if "reduction" in document else ""
    nodes = f" in {document['nodes']} nodes" if document["nodes"] > 1 else ""
    ranks = f"{document['ranks']} GPUs{nodes}"
    return f"{document['operation']} of {ranks}, {document['type']}{reduction}"
