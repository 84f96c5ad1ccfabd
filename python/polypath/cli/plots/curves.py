"""Bandwidth and speed-up over message size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polypath.cli.output import Document
from polypath.cli.plots.style import COLOURS, FAINT, INK, NATIVE, footer, new_figure, render
from polypath.cli.provenance import footer_text
from polypath.cli.units import lanes_text, size_text

MOST_LABELS = 12
_SCALE = 1e6  # times are in microseconds

Range = tuple[float, float]


def draw(bench: Document, file_format: str) -> bytes:
    """Return the picture of a benchmark, schema polypath.bench/1, as a file."""
    return render(figure_of(bench), file_format)


def figure_of(bench: Document) -> Figure:
    """Return the picture: bandwidths, or times of the operation `latency`, and speed-ups."""
    results = sorted(bench["results"], key=lambda result: result["bytes"])
    figure = new_figure(8, 6.5)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    title = f"{bench['machine']}: {lanes_text(bench)}, window {results[0]['window']}"
    figure.suptitle(title.replace("<->", "↔").replace("->", "→"), fontweight="bold")
    (draw_times if bench["operation"] == "latency" else draw_bandwidth)(upper, results)
    upper.legend(frameon=False)
    draw_speedup(lower, results)
    label_sizes(lower, [result["bytes"] for result in results])
    footer(figure, footer_text(bench))
    return figure


def draw_bandwidth(axes: Axes, results: list[Document]) -> None:
    """Draw bandwidth over size, as measured, predicted (where it is) and of the native copy."""
    sizes = [result["bytes"] for result in results]
    planned = [result["bytes_per_second"] / 1e9 for result in results]
    native = [result["native_bytes_per_second"] / 1e9 for result in results]
    for key, rates, colour in (
        ("seconds", planned, COLOURS[0]),
        ("native_seconds", native, NATIVE),
    ):
        draw_error_bars(axes, sizes, rates, [rate_range(one, key) for one in results], colour)
    axes.plot(sizes, planned, color=COLOURS[0], marker="o", markersize=5, label="Polypath")
    _draw_predicted(axes, results, lambda one, time: one["seconds"] / time * _rate(one))
    axes.plot(sizes, native, color=NATIVE, marker="s", markersize=4, label="native copy")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("bandwidth, GB/s")
    axes.grid(color=FAINT)


def draw_times(axes: Axes, results: list[Document]) -> None:
    """Draw times over size, as measured, predicted (where they are) and of the native copy."""
    sizes = [result["bytes"] for result in results]
    times = [_SCALE * result["seconds"] for result in results]
    native = [time * result["speedup"] for time, result in zip(times, results)]
    for key, heights, colour in (
        ("seconds", times, COLOURS[0]),
        ("native_seconds", native, NATIVE),
    ):
        draw_error_bars(axes, sizes, heights, [_time_range(one, key) for one in results], colour)
    axes.plot(sizes, times, color=COLOURS[0], marker="o", markersize=5, label="Polypath")
    _draw_predicted(axes, results, lambda _, time: _SCALE * time)
    axes.plot(sizes, native, color=NATIVE, marker="s", markersize=4, label="native copy")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel("time, us")
    axes.grid(color=FAINT)


def _draw_predicted(
    axes: Axes, results: list[Document], height: Callable[[Document, float], float]
) -> None:
    """Draw what was predicted, with a gap where nothing was."""
    times = [result["predicted_seconds"] for result in results]
    if any(time is not None for time in times):
        heights = [height(*pair) if pair[1] else math.nan for pair in zip(results, times)]
        sizes = [result["bytes"] for result in results]
        axes.plot(sizes, heights, color=COLOURS[1], linestyle=":", linewidth=2, label="predicted")


def _rate(result: Document) -> float:
    return float(result["bytes_per_second"]) / 1e9


def _time_range(result: Document, key: str) -> Range | None:
    times = quartiles(result, key)
    return (_SCALE * times[0], _SCALE * times[1]) if times else None


def draw_speedup(axes: Axes, results: list[Document]) -> None:
    """Draw the speed-up over size, its best value written beside it."""
    sizes = [result["bytes"] for result in results]
    speedups = [result["speedup"] for result in results]
    axes.axhline(1, color=NATIVE, linewidth=1.2)
    bars = [quartiles(one, "speedup") for one in results]
    draw_error_bars(axes, sizes, speedups, bars, COLOURS[0])
    axes.plot(sizes, speedups, color=COLOURS[0], marker="o", markersize=5)
    best = max(zip(sizes, speedups), key=lambda point: float(point[1]))
    _annotate(axes, *best, "left" if best[0] == sizes[0] else "right")
    heights = [1.0, *speedups, *(end for bar in bars if bar for end in bar)]
    low, high = min(heights), max(heights)
    margin = max(0.05, 0.2 * (high - low))
    axes.set_ylim(low - margin, high + 1.5 * margin)
    axes.set_ylabel("speed-up over native")
    axes.grid(color=FAINT)


def quartiles(result: Document, key: str) -> Range | None:
    """Return between which values half of the runs lie; None where runs were not kept."""
    spread = result.get("spread", {}).get(key)
    return (spread["lower_quartile"], spread["upper_quartile"]) if spread else None


def rate_range(result: Document, key: str) -> Range | None:
    """Return the quartiles of times as GB/s; None where runs were not kept."""
    times = quartiles(result, key)
    moved = result["bytes_per_second"] * result["seconds"] / 1e9
    return (moved / times[1], moved / times[0]) if times else None


def draw_error_bars(
    axes: Axes,
    places: Sequence[float],
    heights: Sequence[float],
    ranges: Sequence[Range | None],
    colour: str,
) -> None:
    """Draw a bar over each range, at its place; nothing where there is none."""
    drawn = [(x, y, bar) for x, y, bar in zip(places, heights, ranges) if bar]
    if drawn:
        below = [max(0.0, y - bar[0]) for _, y, bar in drawn]
        above = [max(0.0, bar[1] - y) for _, y, bar in drawn]
        middles = [x for x, _, _ in drawn], [y for _, y, _ in drawn]
        axes.errorbar(*middles, [below, above], fmt="none", ecolor=colour, capsize=3)


def _annotate(axes: Axes, size: int, speedup: float, side: str) -> None:
    """Write a value at its point, to the side on which the axes do not end."""
    axes.annotate(
        f"{speedup:.2f}x",
        (size, speedup),
        xytext=(4 if side == "right" else -4, 9),
        textcoords="offset points",
        ha=side,
        color=INK,
        fontweight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
    )


def spaced(sizes: list[int], most: int) -> list[int]:
    """Return the largest size and so many smaller ones that their labels do not overlap."""
    shown = sorted(set(sizes))[-1:]
    apart = (shown[0] / min(sizes)) ** (1 / most)
    for size in sorted(set(sizes), reverse=True):
        if size * apart <= shown[-1]:
            shown.append(size)
    return shown


def label_sizes(axes: Axes, sizes: list[int], most: int = MOST_LABELS) -> None:
    """Make the x axis one of sizes in bytes, with at most so many of these as its labels."""
    axes.set_xscale("log", base=2)
    shown = spaced(sizes, most)
    axes.set_xticks(shown, [size_text(size) for size in shown], rotation=30, ha="right")
    axes.minorticks_off()
    axes.set_xlabel("message size")
