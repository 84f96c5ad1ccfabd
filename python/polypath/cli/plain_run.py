"""`polypath run [-q] [--] PROGRAM...` where it takes no judgement: become the program at once.

A program that starts often pays for each module that is loaded before it. All else is for the
command itself (commands/run.py): other options, launchers of MPI programs, mistakes.
"""

# Without pathlib, as polypath/preloading.py.
# ruff: noqa: PTH110, PTH112, PTH118
from __future__ import annotations

import os
import sys

from polypath import preloading, program_file
from polypath.cli import handover

_QUIET = ("-q", "--quiet")


def become(words: list[str]) -> int | None:
    """Go on as the program that follows `run`; return the status of one that cannot be run.

    Return nothing, with nothing done, where the command has to look closer.
    """
    quiet, command = _parts(words)
    library = _library()
    program = _plain_program(command[0]) if command else None
    if program is None or library is None:
        return None
    around = handover.environment()
    earlier = around.get(preloading.VARIABLE, "")
    around[preloading.VARIABLE] = preloading.put_before(library, earlier)
    around.pop(preloading.SAYS_SO, None)
    if not quiet:
        around[preloading.SAYS_SO] = preloading.BY_ITSELF
        _say(program_file.obstacle(program, around))
    return _refused(command[0], handover.become(command, around))


def _parts(words: list[str]) -> tuple[bool, list[str]]:
    """Return whether it is quiet, and the program with its words; none behind other options."""
    quiet = bool(words) and words[0] in _QUIET
    rest = words[1:] if quiet else words
    if not rest or rest[0] == "--":
        return quiet, rest[1:]
    return quiet, [] if rest[0].startswith("-") else rest


def _library() -> str | None:
    library = preloading.library()
    try:
        return preloading.as_listed(library) if os.path.exists(library) else None
    except OSError:
        return None


def _plain_program(name: str) -> str | None:
    """Return the file of a program that is started like most."""
    path = os.environ.get("PATH")
    folders = [""] if "/" in name else path.split(os.pathsep) if path else []
    for folder in folders:
        file = os.path.join(folder, name)
        if os.access(file, os.X_OK) and not os.path.isdir(file):
            other = preloading.is_launcher(file) or program_file.privilege(file)
            return None if other else file
    return None


def _say(line: str) -> None:
    if not line:
        return
    try:
        sys.stderr.write(f"polypath: {line}\n")
        sys.stderr.flush()
    except OSError:  # the program may do without
        return


def _refused(name: str, error: OSError) -> int:
    """Say that the system does not run what there is; return the status that shells have."""
    from polypath.cli.launches import say_not_run
    from polypath.launching import NOT_EXECUTABLE

    say_not_run(name, error)
    return NOT_EXECUTABLE
