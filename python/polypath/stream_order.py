"""Which streams a copy is in order with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polypath.memory import Memory
from polypath.streams import GpuStream, given_stream


@dataclass(frozen=True)
class StreamOrder:
    """The stream that a copy runs on, and the others that it keeps the order of."""

    used: GpuStream
    beside: tuple[GpuStream, ...]
    of_source: GpuStream | None  # None: it is on the host
    of_destination: GpuStream | None


def stream_order(destination: Memory, source: Memory, stream: Any) -> StreamOrder:
    """Return the streams for a copy with a GPU at one end or at both.

    It runs on `stream`, else on the current one of the GPU that sends, else of the one that
    receives. Current streams of the ends count beside it, except on the GPU of `stream`: there
    the caller has chosen.
    """
    sending = source.gpu if source.gpu is not None else destination.gpu
    assert sending is not None
    given = None if stream is None else given_stream(stream, sending)
    of_source, of_destination = (_stream_of(end, given) for end in (source, destination))
    candidates = [one for one in (given, of_source, of_destination) if one is not None]
    used = candidates[0]
    beside: list[GpuStream] = []
    for other in candidates[1:]:
        if not any(other.is_same(known) for known in (used, *beside)):
            beside.append(other)
    return StreamOrder(used, tuple(beside), of_source, of_destination)


def _stream_of(end: Memory, given: GpuStream | None) -> GpuStream | None:
    if end.gpu is None:
        return None
    if given is not None and given.gpu == end.gpu:
        return given
    return end.framework.current_stream(end)
