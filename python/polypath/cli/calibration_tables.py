"""Measured numbers beside nominal ones, with what is alike on many GPUs in one row."""

from __future__ import annotations

import re
from typing import Callable

from rich.table import Table

from polypath.cli.machine_tables import CALLS, compress, compress_pairs
from polypath.cli.output import Document
from polypath.cli.tables import new_table
from polypath.cli.units import bandwidth_text, percent_text, size_text, time_text

ARROW = " -> "


def calibration_table(numbers: list[Document]) -> Table:
    """Return every number of a calibration; equal nominal ones of like things are one row."""
    columns = ("how many", "nominal", "measured", "deviation")
    table = new_table("number", *columns, right=columns)
    for alike in groups_of(numbers):
        table.add_row(
            names_text(alike),
            str(len(alike)),
            nominal_text(alike),
            measured_text(alike),
            _deviation_text(alike),
        )
    return table


def missing_text(calibration: Document) -> str:
    """Return a line for every number that was not found; nothing where all were."""
    return "".join(
        f"\nMissing: {number['quantity']} of {number['of']}. {number['consequence']}"
        for number in calibration["missing"]
    )


def groups_of(numbers: list[Document]) -> list[list[Document]]:
    """Return the numbers in groups: equal nominal ones of like things together."""
    groups: dict[tuple[object, ...], list[Document]] = {}
    for number in numbers:
        groups.setdefault(_likeness(number), []).append(number)
    return list(groups.values())


def _likeness(number: Document) -> tuple[object, ...]:
    shape = re.sub(r"\d+", "#", number["of"])
    return shape, number["quantity"], number["nominal"], number["at_least"]


def names_text(alike: list[Document]) -> str:
    """Return what the numbers are: "gpu[0-3] -> gpu[0-3] latency" for many."""
    names, quantity = [number["of"] for number in alike], alike[0]["quantity"]
    if quantity == "cost":
        return CALLS[names[0]].replace("  more per node", "... for every node")
    if ARROW in names[0]:
        pairs = [name.partition(ARROW)[::2] for name in names]
        return f"{compress_pairs(pairs, ARROW)} {quantity}"
    pieces = [re.split(r"(-|\.)", name) for name in names]
    joined = "".join(parts[0] if len({*parts}) == 1 else compress(parts) for parts in zip(*pieces))
    return f"{joined} {quantity}"


def _value_text(number: Document) -> Callable[[float], str]:
    texts = {"B/s": bandwidth_text, "B": size_text}
    return texts.get(number["unit"], time_text)


def nominal_text(alike: list[Document]) -> str:
    """Return the nominal value of a group."""
    return _value_text(alike[0])(alike[0]["nominal"])


def measured_text(alike: list[Document]) -> str:
    """Return what was measured of a group: "391 GB/s to 393 GB/s"."""
    text = _value_text(alike[0])
    least = text(min(number["measured"] for number in alike))
    most = text(max(number["measured"] for number in alike))
    words = "at least " if alike[0]["at_least"] else ""
    return words + (least if least == most else f"{least} to {most}")


def _deviation_text(alike: list[Document]) -> str:
    """Return the largest deviation; none of one that may be larger."""
    if alike[0]["at_least"]:
        return "-"
    deviations = [_deviation(number) for number in alike]
    return percent_text(max(deviations, key=abs), sign=True)


def _deviation(number: Document) -> float:
    if number["nominal"] == number["measured"]:
        return 0.0
    return number["measured"] / number["nominal"] - 1 if number["nominal"] else float("inf")
