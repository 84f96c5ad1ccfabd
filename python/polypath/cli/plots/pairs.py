"""What was measured between all pairs of places: two heat maps for each size."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import CenteredNorm, Colormap, Normalize
from matplotlib.figure import Figure

from polypath.cli.output import Document
from polypath.cli.pair_matrix import PairMatrix, matrices_of
from polypath.cli.plots.style import FAINT, INK, colour_map, footer, new_figure, render
from polypath.cli.provenance import origin_text, scatter_text
from polypath.cli.units import lanes_text, significant, size_text

CELL = 0.5  # inches
LEAST_GAIN = 0.2  # that has the full colour: less than that of all pairs stays pale
DARK = 0.45  # luminance of a cell from which on its text is white


def draw(bench: Document, file_format: str) -> bytes:
    """Return the picture of a benchmark with `all_pairs`, schema polypath.bench/1, as a file."""
    matrices = matrices_of(bench)
    width = 2 * (CELL * len(matrices[0].destinations) + 2.2)
    height = CELL * len(matrices[0].sources) + 1.2
    figure = new_figure(max(width, 8.0), height * len(matrices) + 1.0)
    cells = figure.subplots(len(matrices), 2, squeeze=False)
    most = max(float(np.nanmax(_rates(matrix))) for matrix in matrices)
    around_one = CenteredNorm(1.0, max(LEAST_GAIN, *(_farthest(matrix) for matrix in matrices)))
    for (left, right), matrix in zip(cells, matrices):
        size = size_text(matrix.nbytes)
        draw_matrix(left, matrix, _rates(matrix), colour_map("viridis"), Normalize(0, most))
        left.set_title(f"{size}: bandwidth, GB/s", fontsize=10)
        draw_matrix(right, matrix, _gains(matrix), colour_map("PuOr"), around_one)
        right.set_title(f"{size}: speed-up over native", fontsize=10)
    figure.suptitle(f"{bench['machine']}: {lanes_text(bench)}", fontweight="bold")
    footer(
        figure,
        f"{origin_text(bench)} {scatter_text(bench)}\nRows are sources, columns destinations.",
    )
    return render(figure, file_format)


def draw_matrix(
    axes: Axes, matrix: PairMatrix, values: np.ndarray, colours: Colormap, scale: Normalize
) -> None:
    """Draw a cell in its colour for each pair, with its number; none where nothing was measured."""
    image = axes.imshow(values, cmap=colours, norm=scale)
    axes.set_facecolor(FAINT)
    axes.set_xticks(range(len(matrix.destinations)), matrix.destinations, fontsize=8)
    axes.set_yticks(range(len(matrix.sources)), matrix.sources, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            red, green, blue, _ = colours(scale(value))
            is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < DARK
            ink = "white" if is_dark else INK
            text = significant(value, 3)
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
    _figure_of(axes).colorbar(image, ax=axes, shrink=0.8)


def _figure_of(axes: Axes) -> Figure:
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def _rates(matrix: PairMatrix) -> np.ndarray:
    return _values(matrix, "bytes_per_second") / 1e9


def _gains(matrix: PairMatrix) -> np.ndarray:
    return _values(matrix, "speedup")


def _values(matrix: PairMatrix, key: str) -> np.ndarray:
    found = np.full((len(matrix.sources), len(matrix.destinations)), np.nan)
    for (source, destination), result in matrix.results.items():
        row, column = matrix.sources.index(source), matrix.destinations.index(destination)
        found[row, column] = result[key]
    return found


def _farthest(matrix: PairMatrix) -> float:
    """Return the largest distance of a speed-up from 1."""
    return float(np.nanmax(np.abs(_gains(matrix) - 1)))
