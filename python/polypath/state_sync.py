"""Many tensors of one rank for all others: trained weights for those that serve them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from polypath._core import Buffer, CollectiveRank, Context, Error, PersistentCall, Stream
from polypath.context_checks import named
from polypath.frameworks import PYTORCH, framework_of
from polypath.memory import Framework, Memory
from polypath.messages import message
from polypath.streams import StreamHandle, stream_of_rank

BUCKET = 64 << 20  # bytes of tensors that are sent as one
LARGE = 8 << 20  # tensors of so many bytes are sent by themselves
ALIGNED = 256
ROW = 64  # bytes that each rank tells the others: a digest, then the length of what it is of
DIGEST = 32


class Piece(NamedTuple):
    """A tensor's memory, and where it lies in its bucket."""

    memory: Memory
    offset: int


class StateSync:
    """One rank's end of it, with memory that is kept for the next time."""

    def __init__(self, rank: CollectiveRank, context: Context) -> None:
        self._rank, self._context = rank, context
        self._gpu = int(rank.gpu[3:])
        self._buffers: dict[str, Buffer] = {}
        self._own_stream: Stream | None = None

    def run(self, state: Any, root: int, stream: Any) -> None:
        """Do it. What is wrong at one rank is raised at all, before anything is written."""
        memories = self._agreed(state, root)
        if not memories:
            return
        handle = self._handle(memories[0], stream)
        for bucket in _buckets(memories):
            self._broadcast(bucket, root, handle)
        for memory in memories:
            if stream is not None:
                memory.framework.note_use(memory, stream_of_rank(stream, self._gpu))
            if self._rank.rank != root:
                memory.framework.note_write(memory.thing)
        if handle is self._own_stream:
            self._finish()
        else:
            self._join(handle)

    def _join(self, handle: StreamHandle) -> None:
        """Let the next call, which may be on another stream, find the buffers free."""
        rows = self._buffer("rows", 0)
        gpu, behind = f"gpu{self._gpu}", rows.address + ROW * self._rank.size
        beside = [(gpu, self._stream())]
        self._context.copy_addresses(behind, rows.address, ROW, gpu, handle, beside=beside)

    def _handle(self, memory: Memory, stream: Any) -> StreamHandle:
        """Return the stream of all of it; a Buffer has none, so that its calls are waited for."""
        if stream is not None:
            return stream_of_rank(stream, self._gpu).handle
        if isinstance(memory.thing, Buffer):
            return self._stream()
        return memory.framework.current_handle(memory.thing, self._gpu)

    def _stream(self) -> Stream:
        if self._own_stream is None:
            self._own_stream = self._context.stream(f"gpu{self._gpu}")
        return self._own_stream

    def _finish(self) -> None:
        if self._context.simulated:
            self._rank.await_messages()  # a simulated stream ends only if nothing is to come yet
        self._rank.finish_call(self._stream())

    # --- whether the ranks agree ---

    def _agreed(self, state: Any, root: int) -> list[Memory]:
        """Return the memories in the order of their names, which is the same at all ranks."""
        _check_root(root, self._rank.size)
        failure, by_name, text = None, {}, b""
        try:
            by_name = _memories(state, self._gpu)
            text = _description(by_name)
        except (ValueError, TypeError, Error) as error:
            failure = error  # the others are told first: they would wait
        rows = self._exchange(b"" if failure else hashlib.sha256(text).digest(), len(text))
        if failure is not None:
            raise failure
        self._check_rows(rows, text, root)
        return [by_name[name] for name in sorted(by_name)]

    def _check_rows(self, rows: Sequence[bytes], text: bytes, root: int) -> None:
        """Raise ValueError, at all ranks, if one of them cannot go on or differs from the root."""
        digests = [row[:DIGEST] for row in rows]
        if wrong := [rank for rank, digest in enumerate(digests) if not any(digest)]:
            raise _disagreement(wrong[0], "cannot use its tensors", "its own error says why")
        if odd := [rank for rank, digest in enumerate(digests) if digest != digests[root]]:
            length = int.from_bytes(rows[root][DIGEST : DIGEST + 8], "little")
            own = _first_difference(self._text_of(root, text, length), text)
            problem = f"has other tensors than rank {root}"
            raise _disagreement(odd[0], problem, own or "its own error says which")

    def _exchange(self, digest: bytes, length: int) -> list[bytes]:
        """Return every rank's row."""
        own = digest.ljust(DIGEST, b"\0") + length.to_bytes(8, "little")
        size, begin = ROW * self._rank.size, ROW * self._rank.rank
        there = self._buffer("rows", size + ROW).address
        call = PersistentCall("allgather", "uint8", "sum", 0, ROW, there + begin, there, (), True)
        return _rows(self._told(own.ljust(ROW, b"\0"), begin, call, "rows", size))

    def _text_of(self, root: int, text: bytes, length: int) -> bytes:
        """Return the root's text, of so many bytes, at all ranks."""
        own = text if self._rank.rank == root else b"\0" * length
        there = self._buffer("text", length).address
        call = PersistentCall("broadcast", "uint8", "sum", root, length, there, there, (), True)
        return self._told(own, 0, call, "text", length)

    def _told(self, own: bytes, begin: int, call: PersistentCall, name: str, size: int) -> bytes:
        """Run a call over bytes of the host, which become those of a buffer; return its bytes."""
        stream, gpu = self._stream(), f"gpu{self._gpu}"
        there, here = self._buffer(name, size), self._buffer(f"{name} of the host", size)
        here.numpy()[: len(own)] = bytearray(own)
        self._context.copy_addresses(there.address + begin, here.address, len(own), gpu, stream)
        self._rank.run(call, stream)
        self._context.copy_addresses(here.address, there.address, size, gpu, stream)
        self._finish()
        return here.numpy()[:size].tobytes()

    def _buffer(self, name: str, size: int) -> Buffer:
        """Return memory that is kept, on the GPU or near it, of that size or more."""
        kept = self._buffers.get(name)
        if kept is None or kept.nbytes < size:
            gpu = f"gpu{self._gpu}"
            place = self._context.nearest_host(gpu) if name.endswith("of the host") else gpu
            kept = self._buffers[name] = self._context.allocate(place, size)
        return kept

    # --- what is sent ---

    def _broadcast(self, bucket: Sequence[Piece], root: int, handle: StreamHandle) -> None:
        last = bucket[-1]
        nbytes = last.offset + last.memory.nbytes
        alone = len(bucket) == 1
        address = last.memory.address if alone else self._buffer("bucket", nbytes).address
        if not alone and self._rank.rank == root:
            self._copy([(address + offset, memory.address, memory.nbytes)
                        for memory, offset in bucket], handle)  # fmt: skip
        call = PersistentCall("broadcast", "uint8", "sum", root, nbytes, address, address, (), True)
        self._rank.run(call, handle)
        if not alone and self._rank.rank != root:
            self._copy([(memory.address, address + offset, memory.nbytes)
                        for memory, offset in bucket], handle)  # fmt: skip

    def _copy(self, copies: Sequence[tuple[int, int, int]], handle: StreamHandle) -> None:
        import numpy as np

        targets, origins, sizes = np.array(copies, np.uint64).T.copy()
        self._context.copy_pieces(targets, origins, sizes, (f"gpu{self._gpu}", handle))


def _check_root(root: int, size: int) -> None:
    if not 0 <= root < size:
        why = f"ranks are 0 to {size - 1}"
        raise ValueError(message(f"root {root} cannot be used", why, "Name one."))


def _memories(state: Any, gpu: int) -> dict[str, Memory]:
    """Return the memory of each tensor by name. ValueError for one that cannot be sent."""
    if PYTORCH.is_module(state):
        state = state.state_dict()
    if not isinstance(state, Mapping):
        raise TypeError(
            message(
                f"object of type {type(state).__name__} cannot be synchronized",
                "it is neither a module nor a dictionary of tensors by name",
                "Pass module.state_dict().",
            )
        )
    memories = {}
    for name, tensor in state.items():
        with named(f"tensor '{name}'"):
            framework = framework_of(tensor)
            memories[str(name)] = _checked(framework, framework.memory(tensor), gpu)
    return memories


def _checked(framework: Framework, memory: Memory, gpu: int) -> Memory:
    framework.check_gradient(memory.thing)
    problem = ""
    if memory.nbytes and memory.gpu != gpu:
        problem = f"it is not on this rank's GPU, gpu{gpu}"
    elif not memory.plain:
        problem = "it is not contiguous"
    elif not memory.writable:
        problem = "it is read-only"
    if not problem:
        return memory
    raise ValueError(message("a tensor cannot be synchronized", problem, "Pass another one."))


def _description(memories: Mapping[str, Memory]) -> bytes:
    """Return what all ranks must have alike, as a line of JSON for each tensor."""
    lines = [
        json.dumps([name, memory.element, memory.shape, memory.nbytes])
        for name, memory in sorted(memories.items())
    ]
    return "\n".join(["tensors", *lines]).encode()


def _first_difference(wanted: bytes, own: bytes) -> str:
    """Return what is odd about the first tensor that is; nothing if all are alike."""
    at_root, here = (
        {each[0]: each[1:] for each in map(json.loads, text.decode().splitlines()[1:])}
        for text in (wanted, own)
    )
    for name in sorted({*at_root, *here}):
        if name not in here:
            return f"it has no '{name}'"
        if name not in at_root:
            return f"it alone has '{name}'"
        if at_root[name] != here[name]:
            return f"'{name}' is {_kind(here[name])}, not {_kind(at_root[name])}"
    return ""


def _kind(described: Sequence[Any]) -> str:
    element, shape, nbytes = described
    return f"{element} {shape}" if element else f"{nbytes} bytes"


def _disagreement(rank: int, problem: str, why: str) -> ValueError:
    return ValueError(
        message(f"rank {rank} {problem}", why, "Pass tensors of the same names at all ranks.")
    )


def _rows(text: bytes) -> list[bytes]:
    return [text[begin : begin + ROW] for begin in range(0, len(text), ROW)]


def _buckets(memories: Sequence[Memory]) -> Iterator[list[Piece]]:
    """Yield tensors that are sent together: large ones alone, the others in their order."""
    bucket: list[Piece] = []
    end = 0
    for memory in memories:
        if memory.nbytes >= LARGE:
            yield [Piece(memory, 0)]
        elif memory.nbytes:
            if end + memory.nbytes > BUCKET:
                yield bucket
                bucket, end = [], 0
            bucket.append(Piece(memory, end))
            end += -(-memory.nbytes // ALIGNED) * ALIGNED
    if bucket:
        yield bucket
