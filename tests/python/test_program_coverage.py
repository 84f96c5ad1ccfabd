"""scripts/program_coverage.py: what it makes of what processes have reported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from polypath.install import preload_library

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import program_coverage  # noqa: E402
import program_figures  # noqa: E402

MIB = 1 << 20


def outcome(text: str, accelerated: bool, large: int, missed: float) -> dict[str, Any]:
    """Return what became of some copies."""
    return {
        "text": text,
        "accelerated": accelerated,
        "large_bytes": large,
        "missed_seconds": missed,
    }


def test_the_reason_that_cost_most_comes_first() -> None:
    first = {"outcomes": [outcome("in use", False, 9 * MIB, 0.1), outcome("by", True, MIB, 0)]}
    second = {"outcomes": [outcome("preparing", False, 2 * MIB, 0.3)]}

    counted = program_coverage.counted([first, second])

    assert counted["processes"] == 2
    assert counted["large_bytes"] == 12 * MIB
    assert counted["accelerated_large_bytes"] == MIB
    assert [each["text"] for each in counted["left"]] == ["preparing", "in use"]


def test_a_program_without_copies_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "coverage.json"
    words = ["--library", str(preload_library()), "--output", str(output), "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", ["program_coverage.py", *words, "nothing=true"])

    status = program_coverage.main()

    assert status == 0
    (result,) = json.loads(output.read_text())["results"]
    assert result["large_bytes"] == 0
    assert len(result["runs"]) == len(result["native_runs"]) == 1


def test_a_program_that_fails_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "coverage.json"
    words = ["--library", str(preload_library()), "--output", str(output), "bad=false"]
    monkeypatch.setattr(sys, "argv", ["program_coverage.py", *words])

    status = program_coverage.main()

    assert status == 1
    assert json.loads(output.read_text())["results"] == []
    assert "bad" in capsys.readouterr().err


def test_the_table_has_a_row_for_each_program(tmp_path: Path) -> None:
    result = {
        "name": "a program",
        "runs": [1.0, 1.0],
        "native_seconds": 2.0,
        "seconds": 1.0,
        **program_coverage.counted(
            [{"outcomes": [outcome("by", True, 3 * MIB, 0), outcome("in use", False, MIB, 0.25)]}]
        ),
    }
    host = {"gpus": 2, "gpu": "G", "driver_version": "1", "date": "2026-01-01"}
    (tmp_path / "coverage.json").write_text(json.dumps({"host": host, "results": [result]}))

    block = program_figures.coverage_block(tmp_path)

    assert "| a program | 0.0 | 75% | 250.0 | in use | 2.00 | 1.00 |" in block
