"""What was measured on real GPUs, as pictures. Needs the installed package, whose plots they use.

Each picture is drawn from plain data, so that one can tell whether it shows what is stored now
(scripts/pictures.py).
"""

from __future__ import annotations

from typing import Callable

from figure_text import Document
from gpu_figures import Measurements
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from polypath.cli.plots.curves import draw_bandwidth, draw_speedup, label_sizes, quartiles
from polypath.cli.plots.style import COLOURS, footer, new_figure, render
from polypath.cli.provenance import BARS, host_text, runs_text

SMALLEST_RATE = 1 << 20  # below, all bandwidths are next to nothing on a linear axis
COLUMNS = 4
MOST_LABELS = 5
LINES_OF_SPEEDUPS = {
    "measured": "native time over ours,\nruns of both in turn",
    "simulated": "the same on the machine\nas calibration measured it",
    "native": "the native copy",
}
LINES_OF_RATES = {
    "Polypath": "measured",
    "predicted": "by the model, from\nthe calibrated machine",
    "native copy": "the driver's own,\nmeasured",
}
UNDER = 1.5  # the measured curve lies above lines of this order


def speedup_data(measurements: Measurements) -> Document:
    """Return the speed-ups of every series, and what the simulator says of it."""
    data: Document = {}
    for name, bench in measurements.series().items():
        data[name] = {
            "host": bench["host"],
            "native_call": bench["native_call"],
            "results": [_with_runs(result, "bytes", "speedup") for result in bench["results"]],
            "simulated": _simulated_speedups(measurements, name),
        }
    return data


def _simulated_speedups(measurements: Measurements, series: str) -> list[Document]:
    rows = (measurements.read("simulated") or {"results": []})["results"]
    return [_picked(row, "bytes", "simulated_speedup") for row in rows if row["series"] == series]


def bandwidth_data(measurements: Measurements) -> Document:
    """Return the bandwidths of every series: measured, predicted and native."""
    keys = ("bytes", "bytes_per_second", "native_bytes_per_second", "seconds", "predicted_seconds")
    return {
        name: {
            "host": bench["host"],
            "native_call": bench["native_call"],
            "results": [
                _with_runs(result, *keys)
                for result in bench["results"]
                if result["bytes"] >= SMALLEST_RATE
            ],
        }
        for name, bench in measurements.series().items()
    }


def calibration_data(measurements: Measurements) -> Document:
    """Return the calibration, without what is not drawn."""
    found: Document = measurements.read("machine_numbers") or {}
    if not found:
        return {}
    keys = ("of", "quantity", "unit", "measured", "nominal", "at_least")
    numbers = [_picked(number, *keys) for number in found["numbers"]]
    return {"machine": found["machine"], "numbers": numbers}


def _with_runs(result: Document, *keys: str) -> Document:
    """Return these fields, and those of the single runs where they were kept."""
    kept = {"samples": _picked(result["samples"], "runs")} if "samples" in result else {}
    spread = {"spread": result["spread"]} if "spread" in result else {}
    return _picked(result, *keys) | kept | spread


def _picked(document: Document, *keys: str) -> Document:
    return {key: document[key] for key in keys}


def draw_speedups(data: Document, file_format: str) -> bytes:
    """Return the picture of all speed-ups over size."""
    title = "Speed-up over the native copy by message size: 1 is as fast"
    return render(_grid(data, title, speedup_panel, LINES_OF_SPEEDUPS), file_format)


def draw_bandwidths(data: Document, file_format: str) -> bytes:
    """Return the picture of all bandwidths over size, and of the native copy's."""
    title = "Bandwidth in GB/s by message size, and that of the native copy"
    return render(_grid(data, title, rate_panel, LINES_OF_RATES), file_format)


def _grid(
    data: Document,
    title: str,
    panel: Callable[[Axes, Document], None],
    meanings: dict[str, str],
) -> Figure:
    """Return a figure with a panel for each series, and the legend in the cell behind them."""
    rows = len(data) // COLUMNS + 1
    figure = new_figure(11, 2.7 * rows)
    cells = [axes for row in figure.subplots(rows, COLUMNS, squeeze=False) for axes in row]
    for axes, (name, series) in zip(cells, data.items()):
        panel(axes, series)
        axes.set_title(f"{name}\nagainst {series['native_call']}", fontsize=7.5)
        axes.tick_params(labelsize=8)
        axes.set(xlabel="", ylabel="")
    for axes in cells[len(data) :]:
        axes.set_axis_off()
    _draw_legend(cells[len(data)], cells, meanings)
    figure.suptitle(title, fontsize=11, fontweight="bold")
    footer(figure, f"Measured on {_hosts(data)}. {_runs(data)}")
    return figure


def _draw_legend(cell: Axes, panels: list[Axes], meanings: dict[str, str]) -> None:
    """Draw one legend for all panels, in which each label comes once with what it means."""
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels())
    }
    explained = [f"{label}: {meanings[label]}" for label in handles]
    cell.legend(handles.values(), explained, frameon=False, loc="center", fontsize=8)


def _hosts(data: Document) -> str:
    return "; ".join(dict.fromkeys(host_text(series["host"]) for series in data.values()))


def _runs(data: Document) -> str:
    """Return over how many runs medians were taken, and what bars mean where there are any."""
    results = [result for series in data.values() for result in series["results"]]
    bars = f" {BARS}" if any("spread" in result for result in results) else ""
    return runs_text(results) + bars


def speedup_panel(axes: Axes, series: Document) -> None:
    """Draw one series' speed-ups and the simulated ones."""
    results = sorted(series["results"], key=lambda result: int(result["bytes"]))
    sizes = [int(result["bytes"]) for result in results]
    draw_speedup(axes, results)
    axes.lines[0].set_label("native")
    axes.lines[-1].set_label("measured")
    heights = [1.0, *(result["speedup"] for result in results)]
    simulated = sorted((row["bytes"], row["simulated_speedup"]) for row in series["simulated"])
    if simulated:
        points = tuple(zip(*simulated))
        axes.plot(*points, ":", color=COLOURS[2], linewidth=2, zorder=UNDER, label="simulated")
        heights += [height for _, height in simulated]
    bars = [quartiles(result, "speedup") or () for result in results]
    heights += [end for bar in bars for end in bar]
    margin = max(0.05, 0.12 * (max(heights) - min(heights)))
    axes.set_ylim(min(heights) - margin, max(heights) + 2 * margin)
    label_sizes(axes, sizes, MOST_LABELS)


def rate_panel(axes: Axes, series: Document) -> None:
    """Draw one series' bandwidths."""
    results = sorted(series["results"], key=lambda result: int(result["bytes"]))
    draw_bandwidth(axes, results)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    label_sizes(axes, [result["bytes"] for result in results], MOST_LABELS)
