"""A program's trace: it runs with POLYPATH_TRACE, and the files of its processes become one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polypath.cli.launches import launch_of, say_not_run
from polypath.launching import NOT_EXECUTABLE, Launch

Event = dict[str, Any]
ENDED_BY_SIGNAL = 128  # as shells have it
_MICROSECONDS_PER_NANOSECOND = 1e-3


def trace_program(
    command: Sequence[str], how: str, folder: Path
) -> tuple[int, dict[str, Any] | None]:
    """Run ``command`` and return its exit status and the trace of all its processes.

    There is no trace of what cannot be run; the status is the one that shells have for it.

    ``folder`` is where their files lie meanwhile: one that all of its computers share.
    """
    parts = Path(tempfile.mkdtemp(prefix=".polypath-trace-", dir=folder.resolve()))
    try:
        launch = launch_of(command, how, _traced(parts), quiet=False)
        status = _run(launch, _traced(parts))
        if status is None:
            return NOT_EXECUTABLE, None
        return status, merged(events_of(path) for path in sorted(parts.glob("*.json")))
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def _traced(parts: Path) -> dict[str, str]:
    return {**os.environ, "POLYPATH_TRACE": str(parts / "%h-%p.json")}


def _run(launch: Launch, around: dict[str, str]) -> int | None:
    """Run to the end and return the exit status as shells have it; none if it cannot be run."""
    try:
        status = _wait_for(launch.arguments, {**around, **launch.environment})
    except OSError as error:
        say_not_run(launch.arguments[0], error)
        return None
    return status if status >= 0 else ENDED_BY_SIGNAL - status


def _wait_for(arguments: Sequence[str], environment: dict[str, str]) -> int:
    """Run to the end. An interrupt reaches the program as well, which says what becomes of it."""
    with subprocess.Popen(arguments, env=environment) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def events_of(path: Path) -> list[Event]:
    """Return the events of one process's file, also of one that a crash has left unfinished."""
    text = path.read_text(errors="replace")
    try:
        return list(json.loads(text))
    except json.JSONDecodeError:
        return [event for line in text.splitlines() if (event := _event_of(line)) is not None]


def _event_of(line: str) -> Event | None:
    try:
        event = json.loads(line.rstrip().rstrip(","))
    except json.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None


def merged(processes: Iterable[list[Event]]) -> dict[str, Any]:
    """Return one trace of several processes' events, by one clock that begins with the first."""
    all_events = [event for events in processes for event in _by_system_clock(events)]
    times = [event["ts"] for event in all_events if "ts" in event]
    first = min(times, default=0)
    for event in all_events:
        if "ts" in event:
            event["ts"] = (event["ts"] - first) * _MICROSECONDS_PER_NANOSECOND
    return {
        "traceEvents": all_events,
        "displayTimeUnit": "ms",
        "otherData": {"simulated": False, "left_out": _left_out(all_events)},
    }


def _by_system_clock(events: list[Event]) -> list[Event]:
    """Return the events with times in whole nanoseconds since 1970, which lose nothing in sums."""
    origin = next(
        (e["args"]["unix_nanoseconds"] for e in events if e["name"] == "polypath_origin"), 0
    )
    return [
        {**event, "ts": origin + round(event["ts"] / _MICROSECONDS_PER_NANOSECOND)}
        if "ts" in event
        else event
        for event in events
    ]


def _left_out(events: Iterable[Event]) -> int:
    return sum(e["args"]["left_out"] for e in events if e["name"] == "polypath_summary")
