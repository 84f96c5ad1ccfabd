"""One operation between all pairs of places: tables, heat maps and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bench_schemas
import jsonschema
import numpy as np
import pytest
from cli_runner import assert_refused, polypath, succeed
from matplotlib.cm import ScalarMappable
from polypath import reports
from polypath.cli.pair_matrix import matrices_of
from polypath.cli.plots import pairs
from polypath.cli.plots.style import new_figure

MIB = 1 << 20


def measured(*results: tuple[str, str, int, float]) -> dict[str, Any]:
    """Return a benchmark with `all_pairs` of (source, destination, bytes, speed-up)."""
    return {
        "machine": "one of a test", "driver": "sim", "operation": "put", "all_pairs": True,
        "results": [
            {"source": source, "destination": destination, "bytes": size, "window": 1,
             "bytes_per_second": 1e9 * speedup, "speedup": speedup}
            for source, destination, size, speedup in results
        ],
    }  # fmt: skip


def test_there_is_one_result_per_size_and_ordered_pair() -> None:
    bench = reports.bench("put", "all", "all", (MIB, 4 * MIB), machine="beluga", verify=False)

    jsonschema.validate(bench, bench_schemas.BENCH_ALL_PAIRS)
    found = [(r["bytes"], r["source"], r["destination"]) for r in bench["results"]]
    gpus = [f"gpu{k}" for k in range(4)]
    assert found == [(n, a, b) for n in (MIB, 4 * MIB) for a in gpus for b in gpus if a != b]


def test_a_pair_of_all_is_what_it_is_alone() -> None:
    every = reports.bench("h2d", "all", "all", [64 * MIB], machine="cedar")
    alone = reports.bench("h2d", "host1", "gpu0", [64 * MIB], machine="cedar")

    assert alone["results"][0] in every["results"]
    assert "all_pairs" not in alone


def test_the_table_has_a_row_for_each_source(tmp_path: Path) -> None:
    target = tmp_path / "all.json"

    run = succeed("bench", "put", "all", "--machine", "mist", "--sizes", "64M", "--json", target)

    rows = [line.split() for line in run.stdout.splitlines() if line.startswith("gpu0")]
    results = json.loads(target.read_text())["results"][:3]
    assert rows[0] == ["gpu0", "-", *(f"{r['bytes_per_second'] / 1e9:.3g}" for r in results)]
    assert rows[1] == ["gpu0", "-", *(f"{r['speedup']:.2f}x" for r in results)]
    assert max(len(line) for line in run.stdout.splitlines()) <= 80


def test_eight_gpus_have_room_in_80_columns() -> None:
    run = succeed("bench", "put", "all", "--machine", "dgx-a100", "--sizes", "1M", "--no-verify")

    rows = [line for line in run.stdout.splitlines() if line.startswith("gpu7")]
    assert [len(row.split()) for row in rows] == [9, 9]


def test_numbers_in_names_are_in_order() -> None:
    bench = measured(("gpu10", "gpu2", MIB, 1.0), ("gpu2", "gpu10", MIB, 1.0))

    matrix = matrices_of(bench)[0]

    assert matrix.sources == matrix.destinations == ["gpu2", "gpu10"]


@pytest.mark.parametrize("words", [
    ("put", "all", "gpu1"), ("put", "gpu1", "all"), ("many", "all"), ("mbw", "all"),
    ("pageable", "all"), ("allreduce", "all"), ("jacobi", "all"),
])  # fmt: skip
def test_what_has_no_pairs_is_refused(words: tuple[str, ...]) -> None:
    assert_refused(polypath("bench", *words, "--machine", "beluga", "--sizes", "1M"))


def test_a_heat_map_has_the_number_of_each_pair_and_none_elsewhere() -> None:
    bench = measured(("gpu0", "gpu1", MIB, 2.0), ("gpu1", "gpu0", MIB, 1.5))
    matrix = matrices_of(bench)[0]
    axes = new_figure(4, 4).subplots()

    pairs.draw_matrix(
        axes, matrix, np.array([[np.nan, 2.0], [1.5, np.nan]]), ScalarMappable(), str,
    )  # fmt: skip

    shown = {text.get_position(): text.get_text() for text in axes.texts}
    assert shown == {(1, 0): "2.0", (0, 1): "1.5"}  # column, row


def test_the_plot_of_all_pairs_is_written(tmp_path: Path) -> None:
    target = tmp_path / "all.svg"

    succeed("bench", "put", "all", "--machine", "mist", "--sizes", "1M,2M", "--plot", target)

    assert target.read_bytes().startswith(b"<?xml")
