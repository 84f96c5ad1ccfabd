"""`polypath run [-q] [--] PROGRAM...` where it takes no judgement: become the program at once.

A program that starts often pays for each module that is loaded before it. All else is for the
command itself (commands/run.py): other options, launchers of MPI programs, mistakes.
"""

# Without pathlib, as polypath/preloading.py.
# ruff: noqa: PTH110, PTH112, PTH116, PTH118
from __future__ import annotations

import os
import sys

from polypath import preloading
from polypath.cli import handover

_QUIET = ("-q", "--quiet")
_SET_ID = 0o6000  # set-user-id and set-group-id: the system ignores LD_PRELOAD


def become(words: list[str]) -> int | None:
    """Go on as the program that follows `run`; return the status of one that cannot be run.

    Return nothing, with nothing done, where the command has to look closer.
    """
    quiet, command = _parts(words)
    library = preloading.library()
    if not command or not _is_plain_program(command[0]) or not os.path.exists(library):
        return None
    around = handover.environment()
    earlier = around.get(preloading.VARIABLE, "")
    around[preloading.VARIABLE] = preloading.put_before(library, earlier)
    if not quiet:
        _say(f"polypath: by preload: {preloading.WHY}\n")
    return _refused(command[0], handover.become(command, around))


def _parts(words: list[str]) -> tuple[bool, list[str]]:
    """Return whether it is quiet, and the program with its words; none behind other options."""
    quiet = bool(words) and words[0] in _QUIET
    rest = words[1:] if quiet else words
    if not rest or rest[0] == "--":
        return quiet, rest[1:]
    return quiet, [] if rest[0].startswith("-") else rest


def _is_plain_program(name: str) -> bool:
    """Return whether there is such a program, and it is started like most."""
    path = os.environ.get("PATH")
    folders = [""] if "/" in name else path.split(os.pathsep) if path else []
    for folder in folders:
        file = os.path.join(folder, name)
        if os.access(file, os.X_OK) and not os.path.isdir(file):
            return not preloading.is_launcher(file) and not os.stat(file).st_mode & _SET_ID
    return False


def _say(line: str) -> None:
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except OSError:  # the program may do without
        return


def _refused(name: str, error: OSError) -> int:
    """Say that the system does not run what there is; return the status that shells have."""
    from polypath.cli.launches import say_not_run
    from polypath.launching import NOT_EXECUTABLE

    say_not_run(name, error)
    return NOT_EXECUTABLE
