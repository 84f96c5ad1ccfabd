"""Runs the command `polypath` inside the test's process, which saves its start."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from typing import Any

from polypath.cli import main


@dataclass(frozen=True)
class Run:
    """What one command came to."""

    status: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        return json.loads(self.stdout)


def polypath(*arguments: object) -> Run:
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        status = main([str(argument) for argument in arguments])
    return Run(status, stdout.getvalue(), stderr.getvalue())


def succeed(*arguments: object) -> Run:
    run = polypath(*arguments)
    assert run.status == 0, run.stderr
    return run


def assert_refused(run: Run) -> None:
    """The promise for every bad request: status 2, one line on stderr, nothing on stdout."""
    assert run.status == 2, run
    assert run.stdout == ""
    assert run.stderr.startswith("polypath: ")
    assert run.stderr.count("\n") == 1 and run.stderr.endswith("\n")
    assert "Traceback" not in run.stderr
