"""Measured numbers in units of the nominal ones: a row for what is alike on many GPUs."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from polypath.cli.calibration_tables import groups_of, measured_text, names_text, nominal_text
from polypath.cli.output import Document
from polypath.cli.plots.style import COLOURS, FAINT, NATIVE, footer, new_figure, render

ROW = 0.27  # inches
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50)
CONTINUED = "... "  # begins the name of a cost that goes with the one before
CLOSEST = 0.07  # of the axis, between two labels

Group = list[Document]


def draw(calibration: Document, file_format: str) -> bytes:
    """Return the picture of a calibration, schema polypath.calibration/1, as a file."""
    groups = groups_of(calibration["numbers"])
    rates = [group for group in groups if group[0]["unit"] == "B/s"]
    times = [group for group in groups if group[0]["unit"] == "s"]
    sizes = [group for group in groups if group[0]["unit"] == "B"]
    titled = (("rates", rates), ("sizes", sizes), ("times", times))
    parts = [(title, rows) for title, rows in titled if rows]
    figure = new_figure(10, 1.6 + ROW * len(groups) + 0.5 * len(parts))
    heights = [len(rows) + 1 for _, rows in parts]
    for axes, (title, rows) in zip(_axes(figure, heights), parts):
        axes.set_title(f"{title}, measured / nominal", fontsize=10, loc="left")
        draw_rows(axes, rows)
    figure.suptitle(f"{calibration['machine']}: measured and nominal", fontweight="bold")
    footer(figure, _origin(calibration), figure.axes[0].get_legend_handles_labels()[0])
    return render(figure, file_format)


def _origin(calibration: Document) -> str:
    if calibration.get("driver") == "sim":
        return "Measured on a simulated machine, in virtual time; nominal: as it is described."
    return "Measured on the GPUs of this machine; nominal: what is assumed before calibration."


def _axes(figure: Figure, heights: list[int]) -> list[Axes]:
    found = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)
    return [row[0] for row in found]


def draw_rows(axes: Axes, groups: list[Group]) -> None:
    """Draw a row of points for each group, and what they are in numbers."""
    axes.axvline(1, color=NATIVE, linewidth=1.4, label="nominal")
    _draw_points(axes, groups, at_least=False)
    _draw_points(axes, groups, at_least=True)
    names = row_names(groups)
    axes.set_yticks(range(len(groups)), names, fontsize=8)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    for row, group in enumerate(groups):
        text = f"{measured_text(group)} (nominal {nominal_text(group)})"
        axes.text(1.01, row, text, transform=axes.get_yaxis_transform(), fontsize=8, va="center")
    _scale(axes, [ratio for group in groups for ratio in _ratios(group)])
    axes.grid(axis="x", color=FAINT)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def row_names(groups: list[Group]) -> list[str]:
    """Return what each row is; a cost for every node says of which call."""
    names: list[str] = []
    before = ""
    for group in groups:
        name = names_text(group).replace("->", "→")
        if name.startswith(CONTINUED):
            name = f"{before}, {name[len(CONTINUED) :]}"
        else:
            before = name
        names.append(name)
    return names


def _draw_points(axes: Axes, groups: list[Group], at_least: bool) -> None:
    points = [
        (ratio, row)
        for row, group in enumerate(groups)
        if group[0]["at_least"] == at_least
        for ratio in _ratios(group)
    ]
    label = "measured: at least" if at_least else "measured"
    axes.plot(
        [ratio for ratio, _ in points],
        [row for _, row in points],
        color=COLOURS[1 if at_least else 0],
        marker=">" if at_least else "o",
        markersize=5,
        markerfacecolor="none",
        linestyle="",
        label=label,
    )


def _ratios(group: Group) -> list[float]:
    """Return measured by nominal; nothing where the nominal number is zero."""
    return [n["measured"] / n["nominal"] for n in group if n["nominal"] and n["measured"]]


def _ticks(low: float, high: float) -> list[float]:
    """Return 1 and those ticks, from there outwards, whose labels have room beside the last one."""
    room = (high / low) ** CLOSEST
    above, below = [1.0], [1.0]
    for tick in TICKS:
        if above[-1] * room <= tick <= high:
            above.append(tick)
    for tick in reversed(TICKS):
        if low <= tick <= below[-1] / room:
            below.append(tick)
    return sorted({*above, *below})


def _scale(axes: Axes, ratios: list[float]) -> None:
    """Make the x axis one of ratios: as far below 1 as above looks the same."""
    low, high = min([0.9, *ratios]), max([1.1, *ratios])
    axes.set_xscale("log")
    margin = (high / low) ** 0.03
    axes.set_xlim(low / margin, high * margin)
    axes.set_xticks(_ticks(low, high))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
