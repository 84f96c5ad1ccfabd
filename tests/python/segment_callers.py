"""Collectives and messages that segment_ranks.py makes: by NCCL, or by polypath.Collectives."""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from nccl_ranks import FLOAT32, SUM, Value, communicator, library, must, shared_id

SIZES = (8 << 10, 300 << 10, 1 << 20, 5 << 20, 9 << 20, 17 << 20, 64 << 20)


class RefusedError(Exception):
    """A call cannot be captured, at any rank."""


@dataclass
class Call:
    """One call, the same at all ranks that take part in it."""

    number: int
    kind: str
    part: int  # elements
    ranks: list[int]
    in_place: bool
    root: int

    def rank_of(self, number: int) -> int:
        """Return a rank's number among those that take part."""
        return self.ranks.index(number)

    @property
    def given(self) -> int:
        """Return how many elements each rank gives."""
        return self.part * (1 if self.kind == "allgather" else len(self.ranks))

    @property
    def taken(self) -> int:
        """Return how many elements each rank gets."""
        return self.part * (1 if self.kind == "reducescatter" else len(self.ranks))

    def wanted(self, inputs: list[np.ndarray], number: int) -> np.ndarray | None:
        """Return what a rank has in the end; none if that is not defined."""
        rank = self.rank_of(number)
        own = slice(rank * self.part, (rank + 1) * self.part)
        if self.kind == "allgather":
            return np.concatenate(inputs)
        if self.kind == "alltoall":
            return np.concatenate([each[own] for each in inputs])
        if self.kind == "broadcast":
            return inputs[self.root]
        if self.kind == "ring":
            return inputs[rank - 1]
        if self.kind == "reduce" and rank != self.root:
            return None
        total: np.ndarray = np.sum(inputs, axis=0)
        return total[own] if self.kind == "reducescatter" else total


class Caller:
    """Makes calls of one library, among all ranks and, of more than two, among each half."""

    kinds: tuple[str, ...] = (
        *("allreduce", "allgather", "reducescatter", "broadcast", "alltoall", "reduce"),
    )
    only_apart: tuple[str, ...] = ()  # these are not made in place

    def __init__(self, number: int, ranks: int) -> None:
        self.number, self.calls = number, 0
        self.whole = list(range(ranks))
        halves = [self.whole[: ranks // 2], self.whole[ranks // 2 :]]
        self.halves = [each for each in halves if ranks > 2 and len(each) > 1]

    def some_call(self, plan: random.Random, captured: bool = False, size: int = 0) -> Call:
        """Draw a call."""
        self.calls += 1
        kind = plan.choice([each for each in self.kinds if each != "ring" or not captured])
        ranks = self.whole if captured else plan.choice([self.whole, *self.halves])
        size = size or plan.choice(SIZES if plan.random() < 0.1 and not captured else SIZES[:-1])
        part = size // 4 // len(ranks) + plan.choice((0, 0, 1, 63))
        in_place = plan.random() < 0.4 and kind not in self.only_apart
        return Call(self.calls, kind, part, ranks, in_place, plan.randrange(len(ranks)))

    def make(self, call: Call, source: int, target: int, stream: Value) -> None:
        """Make it. Raises RefusedError."""
        raise NotImplementedError

    def close(self) -> None:
        """End with all other ranks."""


class NcclCaller(Caller):
    """Of NCCL."""

    kinds = (*Caller.kinds, "ring", "ring")
    only_apart = ("alltoall", "ring")

    def __init__(self, folder: Path, number: int, ranks: int) -> None:
        super().__init__(number, ranks)
        self.nccl = library()
        for name, values in (("ncclReduce", 4), ("ncclAlltoAll", 2), ("ncclReduceScatter", 3)):
            which = [ctypes.c_size_t] + [ctypes.c_int] * (values - 1)
            getattr(self.nccl, name).argtypes = [Value, Value, *which, Value, Value]
        for function in (self.nccl.ncclSend, self.nccl.ncclRecv):
            function.argtypes = [Value, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, Value, Value]
        whole = communicator(self.nccl, shared_id(self.nccl, folder, number), number, ranks)
        self.comms, part = [whole], Value()
        if ranks > 2:
            color = int(number >= ranks // 2)
            must(self.nccl.ncclCommSplit(whole, color, number, ctypes.byref(part), None))
            self.comms.append(part)

    def make(self, call: Call, source: int, target: int, stream: Value) -> None:
        """Make it."""
        comm = self.comms[0 if call.ranks == self.whole else 1]
        if call.kind == "ring":
            return self.pass_on(call, source, target, (comm, stream))
        whole, kind = call.part * len(call.ranks), call.kind
        name, counts = {
            "allreduce": ("AllReduce", (whole, FLOAT32, SUM)),
            "allgather": ("AllGather", (call.part, FLOAT32)),
            "reducescatter": ("ReduceScatter", (call.part, FLOAT32, SUM)),
            "broadcast": ("Broadcast", (whole, FLOAT32, call.root)),
            "reduce": ("Reduce", (whole, FLOAT32, SUM, call.root)),
            "alltoall": ("AlltoAll", (call.part, FLOAT32)),
        }[kind]
        if getattr(self.nccl, f"nccl{name}")(source, target, *counts, comm, stream) != 0:
            raise RefusedError(kind)
        return None

    def pass_on(self, call: Call, source: int, target: int, end: tuple[Value, Value]) -> None:
        """Send to the next rank and receive from the one before."""
        rank, ranks, count = call.rank_of(self.number), len(call.ranks), call.given
        must(self.nccl.ncclGroupStart())
        must(self.nccl.ncclSend(source, count, FLOAT32, (rank + 1) % ranks, *end))
        must(self.nccl.ncclRecv(target, count, FLOAT32, (rank - 1) % ranks, *end))
        must(self.nccl.ncclGroupEnd())

    def close(self) -> None:
        """Destroy the communicators."""
        for comm in reversed(self.comms):
            must(self.nccl.ncclCommDestroy(comm))


class Shown:
    """Memory at an address, as arrays show it."""

    def __init__(self, address: int, count: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "<f4", "data": (address, False), "version": 3,
        }  # fmt: skip


class OurCaller(Caller):
    """Of polypath.Collectives; with the word `copies` by a ring, in which memory is opened."""

    def __init__(self, folder: Path, number: int, ranks: int, copies: bool) -> None:
        super().__init__(number, ranks)
        import polypath

        join = polypath.Collectives.from_file
        self.ends = [join(str(folder / "all"), number, ranks, number)]
        for half in self.halves:
            if number in half:
                place = half.index(number)
                self.ends.append(join(str(folder / f"from{half[0]}"), place, len(half), number))
        for each in self.ends if copies else ():
            self.kinds = self.kinds[:4]
            each.choose_from(["ring"])

    def make(self, call: Call, source: int, target: int, stream: Value) -> None:
        """Make it. In place there is one tensor, the larger one."""
        given: Any = Shown(source, call.given)
        taken: Any = Shown(target, call.taken)
        if call.in_place:
            given, taken = given if call.given >= call.taken else taken, None
        ends, handle = self.ends[0 if call.ranks == self.whole else 1], stream.value
        if call.kind == "allreduce":
            ends.all_reduce(given, taken, stream=handle)
        elif call.kind == "allgather":
            ends.all_gather(given, taken, stream=handle)
        elif call.kind == "reducescatter":
            ends.reduce_scatter(given, taken, stream=handle)
        elif call.kind == "reduce":
            ends.reduce(given, call.root, taken, stream=handle)
        elif call.kind == "alltoall":
            ends.all_to_all(given, taken, stream=handle)
        else:
            ends.broadcast(given, call.root, stream=handle)

    def some_call(self, plan: random.Random, captured: bool = False, size: int = 0) -> Call:
        """Draw a call; a broadcast has one tensor."""
        call = super().some_call(plan, captured, size)
        call.in_place = call.in_place or call.kind == "broadcast"
        return call

    def close(self) -> None:
        """End this rank."""
        for each in reversed(self.ends):
            each.close()


def caller_of(words: list[str], folder: Path, number: int, ranks: int) -> Caller:
    """Return the one that the words name."""
    if "ours" in words:
        return OurCaller(folder, number, ranks, "copies" in words)
    return NcclCaller(folder, number, ranks)
