"""Files and settings whose names are not UTF-8: an answer, or one line on what is wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ODD = b"caf\xe9"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / os.fsdecode(ODD)
    try:
        made.mkdir()
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    shutil.copy(ROOT / "machines" / "beluga.json", made / "machine.json")
    return made


def cli(line: str, **around: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "polypath.cli", *line.split()]
    environment = {**os.environ, **{name: str(value) for name, value in around.items()}}
    return subprocess.run(command, capture_output=True, check=False, env=environment)


def test_settings_are_shown(folder: Path) -> None:
    listed = cli("info --settings", POLYPATH_TUNED=folder / "tuned.json")

    assert listed.returncode == 0, listed.stderr
    written = json.loads(cli("info --settings --json -", POLYPATH_TUNED=folder).stdout)
    (value,) = (
        each["value"] for each in written["settings"] if each["variable"] == "POLYPATH_TUNED"
    )
    assert value.endswith("caf\N{REPLACEMENT CHARACTER}")


def test_a_calibration_may_lie_anywhere(folder: Path) -> None:
    run = cli("calibrate --machine beluga --json -", XDG_CACHE_HOME=folder)

    assert run.returncode == 0, run.stderr
    again = cli("info --machine beluga", XDG_CACHE_HOME=folder)
    assert again.returncode == 0 and "caf\N{REPLACEMENT CHARACTER}" in again.stdout.decode()


def test_a_machine_is_refused_however_it_is_named(folder: Path) -> None:
    by_option = cli(f"info --machine {folder / 'machine.json'}")
    by_setting = cli("info", POLYPATH_MACHINE=folder / "machine.json")

    for run in (by_option, by_setting):
        assert run.returncode == 2 and run.stderr.count(b"\n") == 1
        assert b"its name has bytes that are not UTF-8" in run.stderr


def test_a_program_may_use_such_a_machine(folder: Path) -> None:
    program = "import polypath; print(polypath.Context().allocate('gpu3', 8).place)"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env={**os.environ, "POLYPATH_MACHINE": str(folder / "machine.json")},
    )  # fmt: skip

    assert (ended.stdout, ended.stderr) == ("gpu3\n", "")


@pytest.mark.parametrize(
    "setting",
    ["POLYPATH_MACHINE", "POLYPATH_TUNED", "POLYPATH_PATHS", "POLYPATH_LOG", "POLYPATH_MIN_GAIN"],
)
def test_a_setting_that_cannot_be_used_is_named_in_one_line(setting: str, folder: Path) -> None:
    run = cli("plan gpu0 gpu1 64M", **{setting: folder / "no.json"})

    assert run.returncode in (1, 2), run.stdout
    assert run.stdout == b"" and run.stderr.count(b"\n") == 1
    assert run.stderr.startswith(b"polypath: ")
    assert b"caf\\udce9" in run.stderr


def test_python_gets_the_name_back(folder: Path) -> None:
    program = (
        "import os, polypath\n"
        "try: polypath.Context()\n"
        "except polypath.Error as error: print(os.fsencode(str(error)).hex())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "POLYPATH_MACHINE": str(folder / "no.json")},
    )  # fmt: skip

    assert ODD in bytes.fromhex(ended.stdout)


def test_all_documents_are_written_by_the_one_function_that_takes_any_bytes() -> None:
    writer = ROOT / "src/core/json_text.json.cc"
    others = [
        str(file)
        for file in (ROOT / "src").rglob("*.cc")
        if file != writer
        and "standin" not in file.parts
        and re.search(r"\.dump\(", file.read_text())
    ]
    assert others == []
