"""Programs with and without Polypath, in turn, and what the rounds come to."""

from __future__ import annotations

import datetime
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from measure_gpus import size_text

POLYPATH = [sys.executable, "-m", "polypath.cli"]
MOST_SECONDS = 240  # that one program may take

Json = dict[str, Any]
Key = tuple[str, "int | None"]  # what was timed, and its bytes
Timings = dict[Key, float]  # seconds


def started(command: list[str], planned: bool) -> list[str]:
    """Return a command as its user would type it, with Polypath or without."""
    return [*POLYPATH, "run", "--", *command] if planned else command


def output_of(command: list[str], planned: bool) -> str:
    """Return what a program prints; raise if it fails."""
    run = subprocess.run(
        started(command, planned), capture_output=True, text=True, timeout=MOST_SECONDS, check=False
    )
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} exits with {run.returncode}: {run.stderr[-1500:]}")
    return run.stdout


def in_turn(
    rounds: int, measure: Callable[[bool], Timings], keep: Callable[[list[Json]], None]
) -> None:
    """Measure without and with Polypath in turn, who is first changing from round to round.

    What is known is kept after each round, for runs that are cut short.
    """
    timings: dict[bool, list[Timings]] = {False: [], True: []}
    for index in range(rounds):
        for planned in (False, True) if index % 2 == 0 else (True, False):
            timings[planned].append(measure(planned))
        keep([row_of(key, timings) for key in timings[False][0]])


def row_of(key: Key, timings: dict[bool, list[Timings]]) -> Json:
    """Return one row of results: medians over the rounds, and every round."""
    without = [timing[key] for timing in timings[False]]
    beside = [timing[key] for timing in timings[True]]
    return {
        "operation": key[0],
        "bytes": key[1],
        "native_seconds": statistics.median(without),
        "seconds": statistics.median(beside),
        "speedup": statistics.median(without) / statistics.median(beside),
        "speedups": [a / b for a, b in zip(without, beside, strict=True)],
        "native_runs": without,
        "runs": beside,
        "added_seconds": statistics.median(b - a for a, b in zip(without, beside, strict=True)),
    }


def host() -> Json:
    """Return what the figures are measured on."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    gpu, driver = lines[0].split(", ")
    return {
        "simulated": False,
        "cores": os.cpu_count(),
        "gpus": len(lines),
        "gpu": gpu,
        "driver_version": driver,
        "date": datetime.date.today().isoformat(),
    }


def print_rows(results: list[Json]) -> None:
    """Print what the last round led to."""
    for row in results:
        size = "" if row["bytes"] is None else size_text(row["bytes"])
        low, high = min(row["speedups"]), max(row["speedups"])
        print(
            f"{row['operation']:18} {size:>8} {1e6 * row['native_seconds']:11.3f} us "
            f"{1e6 * row['seconds']:11.3f} us {row['speedup']:7.3f}x ({low:.3f} to {high:.3f})",
            flush=True,
        )


def document(program: str, command: str, results: list[Json]) -> Json:
    """Return a file of schema polypath.programs/1."""
    return {
        "schema": "polypath.programs/1",
        "host": host(),
        "program": program,
        "command": command,
        "results": results,
    }
