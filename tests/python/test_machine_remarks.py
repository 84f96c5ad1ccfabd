"""`polypath info --check`: what is odd about a machine file that can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest
from cli_runner import assert_refused, polypath, succeed
from polypath import reports
from polypath.cli.machine_remarks import remarks_on

Machine = dict[str, Any]


@pytest.fixture
def beluga() -> Machine:
    return reports.machine("beluga")


def written(machine: Machine, folder: Path) -> Path:
    file = folder / "mine.json"
    file.write_text(json.dumps(machine))
    return file


def set_latency(machine: Machine, unit: str) -> None:
    for hop in machine["hops"]:
        if hop["kind"] == "peer":
            hop["latency"] = {"value": 3.3, "unit": unit, "source": "expanded"}


def without_host(machine: Machine) -> None:
    machine["hops"] = [
        hop for hop in machine["hops"] if {"gpu2", "host0"} != {hop["from"], hop["to"]}
    ]


def with_gigabits(machine: Machine) -> None:
    machine["hops"][0]["bandwidth"]["value"] = 0.4e9


def with_slow_calls(machine: Machine) -> None:
    machine["costs"]["copy"]["value"] = 6e-3


def with_another_resource(machine: Machine) -> None:
    machine["resources"].append({**machine["resources"][0], "name": "spare.link"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda machine: set_latency(machine, "ms"), "latency of gpu[0-3] to gpu[0-3] is 3.300 ms"),
        (with_gigabits, "bandwidth of gpu0 to gpu1 is 0.400 GB/s"),
        (with_slow_calls, "cost copy is 6.000 ms"),
        (with_another_resource, "spare.link is not used"),
        (without_host, "gpu2 has no hop from or to a host"),
    ],
)
def test_what_is_odd_is_said(
    change: Callable[[Machine], None], words: str, beluga: Machine, tmp_path: Path
) -> None:
    change(beluga)
    file = written(beluga, tmp_path)

    run = polypath("info", "--check", file)

    assert run.status == 1 and run.stderr == ""
    assert words in run.stdout.splitlines()[0]
    assert run.stdout.startswith(f"{file}: ")


def test_a_sound_file_has_no_remarks(beluga: Machine, tmp_path: Path) -> None:
    set_latency(beluga, "us")

    run = succeed("info", "--check", written(beluga, tmp_path))

    assert run.stdout.endswith("mine.json: nothing is wrong or odd.\n")


def test_machines_that_come_along_have_no_remarks() -> None:
    for machine in reports.machines():
        assert remarks_on(reports.machine(machine["name"])) == []


@pytest.mark.parametrize("command", [("info",), ("plan", "gpu0", "gpu1", "64M")])
def test_a_file_that_is_used_has_its_first_remark_beside(
    command: tuple[str, ...], beluga: Machine, tmp_path: Path
) -> None:
    set_latency(beluga, "ms")
    sound = succeed(*command, "--machine", "beluga")
    file = written(beluga, tmp_path)

    one = succeed(*command, "--machine", file)
    with_another_resource(beluga)
    two = succeed(*command, "--machine", written(beluga, tmp_path))

    assert sound.stderr == ""
    assert one.stderr.count("\n") == 1 and "is 3.300 ms" in one.stderr
    assert two.stderr.count("\n") == 1 and f"info --check {file}" in two.stderr


def test_a_file_in_this_folder_needs_no_path(
    beluga: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(beluga, tmp_path).rename(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)

    assert succeed("info", "--check", "mine").status == 0


def test_what_cannot_be_read_or_belongs_to_others_is_refused(tmp_path: Path) -> None:
    assert_refused(polypath("info", "--check", tmp_path / "none.json"))
    assert_refused(polypath("info", "--check", "a.json", "--machine", "beluga"))


def test_the_network_of_a_machine_is_shown() -> None:
    shown = succeed("info", "--machine", "mist").stdout

    assert "Between nodes of this kind" in shown and "ib0.out" in shown
    assert "Between nodes" not in succeed("info", "--machine", "beluga").stdout
