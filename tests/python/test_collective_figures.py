"""What scripts/collective_figures.py makes of collectives that were measured beside rivals."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from bench_schemas import BENCH_COLLECTIVES

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
collective_figures = importlib.import_module("collective_figures")
figures = importlib.import_module("figures")
cases = importlib.import_module("rivals.cases")
documents = importlib.import_module("rivals.documents")

HOST = {
    "simulated": False, "cores": 8, "gpus": 2, "gpu": "GPU of a test", "driver_version": "1.2.3",
    "date": "2026-01-02",
}  # fmt: skip
STORED = ROOT / "results" / "h200x2" / "collectives.json"


def entry(name: str, mode: str, microseconds: float) -> dict[str, Any]:
    own = {"chosen": "oneshot", "executor": "stream", "predicted_seconds": 1e-6}
    return {
        "name": name, "version": "2", "mode": mode, "seconds": microseconds / 1e6,
        "host_seconds": 1e-6, "runs": [microseconds / 1e6], "bytes_per_second": 1.0,
        "bus_bytes_per_second": 1.0, "verified": True, **(own if name == "polypath" else {}),
    }  # fmt: skip


def document(*entries: dict[str, Any], size: int = 8192) -> dict[str, Any]:
    measured = {"entries": list(entries), "missing": []}
    return {
        "schema": "polypath.bench/1", "machine": "GPU of a test", "driver": "cuda",
        "operation": "collectives", "ranks": 2, "host": HOST, "command": "rivals --all",
        "results": documents.results_of(cases.Case("allreduce", size), 2, measured),
    }  # fmt: skip


def block(folder: Path, contents: Any) -> str:
    (folder / "collectives.json").write_text(json.dumps(contents), encoding="utf-8")
    return collective_figures.collectives_block(folder)


def test_without_a_file_it_says_so(tmp_path: Path) -> None:
    assert collective_figures.collectives_block(tmp_path) == "No measurement is stored."


# The strongest rival takes 12 us eagerly and 9 us as a graph: 12 / 8 = 1.5, 9 / 6 = 1.5; NCCL takes
# 40 and 9: 40 / 8 = 5, 9 / 6 = 1.5.
def test_a_row_has_both_modes_and_the_ratios(tmp_path: Path) -> None:
    text = block(tmp_path, document(
        entry("polypath", "eager", 8), entry("polypath", "graph", 6), entry("NCCL", "eager", 40),
        entry("NCCL", "graph", 9), entry("two-shot", "eager", 12),
    ))  # fmt: skip

    assert "`allreduce float32 sum` against NCCL 2, two-shot 2:" in text
    assert (
        "| 8 KiB | 8.0 / 6.0 | oneshot | 40.0 / 9.0 | 12.0 / - | 1.50 / 1.50 | 5.00 / 1.50 |"
        in text
    )
    assert "2 \u00d7 GPU of a test, driver 1.2.3; 2026-01-02." in text


def test_what_was_not_measured_is_left_open(tmp_path: Path) -> None:
    text = block(tmp_path, document(entry("polypath", "eager", 8)))

    assert "| 8 KiB | 8.0 / - | oneshot | - | - |" in text


def test_sizes_are_rows_in_their_order(tmp_path: Path) -> None:
    both = document(entry("polypath", "eager", 8), size=1 << 20)
    both["results"] += document(entry("polypath", "eager", 5), size=1 << 10)["results"]

    text = block(tmp_path, both)

    assert text.index("| 1 KiB |") < text.index("| 1 MiB |")


def test_what_is_not_verified_is_refused(tmp_path: Path) -> None:
    wrong = document(entry("polypath", "eager", 8))
    wrong["results"][0]["verified"] = False

    with pytest.raises(SystemExit, match="not verified"):
        block(tmp_path, wrong)


def test_results_are_of_the_schema(tmp_path: Path) -> None:
    made = document(entry("polypath", "eager", 8), entry("NCCL", "graph", 9))
    documents.write(tmp_path / "collectives.json", made)

    jsonschema.validate(json.loads((tmp_path / "collectives.json").read_text()), BENCH_COLLECTIVES)


@pytest.mark.skipif(not STORED.exists(), reason="nothing has been measured")
def test_stored_results_are_of_the_schema() -> None:
    jsonschema.validate(json.loads(STORED.read_text(encoding="utf-8")), BENCH_COLLECTIVES)


def test_the_document_has_what_is_stored() -> None:
    name = "docs/collectives_figures.md"
    text = (ROOT / name).read_text(encoding="utf-8")

    made = figures.with_block(text, figures.BLOCKS[name, "measured"](), "measured")

    assert made == text
