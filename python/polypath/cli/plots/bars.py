"""Predicted times side by side: of transfers that start together, of a collective's algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from polypath.cli.collective_tables import what_text
from polypath.cli.output import Document
from polypath.cli.plots.style import COLOURS, FAINT, NATIVE, footer, new_figure, render
from polypath.cli.units import size_text, time_text

CHOSEN, OTHER = COLOURS[0], COLOURS[5]


class Bar(NamedTuple):
    """One time, in seconds."""

    label: str
    seconds: float
    colour: str


def draw(plan: Document, file_format: str) -> bytes:
    """Return the picture of a plan, polypath.joint_plan/1 or polypath.collective_plan/1."""
    title, bars = _algorithms(plan) if "algorithms" in plan else _transfers(plan)
    figure = new_figure(8, 1.8 + 0.32 * len(bars))
    axes = figure.subplots()
    scale, unit = (1e6, "us") if max(bar.seconds for bar in bars) < 1e-3 else (1e3, "ms")
    axes.barh(
        range(len(bars)), [scale * bar.seconds for bar in bars], color=[bar.colour for bar in bars]
    )
    for row, bar in enumerate(bars):
        axes.annotate(
            time_text(bar.seconds), (scale * bar.seconds, row), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
    axes.set_yticks(range(len(bars)), [bar.label.replace("->", "→") for bar in bars])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.margins(x=0.12)
    axes.set_xlabel(f"predicted time, {unit}")
    axes.grid(axis="x", color=FAINT)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    figure.suptitle(title, fontweight="bold")
    footer(figure, _origin(plan))
    return render(figure, file_format)


def _transfers(plan: Document) -> tuple[str, Sequence[Bar]]:
    transfers = plan["transfers"]
    bars = [Bar("all, natively", plan["native_seconds"], NATIVE)]
    bars += [Bar("all, as planned", plan["predicted_seconds"], CHOSEN)]
    for each in transfers:
        pair = f"{each['source']} -> {each['destination']}, {size_text(each['bytes'])}"
        bars.append(Bar(f"{pair}, natively", each["native_seconds"], NATIVE))
        bars.append(Bar(f"{pair}, {each['executor']}", each["predicted_seconds"], CHOSEN))
    name = plan["pattern"] or "transfers that start together"
    return f"{plan['machine']}: {name}", bars


def _algorithms(plan: Document) -> tuple[str, Sequence[Bar]]:
    bars = [
        Bar(each["algorithm"], each["predicted_seconds"], CHOSEN if each["chosen"] else OTHER)
        for each in plan["algorithms"]
    ]
    return f"{plan['machine']}: {what_text(plan)}, {size_text(plan['bytes'])}", bars


def _origin(plan: Document) -> str:
    where = f"the description of {plan['machine']}" if plan["simulated"] else "the GPUs here"
    return f"Predicted for {where}; nothing is measured."
