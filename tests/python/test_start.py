"""What a command loads before it does anything: its start is as fast as that is little."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from polypath.install import preload_library

# At its end a command says what it has loaded, or where it becomes another program.
START = """
import sys
before = set(sys.modules)
def tell(event, _):
    if event == "os.exec":
        print("loaded", *sys.modules.keys() - before, file=sys.stderr, flush=True)
sys.addaudithook(tell)
from polypath_command import main
status = main()
tell("os.exec", ())
sys.exit(status)
"""

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
    ended = subprocess.run(
        [sys.executable, "-c", START, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": "/nowhere"},
    )
    assert ended.returncode == 0, ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line.startswith("loaded ")]
    return set(lines[-1].split()[1:])  # each folder of the PATH is tried in turn


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


def test_a_package_that_is_only_imported_loads_nothing() -> None:
    program = "import polypath, sys; print(*sys.modules)"

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    loaded = ended.stdout.decode().split()
    assert [name for name in loaded if name.startswith("polypath")] == ["polypath"]


def test_the_package_is_the_command_too() -> None:
    by_module, by_script = (
        subprocess.run(
            [*command, "info", "--settings"], check=False, capture_output=True, text=True
        )
        for command in ([sys.executable, "-m", "polypath"], [sys.executable, "-c", START])
    )

    assert by_module.returncode == by_script.returncode == 0
    assert by_module.stdout == by_script.stdout
