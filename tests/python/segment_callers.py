"""Collectives and messages that segment_ranks.py makes: by NCCL, or by polypath.Collectives."""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from nccl_ranks import FLOAT32, SUM, Gpu, Value, communicator, library, must, shared_id

SIZES = (8 << 10, 300 << 10, 1 << 20, 5 << 20, 9 << 20, 17 << 20, 64 << 20)


@dataclass
class Call:
    """One call, the same at all ranks that take part in it."""

    number: int
    kind: str
    part: int  # elements
    ranks: list[int]
    in_place: bool
    root: int = 0

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
        total = np.sum(inputs, axis=0)
        return total[own] if self.kind == "reducescatter" else total


class Caller:
    """Makes calls of one library in one stream."""

    kinds = ("allreduce", "allgather", "reducescatter", "broadcast", "alltoall", "reduce")
    only_apart: tuple[str, ...] = ()  # these are not made in place

    def __init__(self, gpu: Gpu, number: int, ranks: int) -> None:
        self.gpu, self.number, self.ranks, self.calls = gpu, number, ranks, 0

    def groups(self) -> list[list[int]]:
        """Return the groups of ranks that a call may be among."""
        return [list(range(self.ranks))]

    def some_call(self, plan: random.Random, captured: bool = False, size: int = 0) -> Call:
        """Draw a call."""
        self.calls += 1
        kind = plan.choice([each for each in self.kinds if each != "ring" or not captured])
        ranks = self.groups()[0] if captured else plan.choice(self.groups())
        size = size or plan.choice(SIZES[:-1] if captured or plan.random() < 0.9 else SIZES)
        part = size // 4 // len(ranks) + plan.choice((0, 0, 1, 63))
        in_place = plan.random() < 0.4 and kind not in self.only_apart
        return Call(self.calls, kind, part, ranks, in_place, plan.randrange(len(ranks)))

    def make(self, call: Call, source: int, target: int) -> None:
        """Make it."""
        raise NotImplementedError

    def close(self) -> None:
        """End with all other ranks."""


class NcclCaller(Caller):
    """Of NCCL, with a communicator of all ranks and, of more than two, one of each half."""

    kinds = (*Caller.kinds, "ring", "ring")
    only_apart = ("alltoall", "ring")

    def __init__(self, folder: Path, gpu: Gpu, number: int, ranks: int) -> None:
        super().__init__(gpu, number, ranks)
        self.nccl = library()
        for name, values in (("ncclReduce", 4), ("ncclAlltoAll", 2), ("ncclReduceScatter", 3)):
            which = [ctypes.c_size_t] + [ctypes.c_int] * (values - 1)
            getattr(self.nccl, name).argtypes = [Value, Value, *which, Value, Value]
        for function in (self.nccl.ncclSend, self.nccl.ncclRecv):
            function.argtypes = [Value, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, Value, Value]
        whole = communicator(self.nccl, shared_id(self.nccl, folder, number), number, ranks)
        self.comms = {ranks: whole}
        if ranks > 2:
            half, part = ranks // 2, Value()
            color = int(number >= half)
            must(self.nccl.ncclCommSplit(whole, color, number, ctypes.byref(part), None))
            self.comms[half if color == 0 else half + ranks] = part
        self.parts = [list(range(ranks // 2)), list(range(ranks // 2, ranks))]

    def groups(self) -> list[list[int]]:
        """Return all ranks, and those halves that are more than one rank."""
        return [list(range(self.ranks)), *(each for each in self.parts if len(each) > 1)]

    def comm_of(self, call: Call) -> Value:
        """Return the communicator of a call's ranks."""
        if len(call.ranks) == self.ranks:
            return self.comms[self.ranks]
        return next(comm for key, comm in self.comms.items() if key != self.ranks)

    def make(self, call: Call, source: int, target: int) -> None:
        """Make it."""
        nccl, comm, stream, root = self.nccl, self.comm_of(call), self.gpu.stream, call.root
        whole = call.part * len(call.ranks)
        if call.kind == "allreduce":
            must(nccl.ncclAllReduce(source, target, whole, FLOAT32, SUM, comm, stream))
        elif call.kind == "allgather":
            must(nccl.ncclAllGather(source, target, call.part, FLOAT32, comm, stream))
        elif call.kind == "reducescatter":
            must(nccl.ncclReduceScatter(source, target, call.part, FLOAT32, SUM, comm, stream))
        elif call.kind == "broadcast":
            must(nccl.ncclBroadcast(source, target, whole, FLOAT32, root, comm, stream))
        elif call.kind == "reduce":
            must(nccl.ncclReduce(source, target, whole, FLOAT32, SUM, root, comm, stream))
        elif call.kind == "alltoall":
            must(nccl.ncclAlltoAll(source, target, call.part, FLOAT32, comm, stream))
        else:
            self.pass_on(call, source, target, comm)

    def pass_on(self, call: Call, source: int, target: int, comm: Value) -> None:
        """Send to the next rank and receive from the one before."""
        rank, ranks, count = call.rank_of(self.number), len(call.ranks), call.given
        stream = self.gpu.stream
        must(self.nccl.ncclGroupStart())
        must(self.nccl.ncclSend(source, count, FLOAT32, (rank + 1) % ranks, comm, stream))
        must(self.nccl.ncclRecv(target, count, FLOAT32, (rank - 1) % ranks, comm, stream))
        must(self.nccl.ncclGroupEnd())

    def close(self) -> None:
        """Destroy the communicators."""
        for comm in reversed(self.comms.values()):
            must(self.nccl.ncclCommDestroy(comm))


class Shown:
    """Memory at an address, as arrays show it."""

    def __init__(self, address: int, count: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "<f4", "data": (address, False), "version": 3,
        }  # fmt: skip


class OurCaller(Caller):
    """Of polypath.Collectives; with the word `copies` by a ring, in which memory is opened."""

    def __init__(self, folder: Path, gpu: Gpu, number: int, ranks: int, copies: bool) -> None:
        super().__init__(gpu, number, ranks)
        import polypath

        self.ends = polypath.Collectives.from_file(str(folder / "meeting"), number, ranks, number)
        if copies:
            self.kinds = self.kinds[:4]
            self.ends.choose_from(["ring"])

    def make(self, call: Call, source: int, target: int) -> None:
        """Make it. In place there is one tensor, the larger one."""
        given, taken = Shown(source, call.given), Shown(target, call.taken)
        if call.in_place:
            given, taken = given if call.given >= call.taken else taken, None
        stream, ends = self.gpu.stream.value, self.ends
        if call.kind == "allreduce":
            ends.all_reduce(given, taken, stream=stream)
        elif call.kind == "allgather":
            ends.all_gather(given, taken, stream=stream)
        elif call.kind == "reducescatter":
            ends.reduce_scatter(given, taken, stream=stream)
        elif call.kind == "reduce":
            ends.reduce(given, call.root, taken, stream=stream)
        elif call.kind == "alltoall":
            ends.all_to_all(given, taken, stream=stream)
        else:
            ends.broadcast(given, call.root, stream=stream)

    def some_call(self, plan: random.Random, captured: bool = False, size: int = 0) -> Call:
        """Draw a call; a broadcast has one tensor."""
        call = super().some_call(plan, captured, size)
        call.in_place = call.in_place or call.kind == "broadcast"
        return call

    def close(self) -> None:
        """End this rank."""
        self.ends.close()


def caller_of(words: list[str], folder: Path, gpu: Gpu, number: int, ranks: int) -> Caller:
    """Return the one that the words name."""
    if "ours" in words:
        return OurCaller(folder, gpu, number, ranks, "copies" in words)
    return NcclCaller(folder, gpu, number, ranks)
