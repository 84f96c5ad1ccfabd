"""Bandwidth and speed-up over message size."""

from __future__ import annotations

from matplotlib.axes import Axes

from polypath.cli.output import Document
from polypath.cli.plots.style import COLOURS, FAINT, INK, NATIVE, new_figure, render
from polypath.cli.units import lanes_text, size_text

MOST_LABELS = 12


def draw(bench: Document, file_format: str) -> bytes:
    """Return the picture of a benchmark, schema polypath.bench/1, as a file."""
    results = sorted(bench["results"], key=lambda result: result["bytes"])
    figure = new_figure(8, 6.5)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    title = f"{bench['machine']}: {lanes_text(bench)}, window {results[0]['window']}"
    figure.suptitle(title.replace("<->", "↔").replace("->", "→"), fontweight="bold")
    draw_bandwidth(upper, results)
    upper.legend(frameon=False)
    draw_speedup(lower, results)
    label_sizes(lower, [result["bytes"] for result in results])
    return render(figure, file_format)


def draw_bandwidth(axes: Axes, results: list[Document]) -> None:
    """Draw bandwidth over size, as measured, predicted (where it is) and of the native copy."""
    sizes = [result["bytes"] for result in results]
    planned = [result["bytes_per_second"] / 1e9 for result in results]
    native = [result["native_bytes_per_second"] / 1e9 for result in results]
    axes.plot(sizes, planned, color=COLOURS[0], marker="o", markersize=5, label="Polypath")
    if all(result["predicted_seconds"] is not None for result in results):
        predicted = [
            rate * result["seconds"] / result["predicted_seconds"]
            for rate, result in zip(planned, results)
        ]
        axes.plot(sizes, predicted, color=COLOURS[1], linestyle=":", linewidth=2, label="predicted")
    axes.plot(sizes, native, color=NATIVE, marker="s", markersize=4, label="native copy")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("bandwidth, GB/s")
    axes.grid(color=FAINT)


def draw_speedup(axes: Axes, results: list[Document]) -> None:
    """Draw the speed-up over size, its best value written beside it."""
    sizes = [result["bytes"] for result in results]
    speedups = [result["speedup"] for result in results]
    axes.axhline(1, color=NATIVE, linewidth=1.2)
    axes.plot(sizes, speedups, color=COLOURS[0], marker="o", markersize=5)
    _annotate(axes, *max(zip(sizes, speedups), key=lambda point: float(point[1])))
    low, high = min(*speedups, 1.0), max(*speedups, 1.0)
    margin = max(0.05, 0.2 * (high - low))
    axes.set_ylim(low - margin, high + 1.5 * margin)
    axes.set_ylabel("speed-up over native")
    axes.grid(color=FAINT)


def _annotate(axes: Axes, size: int, speedup: float) -> None:
    axes.annotate(
        f"{speedup:.2f}x",
        (size, speedup),
        xytext=(0, 7),
        textcoords="offset points",
        ha="center",
        color=INK,
        fontweight="bold",
    )


def label_sizes(axes: Axes, sizes: list[int], most: int = MOST_LABELS) -> None:
    """Make the x axis one of sizes in bytes, with at most so many of these as its labels."""
    axes.set_xscale("log", base=2)
    step = -(-len(sizes) // most)
    shown = sizes[::-1][::step]
    axes.set_xticks(shown, [size_text(size) for size in shown], rotation=30, ha="right")
    axes.minorticks_off()
    axes.set_xlabel("message size")
