"""What scripts/gpu_figures.py makes of results from GPUs, and that those stored are such."""

from __future__ import annotations

import copy
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from bench_schemas import BENCH

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
gpu_figures = importlib.import_module("gpu_figures")
figure_text = importlib.import_module("figure_text")

MIB = 1 << 20
HOST = {
    "simulated": False, "cores": 8, "processor": "CPU of a test", "gpus": 2, "gpu": "GPU of a test",
    "driver_version": "1.2.3", "date": "2026-01-02",
}  # fmt: skip


def result(size: int, speedup: float, predicted: float | None = 0.0011) -> dict[str, Any]:
    """Return a result of 1 ms whose native copy takes `speedup` ms."""
    direct, host = {"via": "direct", "share": 0.9}, {"via": "host0", "share": 0.1}
    return {
        "bytes": size, "seconds": 0.001, "predicted_seconds": predicted, "speedup": speedup,
        "bytes_per_second": size / 0.001, "native_bytes_per_second": size / 0.001 / speedup,
        "executor": "native" if speedup == 1 else "stream", "verified": True,
        "paths": [direct] if speedup == 1 else [direct, host],
    }  # fmt: skip


def bench(*results: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": "polypath.bench/1", "host": HOST, "native_call": "cuTestCopy",
        "command": "polypath bench put gpu0 gpu1", "results": list(results),
    }  # fmt: skip


def stored(folder: Path, **files: Any) -> Any:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return gpu_figures.Measurements(folder)


def test_without_files_both_documents_say_so(tmp_path: Path) -> None:
    measurements = stored(tmp_path / "not-there")

    assert gpu_figures.operations_block(measurements) == "No measurement is stored."
    assert gpu_figures.performance_block(measurements) == "No measurement is stored."


def test_summary_has_speed_up_and_bandwidth_of_the_sizes_there_are(tmp_path: Path) -> None:
    put = bench(result(16 * MIB, 1), result(256 * MIB, 1.25))

    block = gpu_figures.operations_block(stored(tmp_path, put=put, pageable_h2d=bench()))

    assert block.splitlines() == [
        "**Measured** on 2 \u00d7 GPU of a test, driver 1.2.3, CPU of a test, 8 hardware threads; "
        "2026-01-02:",
        "",
        "| operation | native call | 16 MiB | 64 MiB | 256 MiB | 1 GiB |",
        "| --- | --- | --- | --- | --- | --- |",
        "| `put` | cuTestCopy | 1.00, 16.8 GB/s | - | **1.25**, 268.4 GB/s | - |",
        "| `pageable_h2d` | cuTestCopy | - | - | - | - |",
    ]


def test_series_have_every_size_with_the_error_of_its_prediction(tmp_path: Path) -> None:
    put = bench(result(8, 1, 0.002), result(8 * MIB, 1.5), result(16 * MIB, 1.5, 0.0008))

    block = gpu_figures.performance_block(stored(tmp_path, put=put))

    assert "#### put" in block
    # 8 B does not count: (10 % + 20 %) / 2
    assert (
        "`polypath bench put gpu0 gpu1`, against cuTestCopy. "
        "Above 4 MiB predictions are off by 15.0 % on average." in block
    )
    row = "| 1000.0 | 1100.0 | +10.0 % | 5.6 | 8.4 | **1.50** | stream | direct 90 %, host0 10 % |"
    assert f"| 8 MiB {row}" in block
    assert "| 8 B | 1000.0 | 2000.0 | +100.0 % | 8e-06 | 8e-06 | 1.00 | native |" in block


def test_what_is_not_predicted_has_no_error(tmp_path: Path) -> None:
    pageable = bench(result(8 * MIB, 2, None))

    block = gpu_figures.performance_block(stored(tmp_path, pageable_d2h=pageable))

    assert "off by" not in block
    assert "| 8 MiB | 1000.0 | - | - |" in block


def test_measured_and_simulated_speed_ups_stand_side_by_side(tmp_path: Path) -> None:
    rows = [
        {"series": name, "bytes": size * MIB, "measured_speedup": 2.0, "simulated_speedup": other,
         "deviation": other / 2 - 1}
        for name, size, other in (("put", 1, 2.2), ("put", 2, 1.6), ("h2d", 2, 2.0))
    ]  # fmt: skip

    measurements = stored(tmp_path, simulated={"date": "2026-01-03", "results": rows})

    assert gpu_figures.performance_block(measurements).splitlines()[-5:] == [
        "| size | `put` | `h2d` |",
        "| --- | --- | --- |",
        "| 1 MiB | 2.00 / 2.20, +10.0 % | - |",
        "| 2 MiB | 2.00 / 1.60, -20.0 % | 2.00 / 2.00, +0.0 % |",
        "| mean deviation | 15.0 % | 0.0 % |",
    ]


def test_issue_costs_name_the_copies_that_a_call_enqueues(tmp_path: Path) -> None:
    answer = {
        "schema": "polypath.issue/1", "source": "gpu0", "destination": "gpu1", "host": HOST,
        "results": [
            {"bytes": MIB, "how": "driver", "seconds": 2e-6, "nodes": 1},
            {"bytes": MIB, "how": "graph, new addresses", "seconds": 21.26e-6, "nodes": 12},
        ],
    }  # fmt: skip

    block = gpu_figures.performance_block(stored(tmp_path, issue=[answer]))

    assert "gpu0 \u2192 gpu1:" in block
    assert block.endswith("| 1 MiB | 2.0 | - | - | - | - | 21.3 (12) |")


def test_a_result_that_is_not_verified_is_refused(tmp_path: Path) -> None:
    wrong = bench({**result(MIB, 2), "verified": False})

    with pytest.raises(SystemExit, match=r"put\.json holds a result that is not verified"):
        gpu_figures.operations_block(stored(tmp_path, put=wrong))


def test_small_errors_are_not_minus_zero() -> None:
    assert figure_text.percent(-0.0004) == "+0.0 %"


@pytest.mark.parametrize("name", gpu_figures.SERIES)
def test_stored_series_are_verified_measurements(name: str) -> None:
    document = gpu_figures.Measurements(ROOT / "results" / "h200x4").read(name)
    if document is None:
        pytest.skip("not measured")
    schema = copy.deepcopy(BENCH)
    row = schema["properties"]["results"]["items"]["properties"]
    row["predicted_seconds"] = {"anyOf": [row["predicted_seconds"], {"type": "null"}]}

    jsonschema.validate(document, schema)
    assert document["driver"] == "cuda" and not document["host"]["simulated"]
    assert all(entry["verified"] for entry in document["results"])
