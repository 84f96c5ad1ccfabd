"""Counts of processes that have not reported at their end: src/api/preload/shared_counts.h.

They lie in memory of this process, which the others find by its number, and which goes with it.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

VARIABLE = "_POLYPATH_COUNTS"

_BYTES = 1 << 23  # more than it takes; what is not written takes nothing
_TOKEN_BYTES = 32
_HEAD = struct.Struct("=4I")  # outcomes, how many of them are accelerated, entries, their bytes
_TEXT_BYTES = 96
_PROCESS = struct.Struct("=64s64s128sQ")
_COUNT = struct.Struct("=4Q")  # calls, bytes, those of large copies, missed nanoseconds


class Counts:
    """Memory for the counts of all processes of one run on this computer."""

    def __init__(self, file: int, token: str) -> None:
        """Take what is opened."""
        self._file = file
        self.value = f"/proc/{os.getpid()}/fd/{file}:{token}"  # of the variable

    def processes(self) -> Iterator[dict[str, Any]]:
        """Return those that have not given their entry back: schema polypath.process/1."""
        outcomes, accelerated, entries, size = _HEAD.unpack(self._read(_TOKEN_BYTES, _HEAD.size))
        at = _TOKEN_BYTES + _HEAD.size
        texts = [_text(self._read(at + i * _TEXT_BYTES, _TEXT_BYTES)) for i in range(outcomes)]
        at += outcomes * _TEXT_BYTES
        owners = struct.unpack(f"={entries}i", self._read(at, 4 * entries))
        at += 4 * entries
        for place, owner in enumerate(owners):
            if owner:
                entry = self._read(at + place * size, size)
                yield _process(owner, entry, texts, accelerated)

    def _read(self, offset: int, size: int) -> bytes:
        return os.pread(self._file, size, offset)


@contextmanager
def counts_of_processes() -> Iterator[Counts | None]:
    """Make the memory; nothing where the system has no such files."""
    try:
        file = os.memfd_create("polypath-counts", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError:
        yield None
        return
    try:
        token = os.urandom(_TOKEN_BYTES // 2).hex()
        os.ftruncate(file, _BYTES)
        os.pwrite(file, token.encode(), 0)
        # Without a seal a process that shortens it ends those that count in it.
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        yield Counts(file, token)
    finally:
        os.close(file)


def _process(owner: int, entry: bytes, texts: list[str], accelerated: int) -> dict[str, Any]:
    program, rank, why_off, driver_open = _PROCESS.unpack_from(entry)
    counted = _COUNT.iter_unpack(entry[_PROCESS.size :][: len(texts) * _COUNT.size])
    return {
        "schema": "polypath.process/1",
        "process": owner,
        "rank": _text(rank) or None,
        "program": _text(program) or "?",
        "host": os.uname().nodename,
        "driver_open": bool(driver_open),
        "complete": False,
        "why_off": _text(why_off),
        "outcomes": [
            {
                "text": text,
                "accelerated": at < accelerated,
                "calls": calls,
                "bytes": size,
                "large_bytes": large,
                "missed_seconds": missed * 1e-9,
            }
            for at, (text, (calls, size, large, missed)) in enumerate(zip(texts, counted))
            if calls
        ],
    }


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")
