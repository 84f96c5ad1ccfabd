"""Runs one command line, and makes an exit status of whatever comes of it."""

from __future__ import annotations

import gc
import os
import sys

from polypath.cli.command_line import remember
from polypath.cli.commands import NAMES, RUN_PROGRAMS, command_of
from polypath.cli.notices import notice
from polypath.cli.statuses import PIPE_CLOSED
from polypath.cli.version import show_version


def run_words(words: list[str]) -> int:
    """Run a command line; return the exit status."""
    try:
        status = _status_of(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
        return PIPE_CLOSED
    except Exception as error:
        from polypath.cli.errors import describe

        if isinstance(error, OSError) and error.filename is None:
            _discard_stdout()
        line, status = describe(error)
        notice(line)
    return status


def _status_of(words: list[str]) -> int:
    remember(words)
    try:
        if not _run_plainly(words):
            from polypath.cli.app import run_app

            _collect_garbage_from_here_on()
            return run_app(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _run_plainly(words: list[str]) -> bool:
    """Run a line that is read at sight; return whether it was one."""
    if words == ["--version"]:
        show_version()
        return True
    if not words or words[0] not in NAMES:
        return False
    from polypath.cli.plain_lines import plain_arguments

    command = command_of(words[0])
    arguments = plain_arguments(command, words[1:], words[0] in RUN_PROGRAMS)
    if arguments is None:
        return False
    _collect_garbage_from_here_on()
    command(**arguments)
    return True


def _collect_garbage_from_here_on() -> None:
    """End what polypath_command began: what is loaded by now is not looked at again, nor at exit.

    That would take a tenth of a short command's time.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _discard_stdout() -> None:
    """Keep the interpreter from complaining about what stdout does not take when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:  # of a stream that is no file
        return
