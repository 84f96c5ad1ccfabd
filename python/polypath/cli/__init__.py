"""The command `polypath`: how it starts and how it ends. The commands are in app.py."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from polypath.cli.statuses import INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default the one of this process; return the exit status."""
    _stand_in_for_closed_streams()
    _tolerate_narrow_encodings()
    try:
        # Here, not above: an interrupt while modules are loaded is one like any other.
        from polypath.cli.running import run_app

        return run_app(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _forget_lost_messages()


def _stand_in_for_closed_streams() -> None:
    """Open what was closed before the start: what is written to stdout fails, to stderr is lost."""
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.open(os.devnull, os.O_WRONLY), "w")  # noqa: PTH123, SIM115


def _forget_lost_messages() -> None:
    """Keep Python from ending with status 120 for messages that stderr does not take."""
    try:
        sys.stderr.flush()
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115


def _tolerate_narrow_encodings() -> None:
    """Let a terminal that cannot show a character show its code instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
