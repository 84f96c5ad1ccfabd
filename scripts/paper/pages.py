"""The rows of docs/papers/*.md, from what `polypath paper --json` found."""

from __future__ import annotations

import json

from figure_text import Document, table
from simulations import RESULTS, polypath

FILE = RESULTS.parent / "papers.json"
REAL_TIME = "cost of the model at run time"  # differs from run to run: not kept
HEAD = ["experiment", "machine", "paper", "ours", "deviation", "verdict", "why"]


def simulate() -> None:
    """Run all experiments of the papers; keep what repeats."""
    polypath("paper", "--json", str(FILE))
    document = json.loads(FILE.read_text(encoding="utf-8"))
    for experiment in document["experiments"]:
        experiment["plots"] = []
        kept = [row for row in experiment["rows"] if not row["what"].startswith(REAL_TIME)]
        experiment["rows"] = kept
    FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def rows_of(key: str) -> str:
    """Return the table of what one paper states, beside ours."""
    rows = [
        [
            row["what"], f"`{row['machine']}`", row["stated"], row["found"], _deviation(row),
            row["verdict"], f"{row['sentence']} `{row['command']}`",
        ]
        for experiment in _document()["experiments"]
        for row in experiment["rows"]
        if key in row["sources"]
    ]  # fmt: skip
    return table(HEAD, rows)


def citations() -> str:
    """Return the papers, one a line."""
    return "\n".join(
        f"- **{paper['key']}**: {paper['citation']}" for paper in _document()["papers"]
    )


def _document() -> Document:
    document: Document = json.loads(FILE.read_text(encoding="utf-8"))
    return document


def _deviation(row: Document) -> str:
    return "-" if row["deviation"] is None else f"{100 * row['deviation']:+.1f} %"
