"""`polypath demo`: on GPUs where there are any, else on simulated machines.

A simulated machine stands for the computer's GPUs: the library is told to choose it, and answers
as it does on real ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_runner import polypath, succeed
from polypath import _core, reports
from polypath.cli.commands import demo_machines

ADVICE = "This computer has not been calibrated: run 'polypath calibrate' once."
TITLES = ("put gpu0 -> gpu1", "h2d host -> gpu0", "d2h gpu0 -> host")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def stand_for_gpus(monkeypatch: pytest.MonkeyPatch, machine: object, note: str = "") -> None:
    monkeypatch.setenv("POLYPATH_MACHINE", str(machine))
    monkeypatch.setattr(_core, "chosen", lambda: (True, note))


def without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "chosen", lambda: (False, "No GPU here: h200x4 is simulated."))


def machine_of_one_gpu(folder: Path) -> Path:
    """Write h200x4 with all that is left if three of its GPUs are taken out."""
    machine = reports.machine("h200x4")
    gone = ("gpu1", "gpu2", "gpu3")
    machine["places"] = [place for place in machine["places"] if place["name"] not in gone]
    machine["resources"] = [r for r in machine["resources"] if not r["name"].startswith(gone)]
    machine["hops"] = [h for h in machine["hops"] if h["from"] not in gone and h["to"] not in gone]
    file = folder / "one.json"
    file.write_text(json.dumps(machine))
    return file


def blocks(output: str) -> dict[str, str]:
    """Return what stands below the title of each operation."""
    found = {title: output.partition(title)[2] for title in TITLES if title in output}
    return {title: text.partition("Shares at")[0] for title, text in found.items()}


def test_on_gpus_it_measures_every_operation_beside_native_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_for_gpus(monkeypatch, "h200x4")

    run = succeed("demo")

    assert "This computer: h200x4, 4 GPUs" in run.stdout
    tables = blocks(run.stdout)
    assert tuple(tables) == TITLES
    for text in tables.values():
        assert [size in text for size in ("4 MiB", "16 MiB", "64 MiB", "256 MiB")] == [True] * 4
        assert "native" in text and " no " not in text
    assert "12 transfers, 1020 MiB: every byte verified." in run.stdout
    assert "polypath plan gpu0 gpu1" in run.stdout


def test_its_figures_are_those_of_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_for_gpus(monkeypatch, "h200x4")

    table = blocks(succeed("demo").stdout)["h2d host -> gpu0"]

    shown = next(line for line in table.splitlines() if line.startswith("256 MiB"))
    bench = succeed("bench", "h2d", "--machine", "h200x4", "--sizes", "256M").stdout
    assert shown.split() == next(x for x in bench.splitlines() if x.startswith("256 MiB")).split()


def test_one_gpu_is_measured_with_the_host_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_for_gpus(monkeypatch, machine_of_one_gpu(tmp_path))

    run = succeed("demo")

    assert "h200x4, 1 GPU\n" in run.stdout
    assert tuple(blocks(run.stdout)) == TITLES[1:]
    assert "gpu1" not in run.stdout
    assert "8 transfers" in run.stdout and "polypath plan host gpu0" in run.stdout


def test_a_computer_that_is_not_calibrated_gets_one_line_of_advice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_for_gpus(monkeypatch, "pcie4", ADVICE)

    lines = succeed("demo").stdout.splitlines()

    assert lines.count(ADVICE) == 1
    assert "  polypath calibrate" in [line.rstrip() for line in lines]


def test_a_calibrated_computer_names_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    file = succeed("calibrate", "--machine", "pcie4", "--json", "-").json()["file"]
    stand_for_gpus(monkeypatch, "pcie4")

    run = succeed("demo")

    assert f"Calibrated; the numbers are from {file}" in run.stdout
    assert "polypath calibrate" not in run.stdout


def test_wrong_bytes_end_it_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_for_gpus(monkeypatch, "h200x4")
    right = reports.bench

    def wrong_at_64_mib(*ends: Any, **options: Any) -> dict[str, Any]:
        bench = right(*ends, **options)
        for result in bench["results"]:
            result["verified"] = result["bytes"] != 64 << 20
        return bench

    monkeypatch.setattr(reports, "bench", wrong_at_64_mib)

    run = polypath("demo")

    assert run.status == 1
    assert "wrong bytes at 64 MiB" in run.stderr
    assert "every byte verified" not in run.stdout


def test_without_gpus_it_plays_simulated_machines_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_gpus(monkeypatch)

    run = succeed("demo")

    assert run.stdout.startswith("There is no GPU to drive here. Each transfer runs on a simulated")
    for word in ("beluga", "narval", "mist", "h200x4", "every byte verified", "Try next"):
        assert word in run.stdout


def test_simulated_machines_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_for_gpus(monkeypatch, "h200x4")
    monkeypatch.setattr(demo_machines, "SIZES", [1 << 20])

    run = succeed("demo", "--simulated")

    assert run.stdout.startswith("Each transfer runs on a simulated machine")
    assert "This computer" not in run.stdout


def test_on_gpus_it_fits_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        stand_for_gpus(monkeypatch, "h200x4")

        output = succeed("demo").stdout

        assert max(map(len, output.splitlines())) <= int(columns)
        assert "…" not in output
