"""How far plans are from lower bounds, from results/simulated/plan_bounds.json, as Markdown."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from figure_text import size_text, table
from simulations import RESULTS

FILE = RESULTS / "plan_bounds.json"
WORST = 12
LIMITS = (1.25, 1.6, 2.0)

Row = dict[str, Any]


def rows() -> list[Row]:
    """Return the rows that are stored."""
    found: list[Row] = json.loads(FILE.read_text(encoding="utf-8"))["rows"]
    return found


def ratio(row: Row) -> float:
    """Return how many times its bound a plan takes, that of its own order if it has one."""
    return float(row["predicted_seconds"] / bound(row))


def bound(row: Row) -> float:
    """Return the largest bound that holds for a plan."""
    return float(row["bound_in_order_seconds"] or row["bound_seconds"])


def about(size: int) -> int:
    """Return a message's size as it was asked for: parts are of whole elements."""
    return round(size / 2**20) * 2**20


def shares(ratios: list[float]) -> list[str]:
    """Return how many there are, and how many are within and beyond the limits."""
    within, *beyond = LIMITS
    near = sum(each <= within for each in ratios)
    far = [sum(each > limit for each in ratios) for limit in beyond]
    mean = sum(ratios) / len(ratios)
    percent = [f"{100 * count / len(ratios):.0f} %" for count in (near, *far)]
    return [str(len(ratios)), *percent, f"{mean:.2f}", f"{max(ratios):.2f}"]


def summary_table(found: list[Row]) -> str:
    """Return a row per size and collective, and one of all collectives."""
    by_kind: dict[tuple[int, str], list[float]] = defaultdict(list)
    for row in found:
        for kind in (row["collective"], "all"):
            by_kind[about(row["bytes"]), kind].append(ratio(row))
    head = ["message", "collective", "plans", *(f"{sign} {limit:g}" for sign, limit in
            zip(("within", "over", "over"), LIMITS, strict=True)), "mean", "worst"]  # fmt: skip
    cells = [
        [size_text(size), kind if kind == "all" else f"`{kind}`", *shares(by_kind[size, kind])]
        for size, kind in sorted(by_kind)
    ]
    return table(head, cells)


def machine_name(row: Row) -> str:
    """Return a machine, and how many of it."""
    return f"`{row['machine']}`" + (f", {row['nodes']} nodes" if row["nodes"] > 1 else "")


def worst_table(found: list[Row], count: int = WORST) -> str:
    """Return the plans that are furthest from their bounds."""
    worst = sorted(found, key=ratio, reverse=True)[:count]
    head = ["machine", "collective", "message", "algorithm", "predicted", "bound", "ratio"]
    return table(
        head,
        [
            [
                machine_name(row),
                f"`{row['collective']}`",
                size_text(about(row["bytes"])),
                f"`{row['algorithm']}`",
                f"{1e3 * row['predicted_seconds']:.2f} ms",
                f"{1e3 * bound(row):.2f} ms",
                f"{ratio(row):.2f}",
            ]
            for row in worst
        ],
    )


def bounds_block() -> str:
    """Return the summary of the usual plans and the worst of the largest message."""
    usual = [row for row in rows() if not row["any_order"]]
    largest = max(about(row["bytes"]) for row in usual)
    return f"""\
Predicted time over its lower bound, by size and collective:

{summary_table(usual)}

The furthest of {size_text(largest)}:

{worst_table([row for row in usual if about(row["bytes"]) == largest])}"""
