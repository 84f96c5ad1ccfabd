"""What Python changes in its own process at its start, undone for a program that is started.

Python ignores SIGPIPE and SIGXFSZ, and gives a plain C locale an encoding; a program would inherit
both. What the process had before is what its program has to have.
"""

# `signal` would load enum, and pathlib takes as long as Python's start: polypath/preloading.py.
# ruff: noqa: PTH115, PTH119, PTH123
from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os

_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFZ", "SIGXFSZ")
_SHELLS = ("sh", "ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "yash", "zsh")
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")  # what Python sets LC_CTYPE to


def environment() -> dict[str, str]:
    """Return the environment that this process was started with."""
    around = dict(os.environ)
    if around.get("LC_CTYPE") in _COERCED:
        before = _variable_at_start(b"LC_CTYPE")
        if before is None:
            del around["LC_CTYPE"]
        else:
            around["LC_CTYPE"] = before
    return around


def signals_to_restore() -> list[int]:
    """Return the signals that the program has to have at their default.

    What was ignored before Python began, Python does not keep. A shell that ignores a signal passes
    that on, so it is asked; of other parents nothing is known, and programs expect the default.
    """
    ignored = _ignored_by_shell()
    numbers = [getattr(_signal, name) for name in _IGNORED_BY_PYTHON if hasattr(_signal, name)]
    return [number for number in numbers if not ignored >> (number - 1) & 1]


def restore_signals(numbers: list[int]) -> None:
    """Have signals at their default, for what this process is about to become."""
    for number in numbers:
        _signal.signal(number, _signal.SIG_DFL)


def become(command: list[str], around: dict[str, str]) -> OSError:
    """Go on as a program; return why that cannot be, with everything as it was."""
    numbers = signals_to_restore()
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        numbers.append(_signal.SIGINT)  # else one that comes before the program is there is lost
    before = [(number, _signal.getsignal(number)) for number in numbers]
    try:
        restore_signals(numbers)
        os.execvpe(command[0], command, around)
    except OSError as error:
        for number, handler in before:
            _signal.signal(number, handler)
        return error


def _ignored_by_shell() -> int:
    """Return the set of signals, bit by bit, that the shell ignores that has started this."""
    try:
        parent = f"/proc/{os.getppid()}"
        if os.path.basename(os.readlink(f"{parent}/exe")) not in _SHELLS:
            return 0
        with open(f"{parent}/status", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 16) for line in lines if line.startswith(b"SigIgn:")), 0)


def _variable_at_start(name: bytes) -> str | None:
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return None
    found = (entry for entry in entries if entry.startswith(name + b"="))
    return next((os.fsdecode(entry[len(name) + 1 :]) for entry in found), None)
