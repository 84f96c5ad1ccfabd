"""The best static plans as a table: pairs of places that are alike share a row."""

from __future__ import annotations

from rich.table import Table

from polypath.cli.machine_tables import compress
from polypath.cli.output import Document
from polypath.cli.sentences import Sentence
from polypath.cli.tables import new_table, path_text
from polypath.cli.units import factor_text, size_text

Row = tuple[str, ...]


def tuned_table(entries: list[Document]) -> Table:
    """Return the best static plans beside the automatic ones, equal ones in one row.

    Where a row stands for several pairs, "a GPU" is one of the others, whichever it is.
    """
    numbers = ("size", "best", "automatic")
    table = new_table(
        "from", "to", "pairs", "size", "runs as", *numbers[1:], "shares (chunks)",
        right=("pairs", *numbers), spare=("pairs",),
    )  # fmt: skip
    for rows, alike in _alike(entries).items():
        sources = compress({entry["source"] for entry in alike})
        destinations = compress({entry["destination"] for entry in alike})
        recipe = Sentence(_recipe_text(alike[0]) if len(alike) == 1 else rows[-1])
        table.add_row(sources, destinations, str(len(alike)), *rows[2:-1], recipe)
    return table


def _alike(entries: list[Document]) -> dict[Row, list[Document]]:
    groups: dict[Row, list[Document]] = {}
    for entry in entries:
        groups.setdefault(_row(entry), []).append(entry)
    return groups


def _row(entry: Document) -> Row:
    """Return what rows that become one have in common: kinds of places, results, shares."""
    return (
        _kind(entry["source"]),
        _kind(entry["destination"]),
        size_text(entry["bytes"]),
        entry["executor"],
        factor_text(entry["speedup"]),
        factor_text(entry["automatic_speedup"]),
        _recipe_of_kinds(entry),
    )


def _kind(place: str) -> str:
    return place.rstrip("0123456789")


def _recipe_of_kinds(entry: Document) -> str:
    words = {"gpu": "a GPU", "host": "host"}
    paths = [(words.get(_kind(via), via), share, n) for via, share, n in _paths(entry)]
    direct = [path for path in paths if path[0] == "direct"]
    others = sorted(path for path in paths if path[0] != "direct")
    return ", ".join(path_text(*path) for path in (*direct, *others[::-1]))


def _recipe_text(entry: Document) -> str:
    return ", ".join(path_text(*path) for path in _paths(entry))


def _paths(entry: Document) -> list[tuple[str, float, int]]:
    return [(via, share, entry["chunks"].get(via, 1)) for via, share in entry["shares"].items()]
