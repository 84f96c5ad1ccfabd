"""Bandwidth and speed-up of MPI messages over their size: one column per operation."""

from __future__ import annotations

from matplotlib.axes import Axes

from polypath.cli.output import Document
from polypath.cli.plots.curves import draw_error_bars, label_sizes, rate_range
from polypath.cli.plots.style import FAINT, NATIVE, colour_of, footer, new_figure, render
from polypath.cli.provenance import BARS, origin_text

MOST_LABELS = 6


def draw(document: Document, file_format: str) -> bytes:
    """Return the picture of `polypath mpi`, schema polypath.bench/1, as a file."""
    operations = list(dict.fromkeys(result["operation"] for result in document["results"]))
    figure = new_figure(max(6.0, 3.2 * len(operations)), 6.5)
    figure.suptitle(
        f"{document['machine']}: MPI, {document['ranks']} ranks, {document['buffers']} buffers",
        fontweight="bold",
    )
    axes = figure.subplots(
        2, len(operations), sharex=True, sharey="row", height_ratios=(3, 2), squeeze=False
    )
    for column, operation in enumerate(operations):
        results = [r for r in document["results"] if r["operation"] == operation]
        _draw_operation(axes[0][column], axes[1][column], operation, results)
    highest = max(_highest(result) for result in document["results"])
    axes[0][0].set_ylim(0, 1.08 * highest)  # of all columns: they share it
    axes[0][0].set_ylabel("bandwidth, GB/s")
    axes[1][0].set_ylabel("speed-up by Polypath")
    kept = any("spread" in result for result in document["results"])
    remark = f"Medians of {document['repeats']} rounds. Shaded: from the worst to the best round."
    remark += f" {BARS}" if kept else ""
    footer(figure, f"{origin_text(document)} {remark}")
    return render(figure, file_format)


def _draw_operation(upper: Axes, lower: Axes, name: str, results: list[Document]) -> None:
    windows = list(dict.fromkeys(result["window"] for result in results))
    lower.axhline(1, color=NATIVE, linewidth=1.2)
    for index, window in enumerate(windows):
        series = sorted(
            (r for r in results if r["window"] == window), key=lambda result: result["bytes"]
        )
        _draw_series(upper, lower, series, colour_of(index), f"window {window}")
    upper.set_title(name)
    for axes in (upper, lower):
        axes.grid(color=FAINT)
    upper.legend(frameon=False, title="solid: with Polypath\ndashed: without")
    label_sizes(lower, sorted({result["bytes"] for result in results}), MOST_LABELS)


def _draw_series(upper: Axes, lower: Axes, series: list[Document], colour: str, label: str) -> None:
    sizes = [result["bytes"] for result in series]
    planned = [result["bytes_per_second"] / 1e9 for result in series]
    native = [result["native_bytes_per_second"] / 1e9 for result in series]
    bars = [rate_range(result, "seconds") for result in series]
    draw_error_bars(upper, sizes, planned, bars, colour)
    upper.plot(sizes, planned, color=colour, marker="o", markersize=4, label=label)
    upper.plot(sizes, native, color=colour, linestyle="--", linewidth=1)
    middle = [result["speedup"] for result in series]
    lower.plot(sizes, middle, color=colour, marker="o", markersize=4)
    least = [min(result["speedups"]) for result in series]
    most = [max(result["speedups"]) for result in series]
    lower.fill_between(sizes, least, most, color=colour, alpha=0.15, linewidth=0)


def _highest(result: Document) -> float:
    """Return the highest of what is drawn of a result over the size, GB/s."""
    rates = (result["bytes_per_second"] / 1e9, result["native_bytes_per_second"] / 1e9)
    return float(max(*rates, *(rate_range(result, "seconds") or ())))
