"""The rows as a table in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polypath.cli.output import Document
from polypath.cli.tables import heading, new_table

STYLES = {"agrees": "green", "holds": "green", "explained": "yellow", "fitted": "dim"}


def show(console: Console, document: Document) -> None:
    """Print a table per experiment, and below it what explains a deviation."""
    for experiment in document["experiments"]:
        heading(console, experiment["title"])
        console.print(_table(experiment["rows"]))
        console.print()
        for row in experiment["rows"]:
            if row["verdict"] in ("explained", "fitted"):
                _explain(console, row)
    for paper in document["papers"]:
        console.print(f"{paper['key']}: {paper['citation']}")


def _table(rows: list[Document]) -> Table:
    table = new_table("source", "experiment", "machine", "paper", "ours", "deviation", "verdict",
                      right=("deviation",))  # fmt: skip
    for row in rows:
        table.add_row(
            ", ".join(row["sources"]), row["what"], row["machine"], row["stated"], row["found"],
            deviation_text(row), Text(row["verdict"], style=STYLES[row["verdict"]]),
        )  # fmt: skip
    return table


def deviation_text(row: Document) -> str:
    """Return a deviation in per cent, or "-" where there are no two figures."""
    return "-" if row["deviation"] is None else f"{100 * row['deviation']:+.1f} %"


def _explain(console: Console, row: Document) -> None:
    console.print(f"{row['what']} ({row['machine']}): {row['sentence']}")
    console.print(Text(f"  {row['command']}\n", style="dim"))
