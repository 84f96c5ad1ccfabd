"""scripts/weight_judges.py: judges in turn, and those that cannot run or fail."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
weight_judges = importlib.import_module("weight_judges")

MIB = 1 << 20


def answering(*answers: Any) -> Any:
    """Return a stand-in of output_of: texts are printed, errors raised, one after another."""
    left = iter(answers)

    def output(*_: Any) -> str:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    return output


def said(seconds: float) -> str:
    return "noise\n" + json.dumps({"program": "p 1", "timings": [["load", MIB, seconds]]})


def test_a_row_has_both_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_judges, "output_of", answering(said(2.0), said(1.0)))
    judged = weight_judges.Judged("nixl")

    judged.round(0, ["judge"], 60)

    (row,) = judged.rows()
    assert (row["operation"], row["bytes"], row["speedup"]) == ("load", MIB, 2.0)


def test_a_judge_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = json.dumps({"missing": "ModuleNotFoundError: No module named 'lmcache'"})
    monkeypatch.setattr(weight_judges, "output_of", answering(reason))
    judged = weight_judges.Judged("lmcache")

    judged.round(0, ["judge"], 60)

    assert judged.rows() == [
        {"operation": "lmcache", "missing": "ModuleNotFoundError: No module named 'lmcache'"}
    ]


def test_a_judge_that_fails_keeps_its_earlier_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    late = RuntimeError("judge with Polypath was not done after 60 s")
    monkeypatch.setattr(weight_judges, "output_of", answering(said(2.0), said(1.0), late))
    judged = weight_judges.Judged("nixl")

    judged.round(0, ["judge"], 60)
    judged.round(1, ["judge"], 60)

    timed, failed = judged.rows()
    assert timed["native_runs"] == [2.0]
    assert failed == {"operation": "nixl", "failed": str(late)}


def test_noise_alone_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_judges, "output_of", answering("noise"))
    judged = weight_judges.Judged("nixl")

    judged.round(0, ["judge"], 60)

    assert judged.failed == "the last line is no JSON: noise"


def test_an_unknown_judge_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        weight_judges.read_arguments(["--only", "nixl,nothing"])

    assert "there is no judge 'nothing'" in capsys.readouterr().err


def test_a_judge_says_what_it_lacks(tmp_path: Path) -> None:
    command = [sys.executable, "weight_judges.py", "--judge", "lmcache", "--folder", str(tmp_path)]

    run = subprocess.run(command, cwd=SCRIPTS, capture_output=True, text=True, check=True)

    assert "missing" in json.loads(run.stdout.splitlines()[-1])
