"""Runs one command line, and makes an exit status of whatever comes of it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

import typer

from polypath.cli.app import app
from polypath.cli.errors import describe
from polypath.cli.output import notice
from polypath.cli.statuses import INTERRUPTED, RUN_ERROR


def run_app(arguments: Sequence[str] | None) -> int:
    """Run the command line, by default the one of this process; return the exit status."""
    try:
        status = app(arguments, prog_name="polypath", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return RUN_ERROR
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            _discard_stdout()
        line, status = describe(error)
        notice(line)
    return status if isinstance(status, int) else 0


def _discard_stdout() -> None:
    """Keep the interpreter from complaining about what stdout does not take when it ends."""
    with contextlib.suppress(OSError):  # of a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
