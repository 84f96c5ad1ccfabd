"""The stand-in driver of the installed package: the command line runs on it as on real GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polypath

STANDIN = Path(polypath.__file__).parent / "standin"


def run_on_standin(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(STANDIN),
        "STANDIN_STRICT": "1",
        "XDG_CACHE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_DATA_HOME": str(home),
    }
    command = [sys.executable, "-m", "polypath.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_all_libraries_are_installed() -> None:
    names = ["libcuda.so.1", "libnccl.so.2", "libnvidia-ml.so.1"]

    assert sorted(path.name for path in STANDIN.iterdir()) == names


def test_its_gpus_are_found(tmp_path: Path) -> None:
    done = run_on_standin(tmp_path, "info", "--json", "-")

    assert done.returncode == 0, done.stderr
    assert "H200" in done.stdout
    assert "No GPU here" not in done.stdout + done.stderr


def test_copies_on_it_are_right(tmp_path: Path) -> None:
    done = run_on_standin(
        tmp_path, "bench", "put", "--sizes", "1M,16M", "--paths", "direct,host0", "--json", "-"
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["driver"] == "cuda"
    assert [result["verified"] for result in report["results"]] == [True, True]
    assert all(len(result["paths"]) == 2 for result in report["results"])
