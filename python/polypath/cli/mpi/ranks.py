"""One run of the MPI program: its results as they come, and what it says when it fails."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Callable

from polypath.cli.mpi.launch import Launch
from polypath.cli.mpi.program import NAME
from polypath.cli.output import Document

PATIENCE = 10.0  # seconds that a launcher has to end its ranks when it is told to
SILENCE = 900.0  # seconds without a result after which ranks are taken to hang
OWN = "polypath: "  # how lines of Polypath itself start


@dataclass
class Outcome:
    """What one run came to."""

    start: Document = field(default_factory=dict)
    results: list[Document] = field(default_factory=list)
    complete: bool = False  # everything asked for was measured
    hung: bool = False
    silence: float = SILENCE  # seconds without a result after which they are taken to hang
    status: int = 0
    messages: list[str] = field(default_factory=list)  # lines of stderr, and of stdout but results

    @property
    def wrong_bytes(self) -> int:
        """The number of bytes that did not arrive as they were sent."""
        return int(sum(result["wrong_bytes"] for result in self.results))

    def distinct_messages(self) -> list[str]:
        """Return each message once: ranks say the same, each behind its own [node:process].

        Polypath's own lines are statistics: they stay, equal or not.
        """
        seen: dict[str, str] = {}
        for number, line in enumerate(self.messages):
            text = line.strip()
            key = f"{number}" if text.startswith(OWN) else re.sub(r"^\[[^\]]*\]", "", text)
            if text:
                seen.setdefault(key, line.rstrip())
        return list(seen.values())

    def own_message(self) -> str:
        """Return the first line with which the program itself said what is wrong, if it did."""
        own = (line for line in self.messages if line.startswith(NAME))
        return next(own, "").removeprefix(f"{NAME}: ").strip()


def run_ranks(
    launch: Launch,
    program: Path,
    arguments: list[str],
    on_result: Callable[[], None],
    silence: float | None = None,
) -> Outcome:
    """Run the program; call `on_result` after each measurement.

    Ranks that give no result for `silence` seconds are ended.
    """
    outcome = Outcome(silence=SILENCE if silence is None else silence)
    with _started(launch, program, arguments) as process:
        assert process.stdout is not None and process.stderr is not None
        reader = threading.Thread(target=_collect, args=(process.stderr, outcome.messages))
        reader.start()
        with _Watch(process, outcome) as watch:
            for line in process.stdout:
                _take(line, outcome, on_result)
                watch.restart()
        reader.join()
        outcome.status = process.wait()
    return outcome


class _Watch:
    """Ends a process that says nothing for a long time, and notes it."""

    def __init__(self, process: subprocess.Popen[str], outcome: Outcome) -> None:
        self._process, self._outcome = process, outcome
        self._timer = self._started()

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def restart(self) -> None:
        """Count the time from now."""
        self._timer.cancel()
        self._timer = self._started()

    def _started(self) -> threading.Timer:
        timer = threading.Timer(self._outcome.silence, self._end)
        timer.daemon = True
        timer.start()
        return timer

    def _end(self) -> None:
        self._outcome.hung = True
        _end_process(self._process)


@contextlib.contextmanager
def _started(
    launch: Launch, program: Path, arguments: list[str]
) -> Iterator[subprocess.Popen[str]]:
    """Start the ranks, and see to it that none is left when the body ends, however it ends."""
    command, environment = launch.started(program, arguments)
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    try:
        yield process
    finally:
        _end_process(process)
        process.wait()


def _end_process(process: subprocess.Popen[str]) -> None:
    """End the launcher, which ends its ranks if it is given the time."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()


def _collect(stream: IO[str], lines: list[str]) -> None:
    lines.extend(stream)


def _take(line: str, outcome: Outcome, on_result: Callable[[], None]) -> None:
    event = _event(line)
    kind = event.get("event")
    if kind == "start":
        outcome.start = event
    elif kind == "result":
        outcome.results.append(event)
        on_result()
    elif kind == "end":
        outcome.complete = True
    else:
        outcome.messages.append(line)


def _event(line: str) -> dict[str, Any]:
    """Return the object of a line; nothing where the line is something else."""
    if not line.startswith("{"):
        return {}
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
