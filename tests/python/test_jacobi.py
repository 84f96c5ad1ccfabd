"""`polypath bench jacobi`: its values are NumPy's, its document is as promised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bench_schemas
import jsonschema
import numpy as np
import pytest
from cli_runner import succeed
from polypath import reports


def first_values(rows: int, width: int) -> Any:
    row, column = np.meshgrid(np.arange(rows), np.arange(width), indexing="ij")
    whole = (row * 131 + column * 71 + row * column % 13) % 1009
    return whole.astype(np.float32) / np.float32(1009)


# b = (((left + right) + above) + below) / 4 in float32; rows are a ring, the first and the last
# column stay.
def solved(grid: Any, iterations: int) -> Any:
    for _ in range(iterations):
        above, below = np.roll(grid, 1, axis=0), np.roll(grid, -1, axis=0)
        after = grid.copy()
        sides = grid[:, :-2] + grid[:, 2:]
        after[:, 1:-1] = np.float32(0.25) * ((sides + above[:, 1:-1]) + below[:, 1:-1])
        grid = after
    return grid


@pytest.mark.parametrize("machine", ["beluga", "narval", "h200x4"])
@pytest.mark.parametrize("rows", [1, 3, 8])
def test_every_value_is_that_of_a_serial_solver(machine: str, rows: int) -> None:
    width = 32

    report = reports.jacobi_bench(
        [4 * width],
        machine=machine,
        rows=rows,
        iterations=10,
        paths=["auto", "two", "three"],
        values=True,
    )

    expected = solved(first_values(4 * rows, width), 10).ravel()
    assert len(report["results"]) == 8
    for result in report["results"]:
        assert np.array_equal(np.array(result["values"], dtype=np.float32), expected)
        assert result["verified"]


def test_the_document_is_as_promised() -> None:
    bench = succeed("bench", "jacobi", "--machine", "beluga", "--sizes", "64K,1M", "--json", "-")

    document = bench.json()
    jsonschema.Draft202012Validator(bench_schemas.BENCH_JACOBI).validate(document)
    executors = [result["executor"] for result in document["results"]]
    assert executors == ["native", "stream", "graph", "program"] * 2
    assert document["memory_bytes_per_second"] == 900e9  # a V100's
    program = document["results"][3]
    assert {"predicted_seconds", "overlapped", "several_paths", "graph_nodes"} <= set(program)


def test_one_executor_over_the_papers_paths() -> None:
    words = ("--machine", "narval", "--gpus", "3", "--rows", "4", "--iterations", "6")
    run = succeed("bench", "jacobi", *words, "--executor", "graph", "--paths", "two,auto",
                  "--sizes", "1M", "--json", "-")  # fmt: skip

    results = run.json()["results"]
    assert [(r["executor"], r["paths"]) for r in results] == [("graph", "two"), ("graph", "auto")]
    assert [(r["gpus"], r["rows"], r["grid_bytes"]) for r in results] == [(3, 4, 12 << 20)] * 2
    assert all(result["verified"] for result in results)


def test_the_table_and_the_picture(tmp_path: Path) -> None:
    picture = tmp_path / "jacobi.svg"

    run = succeed("bench", "jacobi", "--machine", "beluga", "--sizes", "1M,4M", "--plot", picture)

    assert "against native" in run.stdout
    assert "The program of 4 MiB" in run.stdout
    assert "speed-up over native" in picture.read_text(encoding="utf-8")


# Halves of the bandwidth make kernels take twice as long, but for their launch.
def test_the_kernels_efficiency_is_that_of_the_memory() -> None:
    full, half = (
        reports.jacobi_bench([1 << 20], machine="beluga", executors=["native"],
                             kernel_efficiency=share, verify=False)["results"][0]
        for share in (1, 0.5)
    )  # fmt: skip

    launch = 3e-6
    assert half["kernel_seconds"] - launch == pytest.approx(2 * (full["kernel_seconds"] - launch))
    assert half["seconds"] > full["seconds"]
