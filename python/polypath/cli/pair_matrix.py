"""What was measured between all pairs of places: a matrix for each size, as tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polypath.cli.output import Document
from polypath.cli.provenance import scatter_text
from polypath.cli.tables import gain_text, heading, new_table
from polypath.cli.units import gigabytes, lanes_text, size_text

NOTHING = "-"


@dataclass(frozen=True)
class PairMatrix:
    """The results of one size by source and destination."""

    nbytes: int
    sources: list[str]
    destinations: list[str]
    results: dict[tuple[str, str], Document]


def matrices_of(bench: Document) -> list[PairMatrix]:
    """Return a matrix for each size of a benchmark with `all_pairs`, the smallest size first."""
    results = bench["results"]
    sources = sorted({result["source"] for result in results}, key=_in_order)
    destinations = sorted({result["destination"] for result in results}, key=_in_order)
    return [
        PairMatrix(
            size,
            sources,
            destinations,
            {(r["source"], r["destination"]): r for r in results if r["bytes"] == size},
        )
        for size in sorted({result["bytes"] for result in results})
    ]


def _in_order(place: str) -> list[tuple[str, int]]:
    """Return a key by which gpu2 comes before gpu10."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D+)(\d*)", place)]


def show_all_pairs(console: Console, bench: Document) -> None:
    """Print bandwidths and speed-ups of each size: a row for each source."""
    how = "simulated" if bench["driver"] == "sim" else "on the GPUs"
    heading(console, f"{bench['machine']} ({how}): {lanes_text(bench)}")
    for matrix in matrices_of(bench):
        size = size_text(matrix.nbytes)
        for title, text in ((f"{size}, GB/s", _rate), (f"{size}, speed-up over native", _gain)):
            console.print(Text(title, style="italic"))
            console.print(matrix_table(matrix, text))
            console.print()
    console.print(f"Rows are sources, columns destinations. {scatter_text(bench)}")


def matrix_table(matrix: PairMatrix, text: Callable[[Document], Text]) -> Table:
    """Return a matrix as a table of what `text` makes of each result."""
    table = new_table("from", *matrix.destinations, right=tuple(matrix.destinations))
    for source in matrix.sources:
        found = [matrix.results.get((source, end)) for end in matrix.destinations]
        table.add_row(source, *(text(one) if one else Text(NOTHING, style="dim") for one in found))
    return table


def _rate(result: Document) -> Text:
    return Text(gigabytes(result["bytes_per_second"]))


def _gain(result: Document) -> Text:
    return gain_text(result["speedup"])
