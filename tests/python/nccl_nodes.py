"""Ranks of several nodes that use NCCL: `python nccl_nodes.py FOLDER RANK RANKS SEED [WORD...]`.

RANK is a number, or `0-1` for ranks that are threads of this process. Which node a process is on is
told by NCCL_HOSTID. Values follow from the seed, and so all ranks know
them. Prints "right" if every result is. The words say what is left out or done besides.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from nccl_messages import LARGE, Bytes, Rank, exchange
from nccl_ranks import Gpu, UniqueId, Value, communicator, library, must, shared_id

TYPES = {0: np.int8, 2: np.int32, 4: np.int64, 6: np.float16, 7: np.float32, 8: np.float64}
FLOATS = (6, 7, 8)
FLOAT32, INT32 = 7, 2
SUM, PRODUCT, MAX, MIN, AVERAGE = range(5)
INVALID_USAGE, REMOTE_ERROR = 5, 6
COUNTS = (1, 7, 1000, 4097)
LARGE_COUNT = (5 << 20) + 13  # of float32 elements: several pieces between nodes


@dataclass
class Nodes:
    """The ranks, node by node."""

    ranks: int
    per_node: int

    def total(self, values: list[np.ndarray], operation: int) -> np.ndarray:
        """Return the reduction: in each node in the order of its ranks, then in that of nodes."""
        nodes = [values[at : at + self.per_node] for at in range(0, self.ranks, self.per_node)]
        sums = [self.reduced(parts, operation) for parts in nodes]
        total = self.reduced(sums, operation)
        return total / total.dtype.type(self.ranks) if operation == AVERAGE else total

    @staticmethod
    def reduced(values: list[np.ndarray], operation: int) -> np.ndarray:
        """Return it in the order of the values."""
        combine = {PRODUCT: np.multiply, MAX: np.maximum, MIN: np.minimum}.get(operation, np.add)
        result = values[0]
        for each in values[1:]:
            result = combine(result, each)
        return result


class Caller:
    """One rank that makes collectives and looks at their results."""

    def __init__(self, rank: Rank, nodes: Nodes, seed: int) -> None:
        self.rank, self.nodes, self.chance = rank, nodes, np.random.default_rng(seed)
        self.nccl, self.stream = rank.nccl, rank.gpu.stream

    def given(self, count: int, kind: int) -> list[np.ndarray]:
        """Return what all ranks give: fractions, where the type has them."""
        dtype = TYPES[kind]
        if kind in FLOATS:
            return [self.chance.random(count).astype(dtype) for _ in range(self.nodes.ranks)]
        return [self.chance.integers(-3, 4, count, dtype) for _ in range(self.nodes.ranks)]

    def memory(self, data: np.ndarray) -> Bytes:
        """Return memory with these values."""
        made = Bytes(self.rank.gpu, max(data.nbytes, 1))
        made.write(0, data.tobytes())
        return made

    def check(self, made: Bytes, wanted: np.ndarray, what: object, offset: int = 0) -> None:
        """Compare what is there, to the bit, and free the memory."""
        found = np.frombuffer(made.read(offset, wanted.nbytes), wanted.dtype)
        same = found.tobytes() == wanted.tobytes()
        wrong = np.flatnonzero(found != wanted)
        assert same, (self.rank.number, what, len(wrong), wrong[:3], found[:3], wanted[:3])
        must(self.rank.gpu.driver.cuMemFree_v2(made.address))

    def all_reduce(self, count: int, kind: int, operation: int, in_place: bool) -> None:
        """Sum values of all ranks up."""
        given = self.given(count, kind)
        own = self.memory(given[self.rank.number])
        result = own if in_place else self.memory(np.zeros(count, TYPES[kind]))
        must(
            self.nccl.ncclAllReduce(
                own.at(0), result.at(0), count, kind, operation, self.rank.comm, self.stream
            )
        )
        self.check(result, self.nodes.total(given, operation), ("sum", count, kind, operation))

    def begin_sum(self) -> int:
        """Make a call, and return what NCCL says."""
        return self.sum_up(self.memory(np.zeros(5000, np.float32)))

    def sum_up(self, memory: Bytes) -> int:
        """Make a call of float32 elements in place, and return what NCCL says."""
        start, count = memory.at(0), memory.count // 4
        status = self.nccl.ncclAllReduce(
            start, start, count, FLOAT32, SUM, self.rank.comm, self.stream
        )
        return int(status)

    def reduce_scatter(self, count: int, kind: int, operation: int, in_place: bool) -> None:
        """Give each rank its part of the sum."""
        given = self.given(count * self.nodes.ranks, kind)
        own = self.memory(given[self.rank.number])
        offset = own.count // self.nodes.ranks * self.rank.number if in_place else 0
        result = own if in_place else self.memory(np.zeros(count, TYPES[kind]))
        must(
            self.nccl.ncclReduceScatter(
                own.at(0), result.at(offset), count, kind, operation, self.rank.comm, self.stream
            )
        )
        total = self.nodes.total(given, operation)
        part = total[count * self.rank.number : count * (self.rank.number + 1)]
        self.check(result, part, ("scatter", count, kind, operation), offset)

    def all_gather(self, count: int, kind: int, in_place: bool) -> None:
        """Give each rank what all have."""
        given = self.given(count, kind)
        wanted = np.concatenate(given)
        own = self.memory(given[self.rank.number])
        result = self.memory(np.zeros(len(wanted), TYPES[kind]))
        source = own.at(0)
        if in_place:
            offset = given[0].nbytes * self.rank.number
            result.write(offset, given[self.rank.number].tobytes())
            source = result.at(offset)
        must(
            self.nccl.ncclAllGather(source, result.at(0), count, kind, self.rank.comm, self.stream)
        )
        self.check(result, wanted, ("gather", count, kind))


def operations_of(kind: int) -> tuple[int, ...]:
    """Return what can be ours of a type."""
    return (SUM, PRODUCT, AVERAGE) if kind in FLOATS else (SUM, PRODUCT, MAX, MIN)


def all_kinds(caller: Caller) -> None:
    """Make calls of all types, sizes and reductions that are ours on several nodes."""
    for kind in TYPES:
        for count in COUNTS:
            for operation in operations_of(kind):
                in_place = (count + operation) % 2 == 0
                caller.all_reduce(count, kind, operation, in_place)
                caller.reduce_scatter(count, kind, operation, not in_place)
            caller.all_gather(count, kind, count % 2 == 0)


def large_calls(caller: Caller) -> None:
    """Make calls that go in several pieces."""
    for in_place in (True, False):
        caller.all_reduce(LARGE_COUNT, FLOAT32, SUM, in_place)
        caller.reduce_scatter(LARGE_COUNT // caller.nodes.ranks, FLOAT32, AVERAGE, in_place)
        caller.all_gather(LARGE_COUNT // caller.nodes.ranks, FLOAT32, in_place)


def among_others(caller: Caller, chance: random.Random) -> None:
    """Put sends, receives, groups and NCCL's own collectives on the same communicator between."""
    ranks = caller.nodes.ranks
    for _ in range(4):
        size = chance.choice((5000, LARGE))
        exchange(
            caller.rank,
            {(each, (each + 1) % ranks): chance.randbytes(size) for each in range(ranks)},
        )
        caller.all_reduce(1000, FLOAT32, SUM, False)
        queue(caller, 6)
        caller.reduce_scatter(333, INT32, SUM, True)
        in_group(caller, lambda: broadcast(caller))
        in_group(caller, lambda: must(caller.begin_sum()))
        caller.all_gather(77, INT32, False)


def broadcast(caller: Caller) -> None:
    """Make a call that is NCCL's on several nodes."""
    memory = caller.memory(np.zeros(100, np.float32))
    must(
        caller.nccl.ncclBroadcast(
            memory.at(0), memory.at(0), 100, FLOAT32, 0, caller.rank.comm, caller.stream
        )
    )


def in_group(caller: Caller, call: Callable[[], None]) -> None:
    """Make it in a group."""
    with caller.rank.group():
        call()


def queue(caller: Caller, times: int) -> None:
    """Queue calls in two streams in turn, of which each needs the result of the one before."""
    driver, other, event = caller.rank.gpu.driver, Value(), Value()
    caller.rank.gpu.use()
    must(driver.cuStreamCreate(ctypes.byref(other), 1))
    must(driver.cuEventCreate(ctypes.byref(event), 2))
    given = [np.arange(4097, dtype=np.int32) % 5 + rank for rank in range(caller.nodes.ranks)]
    memory = caller.memory(given[caller.rank.number])
    streams = (caller.stream, other)
    for number in range(times):
        stream = streams[number % 2]
        must(
            caller.nccl.ncclAllReduce(
                memory.at(0), memory.at(0), 4097, INT32, SUM, caller.rank.comm, stream
            )
        )
        must(driver.cuEventRecord(event, stream))
        must(driver.cuStreamWaitEvent(streams[(number + 1) % 2], event, 0))
    must(driver.cuStreamSynchronize(other))
    wanted = caller.nodes.total(given, SUM) * np.int32(caller.nodes.ranks ** (times - 1))
    caller.check(memory, wanted, "queue")
    must(driver.cuStreamDestroy_v2(other))
    must(driver.cuEventDestroy_v2(event))


def parts(caller: Caller, seed: int) -> None:
    """Make calls on parts of the communicator: of one node, across nodes, and of all reversed."""
    rank, nodes = caller.rank, caller.nodes
    node, local = divmod(rank.number, nodes.per_node)
    last = nodes.ranks - 1
    for color, key, number, shape in (
        (node, local, local, Nodes(nodes.per_node, nodes.per_node)),
        (local, node, node, Nodes(nodes.ranks // nodes.per_node, 1)),
        (0, -rank.number, last - rank.number, nodes),
    ):
        part = Value()
        must(caller.nccl.ncclCommSplit(rank.comm, color, key, ctypes.byref(part), None))
        own = Caller(Rank(rank.nccl, number, shape.ranks, rank.gpu, part), shape, seed + color)
        own.all_reduce(1000, INT32, SUM, True)
        own.reduce_scatter(50, INT32, SUM, False)
        own.all_gather(50, INT32, True)
        must(caller.nccl.ncclCommDestroy(part))


def captured(caller: Caller) -> None:
    """Capture a call: it is NCCL's, and the stand-in refuses it. Others are as before."""
    driver, graph = caller.rank.gpu.driver, Value()
    caller.all_reduce(1000, INT32, SUM, True)
    own = caller.memory(np.zeros(5000, np.float32))
    caller.rank.gpu.use()
    must(driver.cuStreamBeginCapture_v2(caller.stream, 2))
    assert caller.sum_up(own) != 0
    driver.cuStreamEndCapture(caller.stream, ctypes.byref(graph))
    caller.all_reduce(1000, INT32, SUM, True)


def be_left_alone(caller: Caller) -> None:
    """End without a word if this is the last rank; else be told that it has ended."""
    rank, nccl, driver = caller.rank, caller.nccl, caller.rank.gpu.driver
    if rank.number == caller.nodes.ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    assert caller.begin_sum() in (0, REMOTE_ERROR)  # the others may have been told already
    error, end = ctypes.c_int(0), time.monotonic() + 60
    while error.value == 0:
        assert time.monotonic() < end, "nothing is said"
        must(nccl.ncclCommGetAsyncError(rank.comm, ctypes.byref(error)))
    must(driver.cuStreamSynchronize(caller.stream))
    must(nccl.ncclCommAbort(rank.comm))
    print(f"error {error.value}", flush=True)
    os._exit(0)


def be_revoked(caller: Caller, seed: int) -> None:
    """Revoke the communicator while the last rank is missing, and go on with a part of it."""
    rank, nccl = caller.rank, caller.nccl
    if rank.number < caller.nodes.ranks - 1:
        assert caller.begin_sum() in (0, REMOTE_ERROR)  # another rank may have revoked it already
    must(nccl.ncclCommRevoke(rank.comm, 0))
    must(rank.gpu.driver.cuStreamSynchronize(caller.stream))
    assert caller.begin_sum() == INVALID_USAGE
    part = Value()
    must(nccl.ncclCommSplit(rank.comm, 0, rank.number, ctypes.byref(part), None))
    own = Rank(nccl, rank.number, rank.ranks, rank.gpu, part)
    Caller(own, caller.nodes, seed).all_reduce(1000, FLOAT32, SUM, False)
    must(nccl.ncclCommDestroy(part))


def joined(folder: Path, rank: int, ranks: int, gpu: Gpu) -> tuple[ctypes.CDLL, Value]:
    """Return the communicator of all."""
    nccl = library()
    nccl.ncclCommRevoke.argtypes = [Value, ctypes.c_int]
    nccl.ncclReduceScatter.argtypes = nccl.ncclAllReduce.argtypes
    for call in (nccl.ncclSend, nccl.ncclRecv):
        call.argtypes = [Value, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, Value, Value]
    unique: UniqueId = shared_id(nccl, folder, rank)
    gpu.use()
    return nccl, communicator(nccl, unique, rank, ranks)


def run_rank(folder: Path, number: int, ranks: int, seed: int, words: list[str]) -> None:
    """Be one rank."""
    gpu = Gpu(number)
    nccl, comm = joined(folder, number, ranks, gpu)
    per_node = ranks - 1 if "uneven" in words else ranks // 2
    caller = Caller(Rank(nccl, number, ranks, gpu, comm), Nodes(ranks, per_node), seed)
    whole: dict[str, Callable[[], None]] = {
        "left-alone": lambda: be_left_alone(caller),
        "kinds": lambda: all_kinds(caller),
        "captured": lambda: captured(caller),
        "large": lambda: large_calls(caller),
        "others": lambda: among_others(caller, random.Random(seed)),
        "uneven": lambda: caller.all_reduce(1000, INT32, SUM, False),
        "revoked": lambda: be_revoked(caller, seed),
        "parts": lambda: parts(caller, seed),
    }
    for word in words:
        whole[word]()
    must(nccl.ncclCommDestroy(comm))


def main() -> None:
    """Be the ranks of a process."""
    folder, ranks, seed = Path(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4])
    first, _, last = sys.argv[2].partition("-")
    numbers = range(int(first), int(last or first) + 1)
    with ThreadPoolExecutor(len(numbers)) as threads:
        works = [
            threads.submit(run_rank, folder, number, ranks, seed, sys.argv[5:])
            for number in numbers
        ]
    for work in works:
        work.result()
    print("right")


if __name__ == "__main__":
    main()
