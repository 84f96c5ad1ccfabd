"""What a command loads before it does anything: its start is as fast as that is little."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from polypath.install import preload_library

START = "import sys; from polypath_command import main; sys.exit(main())"
LOADED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)

# Each takes longer than 5 ms to load, with what it loads itself.
PICTURES = {"matplotlib", "numpy", "PIL"}
LINES = {"typer", "click", "pydantic"}
TABLES = {"rich.console", "rich.table"}
BARS = {"rich.progress", "rich.markdown", "rich.traceback", "pygments", "markdown_it"}
PROCESSES = {"subprocess", "asyncio", "multiprocessing", "socket"}
ARRAYS = {"torch", "cupy", "polypath.tensors", "polypath.collectives"}
PYTHONS = {"re", "enum", "typing", "inspect", "dataclasses", "pathlib", "shutil", "contextlib"}
ALWAYS = PICTURES | LINES | BARS | ARRAYS


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a command loads; those of Python's own start are not of them."""
    return loaded([sys.executable, "-X", "importtime", "-c", START, *arguments]) - loaded(
        [sys.executable, "-X", "importtime", "-c", "pass"]
    )


def loaded(command: list[str]) -> set[str]:
    around = {**os.environ, "XDG_CACHE_HOME": "/nowhere"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    assert ended.returncode == 0, ended.stderr
    return set(LOADED.findall(ended.stderr))


@pytest.mark.parametrize(
    "line",
    [
        "machines",
        "info --machine h200x4",
        "info --settings",
        "plan gpu0 gpu1 64M --machine h200x4",
        "plan ring 64M --machine h200x4",
        "plan allreduce 64M --machine h200x4",
        "bench put --machine h200x4 --sizes 64K",
    ],
)
def test_a_table_takes_neither_typer_nor_pictures(line: str) -> None:
    modules = loaded_by(*line.split())

    assert "rich.table" in modules
    assert modules & (ALWAYS | PROCESSES) == set()


def test_the_version_takes_no_table() -> None:
    assert loaded_by("--version") & (ALWAYS | PROCESSES | TABLES) == set()


@pytest.mark.parametrize("line", ["--help", "plan --help"])
def test_help_takes_no_pictures(line: str) -> None:
    assert loaded_by(*line.split()) & (PICTURES | ARRAYS) == set()


def test_help_of_a_command_loads_that_command_only() -> None:
    modules = loaded_by("plan", "--help")

    commands = {name for name in modules if name.startswith("polypath.cli.commands.")}
    assert commands == {"polypath.cli.commands.plan"}


@pytest.mark.skipif(not preload_library().exists(), reason="built without the CUDA driver layer")
@pytest.mark.parametrize("options", [[], ["--quiet"], ["-q", "--"], ["--"]])
def test_a_program_is_become_at_once(options: list[str]) -> None:
    modules = loaded_by("run", *options, "true")

    assert modules & (ALWAYS | PROCESSES | TABLES | PYTHONS | {"polypath._core"}) == set()


def test_a_package_that_is_only_imported_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import polypath\n", encoding="utf-8")
    command = [sys.executable, "-X", "importtime", str(tmp_path / "program.py")]

    modules = loaded(command)

    assert {name for name in modules if name.startswith("polypath.")} == set()
