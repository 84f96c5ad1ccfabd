"""What transfers have taught, as a table."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from polypath.cli.output import Document
from polypath.cli.tables import new_table
from polypath.cli.units import size_text, time_text


def learnt_table(kinds: Iterable[Document]) -> Table:
    """Return one row for each kind of transfer: what it took, and what the next ones do."""
    numbers = ("by paths", "natively", "transfers")
    table = new_table("from", "to", "bytes", "what they do", *numbers, right=numbers)
    for kind in kinds:
        table.add_row(
            kind["source"],
            kind["destination"],
            size_text(kind["bytes"]),
            _choice(kind),
            _time(kind["paths_seconds"]),
            _time(kind["native_seconds"]),
            str(kind["transfers"]),
        )
    return table


def _choice(kind: Document) -> str:
    if kind["natively"]:
        return "one native copy"
    if not kind["shares"]:
        return "as planned" if kind["chunks"] == 1 else f"{kind['chunks']:.2g} x the chunks"
    shares = (f"{path} {100 * share:.1f} %" for path, share in kind["shares"].items())
    return ", ".join(shares)


def _time(seconds: float) -> str:
    return time_text(seconds) if seconds > 0 else "-"
