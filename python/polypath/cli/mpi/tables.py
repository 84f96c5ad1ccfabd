"""Results of the MPI program as tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polypath.cli.mpi.request import SOLVER
from polypath.cli.output import Document
from polypath.cli.tables import gain_text, heading, new_table
from polypath.cli.units import factor_text, gigabytes, size_text, time_text

LOSS = 0.98  # a ratio below it is a loss, and not how much equal runs differ


def show_mpi(console: Console, document: Document) -> None:
    """Print what was measured, and what it means."""
    mpi = document["mpi"]
    ucx = f", UCX {mpi['ucx']}" if mpi["ucx"] else ""
    heading(
        console,
        f"{document['machine']}{_stand_in_text(document)}: {document['ranks']} ranks, "
        f"{document['buffers']} buffers, {mpi['library']}{ucx}",
    )
    if document["driver"] == "stand-in":
        console.print(_verdict_table(document["results"]))
        _show_solver(console, document["results"])
        console.print(
            "\nThe stand-in driver moves real bytes, but not at any GPU's speed: only whether they "
            "are right counts here."
        )
        return
    for table in _speed_tables(document["results"]):
        console.print(table)
        console.print()
    console.print(
        f"Medians of {document['repeats']} rounds with and without Polypath in turn; speed-up "
        "and range: of the ratios within each round. GB/s are 1e9 bytes/s."
    )
    _show_solver(console, document["results"])
    _show_staged(console, document["results"])
    for operation in dict.fromkeys(result["operation"] for result in document["results"]):
        heading(console, f"\n{operation}: worst and median ratio by size")
        console.print(_worst_table(document["by_size"], operation))


def _show_solver(console: Console, results: list[Document]) -> None:
    """Print what a solver's numbers are, if there is one among the operations."""
    first = next((result for result in results if result["operation"] == SOLVER), None)
    if first is None:
        return
    where = "GPUs, by Polypath's kernel" if first["kernel"] == "gpu" else "the host, between copies"
    console.print(
        f"\n{SOLVER}: halos are rows, times of an iteration; {first['rows']} rows of each rank "
        f"are computed on {where}. Verified: every element the serial solver's to the bit."
    )


def _show_staged(console: Console, results: list[Document]) -> None:
    """Print which collectives a program without Polypath has to stage, if it has to."""
    staged = [result["operation"] for result in results if result.get("native_staged")]
    if staged:
        console.print(
            f"\n{', '.join(dict.fromkeys(staged))}: this MPI takes no memory of GPUs. Without "
            "Polypath the program copies through pinned memory."
        )


def _stand_in_text(document: Document) -> str:
    return " (stand-in driver)" if document["driver"] == "stand-in" else ""


def _speed_tables(results: list[Document]) -> list[Table]:
    """Return one table of the messages and one of the solver, if there are any."""
    messages = [result for result in results if result["operation"] != SOLVER]
    solved = [result for result in results if result["operation"] == SOLVER]
    return [
        *([_speed_table(messages)] if messages else []),
        *([_solver_table(solved)] if solved else []),
    ]


def _solver_table(results: list[Document]) -> Table:
    numbers = ("halo", "iteration", "native", "speed-up")
    table = new_table("operation", *numbers, "range", "kernel", "verified", right=numbers)
    for result in results:
        table.add_row(
            SOLVER,
            size_text(result["bytes"]),
            time_text(result["seconds"]),
            time_text(result["native_seconds"]),
            gain_text(result["speedup"]),
            _range_text(result["speedups"]),
            result["kernel"],
            "yes" if result["verified"] else "no",
        )
    return table


def _range_text(ratios: list[float]) -> str:
    return f"{min(ratios):.2f}-{max(ratios):.2f}"


def _speed_table(results: list[Document]) -> Table:
    numbers = ("window", "size", "time", "GB/s", "native", "speed-up")
    table = new_table("operation", *numbers, "range", "verified", right=numbers)
    for result in results:
        table.add_row(
            result["operation"],
            str(result["window"]),
            size_text(result["bytes"]),
            time_text(result["seconds"]),
            gigabytes(result["bytes_per_second"]),
            gigabytes(result["native_bytes_per_second"]),
            gain_text(result["speedup"]),
            _range_text(result["speedups"]),
            "yes" if result["verified"] else "no",
        )
    return table


def _worst_table(by_size: list[Document], operation: str) -> Table:
    """Return a row per size and a column per window: the worst round, and the median."""
    rows = [
        (row["bytes"], [r for r in row["ratios"] if r["operation"] == operation]) for row in by_size
    ]
    windows = [f"window {ratio['window']}" for ratio in rows[0][1]]
    windows = ["worst and median"] if operation == SOLVER else windows
    table = new_table("size", *windows, right=("size", *windows))
    for size, ratios in rows:
        table.add_row(size_text(size), *(_worst_text(ratio) for ratio in ratios))
    return table


def _worst_text(ratio: Document) -> Text:
    worst, median = factor_text(ratio["worst"]), factor_text(ratio["median"])
    return Text(f"{worst} {median}", style="red" if ratio["worst"] < LOSS else "")


def _verdict_table(results: list[Document]) -> Table:
    numbers = ("window", "size", "compared", "wrong bytes")
    table = new_table("operation", *numbers, "verified", "without Polypath", right=numbers)
    for result in results:
        table.add_row(
            result["operation"],
            str(result["window"]),
            size_text(result["bytes"]),
            size_text(result["compared_bytes"]),
            str(result["wrong_bytes"]),
            "yes" if result["verified"] else "no",
            "yes" if result["native_verified"] else "no",
        )
    return table
