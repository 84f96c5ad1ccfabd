"""Reads files ahead of the copies that need them, in their order, by a thread."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

STEP = 64 << 20  # bytes that the system is asked for at once
DISTANCE = 2 << 30  # how far ahead of the copies; more could push out what was read


class Span(NamedTuple):
    """A part of a file."""

    path: Path
    begin: int
    end: int


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return them with those that continue the one before in one."""
    whole: list[Span] = []
    for span in spans:
        if whole and (whole[-1].path, whole[-1].end) == (span.path, span.begin):
            whole[-1] = whole[-1]._replace(end=span.end)
        else:
            whole.append(span)
    return whole


class ReadAhead:
    """Asks the system for pages of files before they are copied."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = joined(spans)
        self._changed = threading.Condition()
        self._most = DISTANCE
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="polypath-read-ahead", daemon=True)

    def __enter__(self) -> ReadAhead:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def passed(self, nbytes: int) -> None:
        """Say how many bytes of all of them have been copied."""
        with self._changed:
            self._most = nbytes + DISTANCE
            self._changed.notify()

    def _run(self) -> None:
        position = 0
        for span in self._spans:
            with contextlib.suppress(OSError), span.path.open("rb") as file:
                for begin in range(span.begin, span.end, STEP):
                    if not self._may_read(position):
                        return
                    nbytes = min(STEP, span.end - begin)
                    os.posix_fadvise(file.fileno(), begin, nbytes, os.POSIX_FADV_WILLNEED)
                    position += nbytes

    def _may_read(self, position: int) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or position < self._most)
            return not self._stopped
