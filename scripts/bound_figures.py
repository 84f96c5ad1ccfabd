"""How far plans are from lower bounds, from results/simulated/plan_bounds.json, as Markdown."""

from __future__ import annotations

from collections import defaultdict

from bounds.stored import Row, stored
from figure_text import size_text, table

WORST = 12
LIMITS = (1.25, 1.6, 2.0)


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
    head = ["message", "collective", "plans", *limit_names(), "mean", "worst"]
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
    usual = [row for row in stored("rows") if not row["any_order"]]
    largest = max(about(row["bytes"]) for row in usual)
    return f"""\
Predicted time over its lower bound, by size and collective:

{summary_table(usual)}

The furthest of {size_text(largest)}:

{worst_table([row for row in usual if about(row["bytes"]) == largest])}"""


def set_ratios(entry: Row, order: str = "as_drawn") -> tuple[float, float]:
    """Return how many times the bound with calls a set's plan takes, and its native copies."""
    plan, bound_with_calls = entry["plans"][order], entry["bound_with_calls_seconds"]
    return (
        plan["predicted_seconds"] / bound_with_calls,
        plan["native_seconds"] / bound_with_calls,
    )


def spread(entry: Row) -> float:
    """Return how many times as long a set takes asked for in the worst order as in the best."""
    times = [plan["predicted_seconds"] for plan in entry["plans"].values()]
    return float(max(times) / min(times))


def set_line(entry: Row) -> str:
    """Return a set as text."""
    ratios = "  ".join(f"{order} {set_ratios(entry, order)[0]:5.2f}" for order in entry["plans"])
    planning = max(plan["planning_seconds"] for plan in entry["plans"].values())
    return (
        f"{entry['machine']:16} set {entry['seed']:2} of {len(entry['copies'])}  {ratios}  native "
        f"{set_ratios(entry)[1]:5.2f}  spread {spread(entry):5.2f}  bound "
        f"{1e3 * entry['bound_with_calls_seconds']:8.3f} ms  planned in {1e3 * planning:6.0f} ms"
    )


def sets_table(found: list[Row]) -> str:
    """Return a row per order asked for: how far plans are from bounds."""
    head = ["asked for", "sets", *limit_names(), "mean", "worst"]
    rows = [
        [order.replace("_", " "), *shares([set_ratios(entry, order)[0] for entry in found])]
        for order in found[0]["plans"]
    ]
    best = [min(set_ratios(entry, order)[0] for order in entry["plans"]) for entry in found]
    return table(head, [*rows, ["the best of these", *shares(best)]])


def limit_names() -> list[str]:
    """Return the heads of the columns of shares()."""
    return [f"{sign} {limit:g}" for sign, limit in
            zip(("within", "over", "over"), LIMITS, strict=True)]  # fmt: skip


def sets_block() -> str:
    """Return how far sets of copies are from bounds with calls, by order asked for."""
    return sets_table(stored("sets"))
