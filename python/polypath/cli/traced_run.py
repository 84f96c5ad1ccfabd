"""A program's trace: it runs with POLYPATH_TRACE, and the files of its processes become one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polypath.cli import handover
from polypath.cli.launches import launch_of
from polypath.cli.supervised_run import folder_beside, run_with_folder

Event = dict[str, Any]
TRACES = ".trace.json"  # how the names of the processes' traces end; their reports lie beside
_MICROSECONDS_PER_NANOSECOND = 1e-3


PREPARING = "while Polypath was preparing"  # an outcome's text: src/api/preload/outcome.h


def trace_program(
    command: Sequence[str], how: str, output: str | None
) -> tuple[int, dict[str, Any]] | None:
    """Run ``command``; return its status and the trace of its processes; nothing if it cannot be.

    The processes' files lie beside ``output`` meanwhile: all of its computers share that folder.
    """
    folder = folder_beside(output, "trace")
    around = {**handover.environment(), "POLYPATH_TRACE": f"{folder}/%h-%p{TRACES}"}
    around.setdefault("POLYPATH_STATS", folder)
    launch = launch_of(command, how, around, quiet=False)
    return run_with_folder(launch, around, folder, lambda _: traced_files(folder))


def traced_files(folder: str) -> dict[str, Any]:
    """Return the trace of a folder, and how many copies came before Polypath was prepared."""
    document = merged_files(folder)
    reports = (json.loads(file.read_text()) for file in Path(folder).glob("*.json")
               if not file.name.endswith(TRACES))  # fmt: skip
    outcomes = [outcome for report in reports for outcome in report["outcomes"]]
    early = sum(outcome["calls"] for outcome in outcomes if outcome["text"] == PREPARING)
    document["otherData"]["copies_while_preparing"] = early
    return document


def merged_files(folder: str) -> dict[str, Any]:
    """Return one trace of the files in a folder."""
    return merged(events_of(path) for path in sorted(Path(folder).glob(f"*{TRACES}")))


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
