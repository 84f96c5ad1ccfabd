"""The context of simulated machines and of a program's own buffers, as Python's callers have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polypath import _core, report_texts
from polypath._core import Buffer, Stream
from polypath.context_checks import (
    buffer_pairs,
    bytes_of,
    check_buffer,
    check_equal,
    check_name,
    check_stream,
    share_of,
)
from polypath.whole_numbers import whole_number

# Methods for the package alone: their addresses are those of tensors.
_INTERNAL = (
    "copy_addresses", "copy_many_addresses", "copy_pieces", "nearest_host", "place_of",
    "predict_native",
)  # fmt: skip


class Context(_core.Context):
    """Copies on one machine: "h200x4", "synthetic:7", a file; "" for the default.

    With trace=True it keeps the timeline of all copies.
    """

    def __init__(self, machine: str = "", trace: bool = False) -> None:
        """Open the machine. Error for one that is unknown, or whose file is damaged."""
        check_name("machine", machine, "h200x4")
        super().__init__(machine, bool(trace))

    def allocate(self, place: str, nbytes: int) -> Buffer:
        """Return memory of a GPU, or pinned memory of a host; `nbytes` is 1 or more."""
        check_name("place", place, "gpu0")
        return super().allocate(place, bytes_of("size", nbytes, least=1))

    def stream(self, gpu: str) -> Stream:
        """Return a new stream of a GPU."""
        check_name("GPU", gpu, "gpu0")
        return super().stream(gpu)

    def copy(
        self, destination: Buffer, source: Buffer, nbytes: int | None = None, *,
        destination_offset: int = 0, source_offset: int = 0, stream: Stream | None = None,
        executor: str = "auto", paths: Sequence[str] = (),
        shares: Mapping[str, float] | None = None, chunks: Mapping[str, int] | None = None,
    ) -> str:  # fmt: skip
        """Enqueue a copy of `nbytes`; without, of all from the offsets on, as much at both ends.

        Return how it runs: "native", "stream" or "graph". On `stream` it starts after what is there
        and ends before what comes next; without one the call waits until it is done. Offsets are
        bytes. `executor`, `paths`, `shares` and `chunks` are as in polypath.reports.

        Error (invalid argument) for what does not fit or belongs to another context, and for ends
        of unequal sizes without `nbytes`.
        """
        check_buffer("destination", destination)
        check_buffer("source", source)
        check_stream(stream)
        offsets: dict[str, Any] = {
            "destination_offset": bytes_of("destination_offset", destination_offset),
            "source_offset": bytes_of("source_offset", source_offset),
        }
        if nbytes is not None:
            nbytes = bytes_of("size", nbytes)
        else:
            left = destination.nbytes - destination_offset, source.nbytes - source_offset
            if min(left) >= 0:  # else the offset is wrong
                check_equal(*left, "Pass nbytes for a part of one of them.")
        chosen = _choices(executor, paths, shares or {}, chunks or {})
        return super().copy(destination, source, nbytes, stream=stream, **offsets, **chosen)

    def copy_many(
        self, pairs: Sequence[tuple[Buffer, Buffer]], *, stream: Stream | None = None,
        executor: str = "auto",
    ) -> list[str]:  # fmt: skip
        """Enqueue several copies that start together, planned together.

        Each pair is a destination and its source, of equal sizes. Return how each runs, as copy
        does. All start after what is on `stream` and end before what comes next; without one the
        call waits until all are done. The bytes are what they would be one after another; copies
        between different places run beside each other where none writes what another one reads or
        writes.

        Errors are those of copy, before anything is enqueued; they name the pair.
        """
        check_stream(stream)
        check_name("executor", executor, "auto")
        return super().copy_many(buffer_pairs(pairs), stream=stream, executor=executor)

    def plan(self, source: str, destination: str, nbytes: int) -> dict[str, Any]:
        """Return the plan between two places: a dictionary of schema polypath.plan/1."""
        for place in (source, destination):
            check_name("place", place, "gpu0")
        return super().plan(source, destination, bytes_of("size", nbytes))

    def __enter__(self) -> Context:
        super().__enter__()
        return self

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _INTERNAL]


def _choices(
    executor: Any, paths: Any, shares: Mapping[str, Any], chunks: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what fixes a copy's plan, as the library takes it. TypeError for other kinds."""
    check_name("executor", executor, "auto")
    listed = report_texts.names("paths", paths) or []
    for via in (*listed, *shares, *chunks):
        check_name("path", via, "direct")
    return {
        "executor": executor,
        "paths": listed,
        "shares": {via: share_of(share) for via, share in shares.items()},
        "chunks": {via: whole_number("chunk count", count) for via, count in chunks.items()},
    }
