"""Programs with and without Polypath, in turn, and what the rounds come to."""

from __future__ import annotations

import datetime
import os
import statistics
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

POLYPATH = [sys.executable, "-m", "polypath.cli"]
MOST_SECONDS = 240  # that one program may take

Json = dict[str, Any]
Key = tuple[str, "int | None"]  # what was timed, and its bytes
Timings = dict[Key, float]  # seconds


def started(command: list[str], planned: bool) -> list[str]:
    """Return a command as its user would type it, with Polypath or without."""
    return [*POLYPATH, "run", "--", *command] if planned else command


def output_of(
    command: list[str], planned: bool, seconds: float = MOST_SECONDS, /, **more: str
) -> str:
    """Return what a program prints, with more variables in its environment; raise if it fails."""
    said = f"{' '.join(command)} {'with' if planned else 'without'} Polypath"
    try:
        run = subprocess.run(
            started(command, planned),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env={**os.environ, **more},
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{said} was not done after {seconds:.0f} s") from None
    if run.returncode != 0:
        raise RuntimeError(f"{said} exits with {run.returncode}: {run.stderr[-1500:]}")
    return run.stdout


def order_of(index: int) -> tuple[bool, bool]:
    """Return which kind goes first in a round, which alternates: with Polypath or without."""
    return (False, True) if index % 2 == 0 else (True, False)


class Part(ABC):
    """One thing that is measured, round by round."""

    file: str | None = None  # that several parts are written into; else each has its own

    def __init__(self, name: str) -> None:
        self.name = name
        self.rounds = 0  # that are complete

    def round(self) -> None:
        """Measure with and without Polypath, one right after the other; raise if one fails."""
        self.measure(self.rounds)
        self.rounds += 1

    @abstractmethod
    def measure(self, index: int) -> None:
        """Measure both kinds, in the order of that round, and keep what was measured."""

    @abstractmethod
    def rows(self) -> list[Json]:
        """Return operation, window (or None), bytes, seconds of both kinds and ratios."""

    @abstractmethod
    def document(self) -> Json:
        """Return everything that was measured."""


class TimedPart(Part):
    """Programs that say how long what they do takes."""

    def __init__(
        self, name: str, program: str, command: str, timings: Callable[[bool], Timings]
    ) -> None:
        super().__init__(name)
        self._program, self._command, self._timings_of = program, command, timings
        self._timings: dict[bool, list[Timings]] = {False: [], True: []}

    def measure(self, index: int) -> None:
        """Run both kinds once."""
        measured = {planned: self._timings_of(planned) for planned in order_of(index)}
        for planned, timings in measured.items():
            self._timings[planned].append(timings)

    def rows(self) -> list[Json]:
        """Return a row for each thing that is timed."""
        first = self._timings[False][:1]
        return [row_of(key, self._timings) for timings in first for key in timings]

    def document(self) -> Json:
        """Return a file of schema polypath.programs/1."""
        return {
            "schema": "polypath.programs/1",
            "host": host(),
            "program": self._program,
            "command": self._command,
            "results": [
                {name: value for name, value in row.items() if name != "window"}
                for row in self.rows()
            ],
        }


def row_of(key: Key, timings: dict[bool, list[Timings]]) -> Json:
    """Return one row of results: medians over the rounds, and every round."""
    without = [timing[key] for timing in timings[False]]
    beside = [timing[key] for timing in timings[True]]
    return {
        "operation": key[0],
        "window": None,
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
    """Return what the figures are measured on; without GPUs, on which they mean nothing."""
    known: Json = {"cores": os.cpu_count(), "date": datetime.date.today().isoformat()}
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        return {"simulated": True, **known}
    gpu, driver = lines[0].split(", ")
    gpus = len([line for line in lines if line])
    return {"simulated": False, **known, "gpus": gpus, "gpu": gpu, "driver_version": driver}
