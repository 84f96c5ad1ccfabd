"""When each chunk of a plan is on which hop: a Gantt chart."""

from __future__ import annotations

from matplotlib.axes import Axes

from polypath.cli.output import Document
from polypath.cli.plots.style import FAINT, INK, NATIVE, colour_of, footer, new_figure, render
from polypath.cli.units import percent_text, size_text, time_text

MOST_SEPARATED = 400  # bars; from there on their outlines would hide them


def draw(plan: Document, file_format: str) -> bytes:
    """Return the picture of a plan, schema polypath.plan/1, as a file."""
    rows = _rows(plan)
    figure = new_figure(9, 2.2 + 0.42 * len(rows))
    axes = figure.subplots()
    scale, unit = (1e6, "us") if plan["predicted_seconds"] < 1e-3 else (1e3, "ms")
    _draw_bars(axes, plan, rows, scale)
    _draw_ends(axes, plan, scale)
    axes.set_yticks(range(len(rows)), [hop.replace("->", "→") for _, hop in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.02 * scale * max(plan["predicted_seconds"], plan["native_seconds"]))
    axes.set_xlabel(f"time, {unit}")
    axes.grid(axis="x", color=FAINT)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    footer(
        figure,
        f"Simulated on the description of {plan['machine']}, in virtual time; nothing is measured.",
        axes.get_legend_handles_labels()[0],
    )
    pair = f"{plan['source']} → {plan['destination']}"
    figure.suptitle(
        f"{plan['machine']}: {pair}, {size_text(plan['bytes'])}, {plan['executor']}",
        fontweight="bold",
    )
    return render(figure, file_format)


def _rows(plan: Document) -> list[tuple[str, str]]:
    """Return (path, hop) from top to bottom: path by path, each in the order of its copies."""
    order = {path["via"]: index for index, path in enumerate(plan["paths"])}
    firsts: dict[tuple[str, str], float] = {}
    for bar in plan["timeline"]:
        row = (bar["path"], bar["hop"])
        firsts[row] = min(firsts.get(row, bar["start"]), bar["start"])
    return sorted(firsts, key=lambda row: (order.get(row[0], 0), firsts[row]))


def _draw_bars(axes: Axes, plan: Document, rows: list[tuple[str, str]], scale: float) -> None:
    outline = 0.6 if len(plan["timeline"]) < MOST_SEPARATED else 0
    used = [path for path in plan["paths"] if path["included"]]
    for index, path in enumerate(used):
        mine = [position for position, row in enumerate(rows) if row[0] == path["via"]]
        for position in mine:
            axes.broken_barh(
                _spans(plan, rows[position], scale),
                (position - 0.36, 0.72),
                facecolors=colour_of(index),
                edgecolors="white",
                linewidth=outline,
                label=_label(path) if position == mine[0] else None,
            )


def _spans(plan: Document, row: tuple[str, str], scale: float) -> list[tuple[float, float]]:
    """Return start and length of each copy in a row."""
    return [
        (scale * bar["start"], scale * (bar["end"] - bar["start"]))
        for bar in plan["timeline"]
        if (bar["path"], bar["hop"]) == row
    ]


def _label(path: Document) -> str:
    chunks = path["chunks"]
    return f"{path['via']}: {percent_text(path['share'])}" + (
        f", {chunks} chunks" if chunks > 1 else ""
    )


def _draw_ends(axes: Axes, plan: Document, scale: float) -> None:
    ends = [(plan["predicted_seconds"], INK, "predicted end")]
    if plan["executor"] != "native":
        ends.append((plan["native_seconds"], NATIVE, "one native copy"))
    for end, colour, text in ends:
        label = f"{text}: {time_text(end)}"
        axes.axvline(scale * end, color=colour, linewidth=1.4, linestyle="--", label=label)
