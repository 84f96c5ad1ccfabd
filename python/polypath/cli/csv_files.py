"""Results as comma-separated values: a row per result, for spreadsheets and other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from polypath.cli.output import Document, write_text

SHARE = "share"
COUNTS = ("calls", "bytes", "large_bytes", "missed_seconds")  # of an outcome of copies


class Rows(NamedTuple):
    """Which list of a document is rows, and what else of it each row has."""

    rows: str
    every: tuple[str, ...] = ()
    inside: str = ""  # a list in each of them, if that is the rows
    outside: tuple[str, ...] = ()  # what such a row has of what it is in
    none_inside: Mapping[str, Any] = MappingProxyType({})  # the row of an empty list


ROWS = {
    "polypath.bench/1": Rows("results", ("machine", "driver", "operation")),
    "polypath.plan/1": Rows("paths", ("machine", "source", "destination", "executor")),
    "polypath.joint_plan/1": Rows("transfers", ("machine", "pattern", "issuers")),
    "polypath.collective_plan/1": Rows("algorithms", ("machine", "operation", "bytes")),
    "polypath.tuned/1": Rows("entries", ("machine",)),
    "polypath.calibration/1": Rows("numbers", ("machine",)),
    "polypath.machine/1": Rows("hops", ("name",)),
    "polypath.machines/1": Rows("machines"),
    "polypath.settings/1": Rows("settings"),
    "polypath.doctor/1": Rows("findings"),
    "polypath.run/1": Rows(
        "processes",
        ("way", "status"),
        inside="outcomes",
        outside=("rank", "host", "process", "program", "complete"),
        none_inside={"text": "", "accelerated": "", **dict.fromkeys(COUNTS, 0)},
    ),
    "polypath.paper/1": Rows("rows", ("experiment",)),
}


def write_csv(document: Document, target: str) -> None:
    """Write the rows of a document to a file or, for "-", to stdout.

    Columns are the fields of the JSON, with its units; paths are "direct=0.9 host0=0.1". What holds
    for all rows, such as the machine, is in each.
    """
    rows = [*_rows(document)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    write_text(text.getvalue().replace("\r\n", "\n"), target)


def _rows(document: Document) -> Iterator[Document]:
    layout = ROWS[document["schema"]]
    parts = [{**part, "experiment": part["name"]} for part in document.get("experiments", ())]
    for part in parts or [document]:
        every = {name: part[name] for name in layout.every}
        for row in part[layout.rows]:
            for each in _inside(row, layout):
                yield {**every, **{name: _cell(value) for name, value in each.items()
                                   if _is_shown(value)}}  # fmt: skip


def _inside(row: Document, layout: Rows) -> Iterator[Document]:
    """Return the row, or those inside it; one where there are none."""
    if not layout.inside:
        yield row
        return
    outside = {name: row[name] for name in layout.outside}
    rows: list[Mapping[str, Any]] = row[layout.inside] or [layout.none_inside]
    yield from ({**outside, **each} for each in rows)


def _is_shown(value: Any) -> bool:
    """Return whether a value is one cell: runs and samples are for JSON."""
    if isinstance(value, dict):
        return not any(isinstance(each, (dict, list)) for each in value.values())
    return not isinstance(value, list) or (value != [] and isinstance(value[0], (dict, str)))


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return value["value"] if "value" in value else " ".join(map(_pair, *zip(*value.items())))
    if isinstance(value, list):
        return " ".join(word for word in map(_word, value) if word)
    return value


def _pair(name: str, value: Any) -> str:
    return f"{name}={value:.6g}" if isinstance(value, (int, float)) else f"{name}={value}"


def _word(value: Any) -> str:
    """Return a word of a list: a path with its share, a resource, or the text that it is."""
    if isinstance(value, str):
        return value
    if SHARE in value:
        return _pair(value["via"], value[SHARE]) if value.get("included", True) else ""
    return str(value.get("resource", ""))
