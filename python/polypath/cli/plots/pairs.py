"""What was measured between all pairs of places: two heat maps for each size."""

from __future__ import annotations

from typing import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize

from polypath.cli.output import Document
from polypath.cli.pair_matrix import PairMatrix, matrices_of
from polypath.cli.plots.style import FAINT, INK, colour_map, footer, new_figure, render
from polypath.cli.provenance import origin_text, scatter_text
from polypath.cli.units import gigabytes, lanes_text, size_text

CELL = 0.5  # inches
LEAST_GAIN = 1.2  # that has the full colour: where all pairs gain less they stay pale
DARK = 0.55  # luminance of a cell from which on its text is white


def draw(bench: Document, file_format: str) -> bytes:
    """Return the picture of a benchmark with `all_pairs`, schema polypath.bench/1, as a file."""
    matrices = matrices_of(bench)
    width = 2 * (CELL * len(matrices[0].destinations) + 2.2)
    height = CELL * len(matrices[0].sources) + 1.2
    figure = new_figure(max(width, 8.0), height * len(matrices) + 1.0)
    cells = figure.subplots(len(matrices), 2, squeeze=False)
    most = max(float(np.nanmax(_rates(matrix))) for matrix in matrices)
    farthest = max(LEAST_GAIN, *(_farthest(matrix) for matrix in matrices))
    # By ratio, so that half as fast is as far from 1 as twice as fast.
    around_one = ScalarMappable(LogNorm(1 / farthest, farthest), colour_map("PuOr"))
    up_to_most = ScalarMappable(Normalize(0, most), colour_map("viridis"))
    for (left, right), matrix in zip(cells, matrices):
        size = size_text(matrix.nbytes)
        draw_matrix(left, matrix, _rates(matrix), up_to_most, lambda rate: gigabytes(rate * 1e9))
        figure.colorbar(up_to_most, ax=left, shrink=0.8)
        left.set_title(f"{size}: bandwidth, GB/s", fontsize=10)
        draw_matrix(right, matrix, _gains(matrix), around_one, lambda gain: f"{gain:.2f}")
        marks = [farthest**part for part in (-1, -0.5, 0, 0.5, 1)]
        bar = figure.colorbar(around_one, ax=right, shrink=0.8, ticks=marks, format="%.2f")
        bar.minorticks_off()
        right.set_title(f"{size}: speed-up over native", fontsize=10)
    figure.suptitle(f"{bench['machine']}: {lanes_text(bench)}", fontweight="bold")
    footer(
        figure,
        f"{origin_text(bench)} {scatter_text(bench)}\nRows are sources, columns destinations.",
    )
    return render(figure, file_format)


def draw_matrix(
    axes: Axes,
    matrix: PairMatrix,
    values: np.ndarray,
    colours: ScalarMappable,
    text: Callable[[float], str],
) -> None:
    """Draw a cell in its colour for each pair, with its number; none where nothing was measured."""
    cells = colours.to_rgba(values)
    axes.imshow(cells)
    axes.set_facecolor(FAINT)
    axes.set_xticks(range(len(matrix.destinations)), matrix.destinations, fontsize=8)
    axes.set_yticks(range(len(matrix.sources)), matrix.sources, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            red, green, blue, _ = cells[row, column]
            is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < DARK
            ink = "white" if is_dark else INK
            axes.text(column, row, text(value), ha="center", va="center", fontsize=8, color=ink)


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
    """Return the largest speed-up, or the inverse of the least if that is farther from 1."""
    return float(np.exp(np.nanmax(np.abs(np.log(_gains(matrix))))))
