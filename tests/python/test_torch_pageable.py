"""scripts/torch_pageable.py but for its copies, which need a GPU and PyTorch."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import jsonschema
import pytest
from schema_parts import COUNT, RATE, TEXT, list_of, record

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
torch_pageable = importlib.import_module("torch_pageable")
one_gpu_figures = importlib.import_module("one_gpu_figures")

COPIES = list_of(record(start_seconds={"type": "number", "minimum": 0}, bytes_per_second=RATE))
PROGRAM = record(
    schema={"const": "polypath.program/1"},
    host={"type": "object", "required": ["simulated", "cores", "processor", "date"]},
    bytes=COUNT,
    what=TEXT,
    command=TEXT,
    native=COPIES,
    polypath=list_of(COPIES),
)
STORED = ROOT / "results" / "h200x1" / "pageable_program.json"
HOST = {
    "simulated": True,
    "cores": 1,
    "processor": "CPU of a test",
    "gpu": "NVIDIA X1 80GB",
    "date": "2026-01-02",
}


class Clock:
    """A clock that goes on as copies are made."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_copies_are_timed_until_two_seconds_are_over() -> None:
    clock = Clock()
    durations = iter([1.0, 0.75, 0.5, 9.0])

    def copy() -> None:
        clock.now += next(durations)

    copies = torch_pageable.timed_copies(copy, clock)

    # The third begins at 1 + 0.75 < 2 and ends beyond; no fourth one begins.
    size = 256 << 20
    assert copies == [
        {"start_seconds": 0.0, "bytes_per_second": size},
        {"start_seconds": 1.0, "bytes_per_second": size / 0.75},
        {"start_seconds": 1.75, "bytes_per_second": size / 0.5},
    ]


def test_the_first_twelve_copies_are_listed_and_then_every_tenth() -> None:
    copies = [{"start_seconds": float(number)} for number in range(40)]

    listed = [copy["start_seconds"] for copy in torch_pageable.listed(copies)]

    assert listed == [*range(12), 12, 22, 32]


def test_what_a_program_prints_is_read_behind_other_lines() -> None:
    text = json.dumps([{"start_seconds": 0.5, "bytes_per_second": 8e9}])

    copies = torch_pageable.copies_by(
        [sys.executable, "-c", f"print('hello'); print('{text}')"], planned=False
    )

    assert copies == [{"start_seconds": 0.5, "bytes_per_second": 8e9}]


def test_a_program_that_fails_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["torch_pageable.py", "--json", str(tmp_path / "out.json")])
    monkeypatch.setattr(torch_pageable, "__file__", str(tmp_path / "no_program.py"))

    with pytest.raises(RuntimeError, match="without Polypath exits with 2"):
        torch_pageable.main()

    assert not (tmp_path / "out.json").exists()


def test_a_file_has_the_fields_of_the_stored_one_and_the_readme_reads_both() -> None:
    native = [{"start_seconds": 0.0, "bytes_per_second": 9e9}]
    planned = [[{"start_seconds": 0.25, "bytes_per_second": 45e9}]]
    stored = json.loads(STORED.read_text(encoding="utf-8"))

    made = torch_pageable.document(HOST, native, planned)

    for each in (made, stored):
        jsonschema.Draft202012Validator(PROGRAM).validate(each)
    fixed = ("schema", "bytes", "what", "command")
    assert list(made) == list(stored)
    assert [made[name] for name in fixed] == [stored[name] for name in fixed]
    assert "X1 9.0 and 45 GB/s, the first fast copy 0.25 s" in one_gpu_figures.program_text(made)
