"""One program run without Polypath and with it: how each run ended, and whether they are alike."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from itertools import zip_longest

CANNOT_RUN = 77  # exit status of a program that needs what is not here
TIMED_OUT = 124

ALLOWED_TO_DIFFER = re.compile(r"(?P<what>.*) ~(?P<tolerance>\d+): (?P<value>\d+)")


@dataclass
class Run:
    """How a program ended and what it wrote."""

    status: int  # negative: ended by a signal
    seconds: float
    output: str
    errors: str


def run(command: list[str], environment: dict[str, str], seconds: float) -> Run:
    """Run a program to its end, or kill it and what it started when it takes too long."""
    start = time.monotonic()
    process = started(command, environment)
    try:
        output, errors = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        status = TIMED_OUT
    return Run(status, time.monotonic() - start, output, errors)


def started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start a program in a session of its own, so that all of it can be killed."""
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def lines_of(output: str) -> list[str]:
    """Return what is compared: not the remarks for readers."""
    return [line for line in output.splitlines() if not line.startswith("#")]


def same_line(native: str, other: str) -> bool:
    """Say whether a line is as good as that of the native run.

    What is between the two is said in tests/api/preload/programs/harm.h.
    """
    if native == other or native.replace(": blocked", ": did not block") == other:
        return True
    before, after = ALLOWED_TO_DIFFER.fullmatch(native), ALLOWED_TO_DIFFER.fullmatch(other)
    if before is None or after is None or before["what"] != after["what"]:
        return False
    return int(after["value"]) + int(before["tolerance"]) >= int(before["value"])


def differences(native: Run, other: Run) -> list[str]:
    """Return in words what the run with Polypath did otherwise."""
    found = []
    if native.status != other.status:
        found.append(f"ends with {other.status}, natively with {native.status}")
    before, after = lines_of(native.output), lines_of(other.output)
    for first, second in zip_longest(before, after, fillvalue="(nothing)"):
        if not same_line(first, second):
            found.append(f"'{second}', natively '{first}'")
    return found


def verdict_of(native: Run, other: Run | None) -> str:
    """Return one word or two for a pair of runs."""
    if native.status == CANNOT_RUN:
        return "cannot run here"
    if native.status != 0 or other is None:
        return "native fails"
    if other.status == TIMED_OUT:
        return "hangs"
    return "differs" if differences(native, other) else "same"
