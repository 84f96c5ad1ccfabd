"""Where output goes: streams that are closed or full, narrow terminals, an early interrupt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import polypath
from polypath.cli import output

PROGRAM = f"{sys.executable} -m polypath.cli"


def shell(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
        timeout=60,
    )


@pytest.mark.parametrize("where", ["/dev/full", "&-"])
@pytest.mark.parametrize("arguments", ["machines", "info --machine beluga --json -", "--version"])
def test_output_that_nothing_takes_is_one_line_and_status_1(arguments: str, where: str):
    ended = shell(f"{PROGRAM} {arguments} >{where}")

    assert ended.returncode == 1
    assert "the output cannot be written" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("where", ["/dev/full", "&-"])
def test_messages_that_nothing_takes_change_nothing_else(where: str):
    plan = shell(f"{PROGRAM} plan gpu0 gpu1 1M 2>{where}")
    refused = shell(f"{PROGRAM} plan gpu0 gpu1 1Q 2>{where}")

    assert plan.returncode == 0
    assert "simulating" not in plan.stdout and "gpu0 -> gpu1" in plan.stdout
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize("columns", ["0", "1", "20"])
def test_narrow_terminals_get_whole_words(columns: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", columns)

    run = polypath("plan", "gpu0", "gpu1", "1M", "--machine", "h200x4")

    assert run.status == 0
    assert "gpu0 -> gpu1" in run.stdout
    assert all(len(line) <= output.LEAST_WIDTH for line in run.stdout.splitlines())


def test_a_file_that_fails_while_it_is_written_is_no_bad_request():
    run = polypath("machines", "--json", "/dev/full")

    assert run.status == 1
    assert run.stderr.count("\n") == 1 and "No space left" in run.stderr


def test_a_folder_that_takes_no_file_is_refused_before_the_work():
    """No right tells that /proc takes no files, not even the superuser's."""
    run = polypath("machines", "--json", "/proc/machines.json")

    assert run.status == 2
    assert run.stdout == "" and run.stderr.count("\n") == 1


def test_an_interrupt_while_the_package_is_loaded_ends_it_quietly(tmp_path: Path):
    (tmp_path / "polypath").mkdir()
    (tmp_path / "polypath" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    start = "import sys, polypath_command; sys.exit(polypath_command.main())"
    around = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))

    ended = shell(f"{sys.executable} -c '{start}'", PYTHONPATH=around)

    assert ended.returncode == 130
    assert ended.stderr == ""
