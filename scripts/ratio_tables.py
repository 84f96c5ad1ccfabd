"""What the rounds of several parts come to: ratios with over without, and the worst by size."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from figure_text import size_text

Json = dict[str, Any]
HEAD = "{:21} {:22} {:>3} {:>8} {:>12} {:>12}   {:>6} {:>6} {:>6}  {}"


def ratios_of(part: str, rows: Iterable[Json]) -> list[Json]:
    """Return the ratios of one part: above 1 it is faster with Polypath."""
    kept = ("operation", "window", "bytes", "native_seconds", "seconds")
    return [
        {
            "part": part,
            **{name: row[name] for name in kept},
            "worst": min(row["speedups"]),
            "median": statistics.median(row["speedups"]),
            "best": max(row["speedups"]),
            "ratios": row["speedups"],
        }
        for row in rows
    ]


def by_size(ratios: list[Json]) -> list[Json]:
    """Return, for each size, the worst ratio of any round and the worst median, and of what."""
    sizes = sorted({ratio["bytes"] for ratio in ratios}, key=lambda size: (size is None, size))
    return [of_size(size, [ratio for ratio in ratios if ratio["bytes"] == size]) for size in sizes]


def of_size(size: int | None, ratios: list[Json]) -> Json:
    """Return the worst of the ratios of one size."""
    worst = min(ratios, key=lambda ratio: float(ratio["worst"]))
    median = min(ratios, key=lambda ratio: float(ratio["median"]))
    return {
        "bytes": size,
        "worst": worst["worst"],
        "worst_of": name_of(worst),
        "median": median["median"],
        "median_of": name_of(median),
    }


def name_of(ratio: Json) -> str:
    """Return part, operation and window in a few words."""
    window = "" if ratio["window"] is None else f", window {ratio['window']}"
    return f"{ratio['part']}: {ratio['operation']}{window}"


def size_or_nothing(size: int | None) -> str:
    """Return a size as text; nothing where no single copy is meant."""
    return "" if size is None else size_text(size)


def print_ratios(ratios: list[Json]) -> None:
    """Print a row for everything that was measured."""
    print(
        HEAD.format(
            *("part", "what", "win", "size", "without, us", "with, us"),
            *("worst", "median", "best", "rounds"),
        )
    )
    for ratio in ratios:
        print(row_text(ratio), flush=True)


def row_text(ratio: Json) -> str:
    """Return one measurement as a row under HEAD."""
    return HEAD.format(
        ratio["part"],
        ratio["operation"],
        "" if ratio["window"] is None else ratio["window"],
        size_or_nothing(ratio["bytes"]),
        f"{1e6 * ratio['native_seconds']:.2f}",
        f"{1e6 * ratio['seconds']:.2f}",
        *(f"{ratio[which]:.3f}" for which in ("worst", "median", "best")),
        " ".join(f"{one:.2f}" for one in ratio["ratios"]),
    )


def print_by_size(rows: list[Json]) -> None:
    """Print the worst round and the worst median of each size."""
    print(f"{'size':>8} {'worst':>6}  {'of':50} {'median':>6}  of")
    for row in rows:
        size = size_or_nothing(row["bytes"]) or "-"
        print(
            f"{size:>8} {row['worst']:6.3f}  {row['worst_of']:50} "
            f"{row['median']:6.3f}  {row['median_of']}",
            flush=True,
        )
