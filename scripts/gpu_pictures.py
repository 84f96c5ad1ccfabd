"""What was measured on real GPUs, as pictures. Needs the installed package, whose plots they use.

Each picture is drawn from plain data, so that one can tell whether it shows what is stored now
(scripts/pictures.py).
"""

from __future__ import annotations

from typing import Callable

from figure_text import Document
from gpu_figures import Measurements
from gpu_targets import TARGETS
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from polypath.cli.plots.curves import draw_bandwidth, draw_speedup, label_sizes
from polypath.cli.plots.style import COLOURS, new_figure, render

SMALLEST_RATE = 1 << 20  # below, all bandwidths are next to nothing on a linear axis
COLUMNS = 4
MOST_LABELS = 5
UNDER = 1.5  # the measured curve lies above lines of this order


def speedup_data(measurements: Measurements) -> Document:
    """Return the speed-ups of every series, its targets, and what the simulator says of it."""
    data: Document = {}
    for name, bench in measurements.series().items():
        data[name] = {
            "host": bench["host"],
            "results": [_picked(result, "bytes", "speedup") for result in bench["results"]],
            "simulated": _simulated_speedups(measurements, name),
            "targets": [[t.smallest, t.largest, t.ratio] for t in TARGETS if t.series == name],
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
            "results": [
                _picked(result, *keys)
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


def _picked(document: Document, *keys: str) -> Document:
    return {key: document[key] for key in keys}


def draw_speedups(data: Document, file_format: str) -> bytes:
    """Return the picture of all speed-ups over size, with the targets as lines."""
    return render(_grid(data, "Speed-up over the native copy", speedup_panel), file_format)


def draw_bandwidths(data: Document, file_format: str) -> bytes:
    """Return the picture of all bandwidths over size, beside the native copy."""
    return render(_grid(data, "Bandwidth in GB/s beside the native copy", rate_panel), file_format)


def _grid(data: Document, title: str, panel: Callable[[Axes, Document], None]) -> Figure:
    """Return a figure with a panel for each series, and the legend in the cell behind them."""
    rows = len(data) // COLUMNS + 1
    figure = new_figure(11, 2.7 * rows)
    cells = [axes for row in figure.subplots(rows, COLUMNS, squeeze=False) for axes in row]
    for axes, (name, series) in zip(cells, data.items()):
        panel(axes, series)
        axes.set_title(name, fontsize=9, fontweight="bold")
        axes.tick_params(labelsize=8)
        axes.set(xlabel="", ylabel="")
    for axes in cells[len(data) :]:
        axes.set_axis_off()
    _draw_legend(cells[len(data)], cells)
    figure.suptitle(f"{title}: {_hosts(data)}", fontsize=11)
    return figure


def _draw_legend(cell: Axes, panels: list[Axes]) -> None:
    """Draw one legend for all panels, in which each label comes once."""
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels())
    }
    cell.legend(handles.values(), handles.keys(), frameon=False, loc="center")


def _hosts(data: Document) -> str:
    hosts = [series["host"] for series in data.values()]
    machines = dict.fromkeys(f"{host['gpus']} \u00d7 {host['gpu']}" for host in hosts)
    return ", ".join([*machines, *sorted({host["date"] for host in hosts})])


def speedup_panel(axes: Axes, series: Document) -> None:
    """Draw one series' speed-ups, its targets, each over its sizes, and the simulated ones."""
    results = sorted(series["results"], key=lambda result: int(result["bytes"]))
    sizes = [int(result["bytes"]) for result in results]
    draw_speedup(axes, results)
    axes.lines[-1].set_label("measured")
    heights = [1.0, *(result["speedup"] for result in results)]
    simulated = sorted((row["bytes"], row["simulated_speedup"]) for row in series["simulated"])
    if simulated:
        points = tuple(zip(*simulated))
        axes.plot(*points, ":", color=COLOURS[2], linewidth=2, zorder=UNDER, label="simulated")
        heights += [height for _, height in simulated]
    for smallest, largest, ratio in series["targets"]:
        span = _span(max(smallest, sizes[0]), min(largest, sizes[-1]))
        axes.plot(span, (ratio, ratio), color=COLOURS[1], label="target", zorder=UNDER)
        heights.append(ratio)
    margin = max(0.05, 0.12 * (max(heights) - min(heights)))
    axes.set_ylim(min(heights) - margin, max(heights) + 2 * margin)
    label_sizes(axes, sizes, MOST_LABELS)


def _span(first: int, last: int) -> tuple[float, float]:
    """Return the ends of a target's line; one of a single size is drawn around it."""
    return (first / 1.4, last * 1.4) if first == last else (first, last)


def rate_panel(axes: Axes, series: Document) -> None:
    """Draw one series' bandwidths."""
    results = sorted(series["results"], key=lambda result: int(result["bytes"]))
    draw_bandwidth(axes, results)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    label_sizes(axes, [result["bytes"] for result in results], MOST_LABELS)
