"""Measurements of a Jacobi solver, as a table and a few sentences."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from polypath.cli.output import Document
from polypath.cli.provenance import scatter_text
from polypath.cli.tables import heading, new_table
from polypath.cli.units import factor_text, percent_text, size_text, time_text


def show_jacobi_bench(console: Console, bench: Document) -> None:
    """Print the time of an iteration per size and way, and what a program was made as."""
    first = bench["results"][0]
    where = "simulated" if bench["driver"] == "sim" else "on the GPUs"
    heading(
        console,
        f"{bench['machine']} ({where}): Jacobi on {first['gpus']} GPUs, {first['rows']} rows each",
    )
    console.print(jacobi_table(bench["results"]))
    console.print()
    console.print(
        "Halos are rows of float32; times are of one iteration. Kernel: what its kernel takes by "
        "the memory's bandwidth; native: kernel, copy up, copy down on one stream per GPU."
    )
    for result in bench["results"]:
        if "overlapped" in result:
            console.print(_program_text(result))
    console.print(scatter_text(bench))


def jacobi_table(results: list[Document]) -> Table:
    """Return a row per size of halo and way."""
    numbers = ("halo", "time", "kernel", "against native")
    table = new_table(
        "halo", "grid", "executor", "paths", *numbers[1:], "verified", right=(*numbers, "grid")
    )
    for result in results:
        table.add_row(
            size_text(result["bytes"]),
            size_text(result["grid_bytes"]),
            result["executor"],
            result["paths"] if result["executor"] in ("stream", "graph") else "",
            time_text(result["seconds"]),
            percent_text(result["kernel_seconds"] / result["seconds"]),
            factor_text(result["speedup"]),
            "yes" if result["verified"] else "no",
        )
    return table


def _program_text(result: Document) -> str:
    order = "while the rows between are made" if result["overlapped"] else "after all rows"
    paths = "several paths" if result["several_paths"] else "one path each"
    return (
        f"The program of {size_text(result['bytes'])}: {result['graph_nodes']} nodes, halos "
        f"{order}, over {paths}; {time_text(result['predicted_seconds'])} predicted."
    )
