"""What all pictures have in common."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

# Okabe and Ito's colours, which stay apart for colour-blind readers.
NATIVE = "#777777"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#5b3a8c")
INK = "#222222"
FAINT = "#dddddd"
FOOTNOTE = "#555555"
MARGIN = 0.15  # inches
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
THICKEST, THINNER = 4.0, 0.5  # points, of lines that lie on each other


def colour_of(index: int) -> str:
    """Return the colour of the path with that index."""
    return COLOURS[index % len(COLOURS)]


def colour_map(name: str) -> Colormap:
    """Return one of matplotlib's colour maps."""
    return matplotlib.colormaps[name]


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches; it needs no display."""
    matplotlib.rc("font", size=10)
    matplotlib.rc("axes.spines", top=False, right=False)
    matplotlib.rc("axes", axisbelow=True)
    matplotlib.rc("text", parse_math=False)  # a name may contain a dollar sign
    matplotlib.rc("svg", hashsalt="polypath")  # the same picture has the same bytes
    figure = Figure(figsize=(width, height), layout="constrained")
    # A margin: where text of an SVG is drawn in another font, it may be wider than it was here.
    figure.set_layout_engine("constrained", w_pad=MARGIN, h_pad=MARGIN / 2)
    return figure


def footer(figure: Figure, text: str, handles: Sequence[Artist] = (), ncols: int = 3) -> None:
    """Write below a picture where its numbers are from, and below that its legend.

    The text is the legend's title, because the layout keeps no room for both apart.
    """
    width = int(15 * figure.get_figwidth())  # characters of this size
    wrapped = "\n".join(textwrap.fill(line, width) for line in text.split("\n"))
    figure.legend(
        handles=list(handles),
        title=wrapped,
        title_fontproperties={"size": 8},
        labelcolor=INK,
        frameon=False,
        ncols=ncols,
        loc="outside lower center",
    ).get_title().set(color=FOOTNOTE, ha="center", multialignment="center")


def render(figure: Figure, file_format: str) -> bytes:
    """Return the figure as a file of that format: png, svg or pdf."""
    buffer = io.BytesIO()
    # Without a date: the same picture has the same bytes.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of characters that the font lacks
        figure.savefig(buffer, format=file_format, dpi=150, metadata=metadata)
    return buffer.getvalue()


def stacked(number: int) -> dict[str, Any]:
    """Return how the line of this number looks, so that those on which it lies are still seen."""
    return {
        "linewidth": max(1.0, THICKEST - THINNER * number),
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": max(4.0, 10.0 - number),
        "markerfacecolor": "none",
        "markeredgewidth": 1.5,
    }
