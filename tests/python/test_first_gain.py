"""The script that times a newcomer's first minutes: a new environment, a wheel, the demo."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from cli_runner import succeed

ROOT = Path(__file__).resolve().parents[2]
METADATA = "Metadata-Version: 2.1\nName: polypath\nVersion: 0.0.1\n"
SCRIPT = ROOT / "scripts" / "first_gain.py"

sys.path.insert(0, str(ROOT / "scripts"))
first_gain = importlib.import_module("first_gain")


def wheel(folder: Path, prints: str) -> Path:
    """Return a wheel whose command prints a text, HOME, and what it was called with."""
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    file = folder / f"polypath-0.0.1-{tag}-none-any.whl"
    info = "polypath-0.0.1.dist-info"
    code = (
        "import os, sys\n"
        f"def main():\n    print({prints!r})\n"
        "    assert sys.argv[1:] == ['demo', '--simulated']\n"
        "    assert 'POLYPATH_MACHINE' not in os.environ and os.environ['HOME'] in sys.prefix\n"
    )
    entry = "[console_scripts]\npolypath = stand_in_demo:main\n"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("stand_in_demo.py", code)
        archive.writestr(f"{info}/METADATA", METADATA)
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", entry)
        archive.writestr(f"{info}/RECORD", "")
    return file


def run(wheel: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SCRIPT), str(wheel), "--find-links", str(wheel.parent), *options]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_every_step_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPATH_MACHINE", "beluga")
    file = tmp_path / "times.json"

    ended = run(wheel(tmp_path, "64 MiB  1.81x  yes"), "--json", str(file))

    assert ended.returncode == 0, ended.stderr
    times = json.loads(file.read_text())["seconds"]
    assert list(times)[:2] == ["new environment", "pip install"]
    assert times["in all, until the first gain"] > times["pip install"] > 0
    assert "in all, until the first gain" in ended.stdout


def test_a_demo_without_a_gain_is_an_error(tmp_path: Path) -> None:
    demo = tmp_path / "polypath"
    demo.write_text("#!/bin/sh\necho 64 MiB 1.00x\n")
    demo.chmod(0o755)

    with pytest.raises(SystemExit, match="shows no gain"):
        first_gain.first_gain(demo, {}, tmp_path)


def test_what_a_step_says_is_shown_if_it_fails() -> None:
    with pytest.raises(SystemExit, match="no wheel"):
        first_gain.run(["sh", "-c", "echo no wheel; exit 1"], {"PATH": "/bin:/usr/bin"})


@pytest.mark.parametrize(
    ("text", "gains"),
    [("2.91x as fast", True), ("  1.81x ", True), ("1.10x", True), ("1.00x", False),
     ("0.97x", False), ("1.02x", False), ("matrix", False), ("12.5x", True)],
)  # fmt: skip
def test_a_gain_is_told_from_none(text: str, gains: bool) -> None:
    assert first_gain.shows_gain(f"{text} +0.0 %  yes  3") is gains
    assert not first_gain.shows_gain(f"{text} +0.0 %  no  3")


def test_a_benchmark_shows_a_gain() -> None:
    shown = succeed("bench", "put", "--machine", "beluga", "--sizes", "64M").stdout

    assert [line for line in shown.splitlines() if first_gain.shows_gain(line)]


def test_the_wheel_for_this_python_is_taken(tmp_path: Path) -> None:
    own = tmp_path / f"polypath-0.1-cp{sys.version_info[0]}{sys.version_info[1]}-any.whl"

    assert first_gain.fitting([tmp_path / "polypath-0.1-cp37-any.whl", own]) == own
    with pytest.raises(SystemExit, match="none of these wheels"):
        first_gain.fitting([tmp_path / "polypath-0.1-cp37-any.whl"])
