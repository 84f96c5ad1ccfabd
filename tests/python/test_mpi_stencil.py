"""The MPI program's serial solver: any part of the grid by itself is what NumPy makes of all."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import numpy.typing as npt
import pytest
from polypath import install

Values = npt.NDArray[np.float32]

LEAST, MOST = 4, 20  # steps
MOST_ELEMENTS = 2**26


class Grid(ctypes.Structure):
    _fields_ = [("width", ctypes.c_size_t), ("rows", ctypes.c_size_t)]


class Part(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("row", "rows", "column", "columns")]


@pytest.fixture(scope="module")
def stencil(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("stencil") / "libstencil.so"
    source = install.mpi_source_dir() / "stencil.c"
    subprocess.run(["cc", "-std=c11", "-O3", "-shared", "-fPIC", source, "-o", path], check=True)
    library = ctypes.CDLL(str(path))
    size, floats = ctypes.c_size_t, ctypes.POINTER(ctypes.c_float)
    library.scratch_floats.argtypes = [Part, size]
    library.scratch_floats.restype = size
    library.affordable_steps.argtypes = [size, size]
    library.affordable_steps.restype = size
    library.solve_part.argtypes = [Grid, Part, size, floats, ctypes.POINTER(size)]
    library.solve_part.restype = floats
    return library


def solved_by_numpy(width: int, rows: int, steps: int) -> Values:
    """Return the whole grid: the equations of docs/jacobi.md, array by array."""
    row, column = np.meshgrid(np.arange(rows), np.arange(width), indexing="ij")
    numbers = (row * 131 + column * 71 + row * column % 13) % 1009
    values = numbers.astype(np.float32) / np.float32(1009)
    for _ in range(steps):
        above, below = np.roll(values, 1, axis=0), np.roll(values, -1, axis=0)
        means = ((values[:, :-2] + values[:, 2:]) + above[:, 1:-1]) + below[:, 1:-1]
        values = values.copy()
        values[:, 1:-1] = np.float32(0.25) * means
    return values


def solved_part(stencil: ctypes.CDLL, grid: Grid, part: Part, steps: int) -> Values:
    scratch = np.full(stencil.scratch_floats(part, steps) + 1, np.nan, np.float32)
    stride = ctypes.c_size_t()
    address = scratch.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    first = stencil.solve_part(grid, part, steps, address, ctypes.byref(stride))
    assert np.isnan(scratch[-1])  # it writes no more than it says
    offset = (ctypes.addressof(first.contents) - scratch.ctypes.data) // 4
    rows = [scratch[offset + i * stride.value :][: part.columns] for i in range(part.rows)]
    return np.array(rows)


@pytest.mark.parametrize(
    ("width", "rows", "steps"),
    [
        (2**16, 8, 20),  # 2^16 * 28 * 20 = 3.7e7, at most 2^26 = 6.7e7
        (2**18, 8, 12),  # 2^18 * 20 * 12 = 6.3e7; 21 * 13 would be 7.2e7
        (2**19, 8, 8),  # 2^19 * 16 * 8 = 2^26; 17 * 9 would be 8.0e7
        (2**20, 8, 4),  # 2^20 * 12 * 4 = 5.0e7; 13 * 5 would be 6.8e7
        (2**28, 8, 4),  # at least
    ],
)
def test_large_grids_are_compared_after_fewer_steps(
    stencil: ctypes.CDLL, width: int, rows: int, steps: int
) -> None:
    assert stencil.affordable_steps(width, rows) == steps


@pytest.mark.parametrize("rows", [1, 8, 100, 1024])
@pytest.mark.parametrize("width", [2**power for power in range(2, 30)])
def test_as_many_steps_are_compared_as_the_bound_allows(
    stencil: ctypes.CDLL, width: int, rows: int
) -> None:
    def elements(steps: int) -> int:
        return width * (rows + steps) * steps

    steps = stencil.affordable_steps(width, rows)

    assert steps == LEAST or elements(steps) <= MOST_ELEMENTS
    assert steps == MOST or elements(steps + 1) > MOST_ELEMENTS
    assert LEAST <= steps <= MOST


PARTS = [
    # width, rows of the ring, the part, steps
    (16, 6, Part(0, 6, 0, 16), 5),
    (16, 6, Part(4, 2, 0, 16), 1),
    (64, 16, Part(8, 8, 0, 64), 20),
    (64, 16, Part(3, 2, 24, 8), 7),  # no edge of the grid near it
    (64, 16, Part(0, 4, 0, 8), 20),
    (64, 16, Part(12, 4, 56, 8), 20),
    (64, 16, Part(15, 3, 4, 8), 20),  # over the ring's end; columns fewer than steps before it
    (4, 2, Part(1, 1, 0, 4), 20),  # the ring goes round many times
    (32, 5, Part(2, 3, 8, 16), 0),
    (4000, 2000, Part(1990, 9, 1000, 2999), 0),  # the first values' longest period is 1009 * 13
]


@pytest.mark.parametrize(("width", "rows", "part", "steps"), PARTS)
def test_a_part_is_what_it_is_in_the_whole(
    stencil: ctypes.CDLL, width: int, rows: int, part: Part, steps: int
) -> None:
    whole = solved_by_numpy(width, rows, steps)

    values = solved_part(stencil, Grid(width, rows), part, steps)

    ring = [(part.row + i) % rows for i in range(part.rows)]
    expected = whole[ring, part.column : part.column + part.columns]
    assert values.tobytes() == expected.tobytes()
