"""Ranks whose tensors lie in expandable segments: `segment_ranks.py FOLDER RANK RANKS SEED [WORD]`.

What is called follows from the seed, so that all ranks call the same. Where their tensors lie, what
is unmapped between calls and when they come is each rank's own. Every byte is compared. WORD is
`nccl` for collectives and messages of NCCL, `ours` for polypath.Collectives; `repeat=N` calls each
of some collectives N times on the same memory and does nothing else. Prints "right" and how many
calls were captured.
"""

from __future__ import annotations

import ctypes
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from nccl_ranks import Gpu, Value, must
from segment_callers import Call, Caller, caller_of
from segment_memory import UNIT, Allocator, Segment

ROOM = 700 << 20
PATTERN = 10007  # elements after which contents repeat
ROUNDS = 7


@dataclass
class Tensors:
    """A rank's input and output of a call, maybe the same memory."""

    source: int
    target: int
    owned: list[int]


class Rank:
    """One rank: its memory, its graphs, and its view of each call."""

    def __init__(self, gpu: Gpu, caller: Caller, number: int, seed: int) -> None:
        self.gpu, self.driver, self.caller, self.number = gpu, gpu.driver, caller, number
        self.own, self.pace = random.Random(1000 * seed + number), random.Random(number)
        sizes = self.own.choice(([UNIT], [2 * UNIT], [10 * UNIT], [UNIT, 3 * UNIT]))
        sizes = [ROOM] if "whole" in sys.argv else sizes
        is_shared = self.own.random() < 0.95 or any("repeat" in word for word in sys.argv)
        self.memory = Allocator(Segment(gpu, ROOM, sizes, int(is_shared)))
        self.due: list[tuple[Value, np.ndarray, Call]] = []
        self.kept: list[int] = []
        self.captured = 0

    # --- memory ---

    def tensors(self, call: Call) -> Tensors:
        """Return memory for a call; in place the smaller one lies in the larger one."""
        given, taken = call.given, call.taken
        shift = 4 * self.own.choice((0, 0, 4, 1))
        if not call.in_place:
            owned = [self.memory.allocate(4 * count + shift) for count in (given, taken)]
            return Tensors(owned[0] + shift, owned[1] + shift, owned)
        owned = [self.memory.allocate(4 * max(given, taken) + shift)]
        source = target = owned[0] + shift
        if given < taken:
            source += 4 * given * call.rank_of(self.number)
        if taken < given:
            target += 4 * taken * call.rank_of(self.number)
        return Tensors(source, target, owned)

    def write(self, address: int, contents: np.ndarray) -> None:
        """Put it there in the order of the stream."""
        must(
            self.driver.cuMemcpyHtoDAsync_v2(
                ctypes.c_uint64(address),
                contents.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_size_t(contents.nbytes),
                self.gpu.stream,
            )
        )

    def read_later(self, address: int, wanted: np.ndarray, call: Call) -> None:
        """Compare what is there at this point of the stream, once that is over."""
        host = Value()
        must(self.driver.cuMemAllocHost_v2(ctypes.byref(host), ctypes.c_size_t(wanted.nbytes)))
        size = ctypes.c_size_t(wanted.nbytes)
        of = ctypes.c_uint64(address)
        must(self.driver.cuMemcpyDtoHAsync_v2(host, of, size, self.gpu.stream))
        self.due.append((host, wanted, call))

    def settle(self) -> None:
        """Wait for the stream, and compare."""
        must(self.driver.cuStreamSynchronize(self.gpu.stream))
        for host, wanted, call in self.due:
            size = wanted.size
            found = np.ctypeslib.as_array((ctypes.c_float * size).from_address(host.value))
            wrong = np.flatnonzero(found != wanted)
            assert not len(wrong), f"{call}: {len(wrong)} wrong from {wrong[0]} on"
            must(self.driver.cuMemFreeHost(host))
        self.due.clear()

    def rest(self) -> None:
        """Do something else for a while, sometimes."""
        if self.pace.random() < 0.2:
            time.sleep(self.pace.random() / 50)

    # --- calls ---

    def contents(self, call: Call, turn: int, rank: int, count: int) -> np.ndarray:
        """Return what a rank gives: small whole numbers, whose sums are exact."""
        chance = np.random.default_rng((call.number, turn + 1, rank))
        return np.resize(chance.integers(0, 251, PATTERN).astype(np.float32), count)

    def begin(self, call: Call, turn: int, where: Tensors) -> None:
        """Write the input."""
        self.write(where.source, self.contents(call, turn, self.number, call.given))

    def end(self, call: Call, turn: int, where: Tensors) -> None:
        """Look at the output, later."""
        inputs = [self.contents(call, turn, rank, call.given) for rank in call.ranks]
        wanted = call.wanted(inputs, self.number)
        if wanted is not None:
            self.read_later(where.target, wanted, call)

    def run(self, call: Call, repeats: int) -> None:
        """Make a call some times on the same memory, which is free then, or kept."""
        where = self.tensors(call)
        for turn in range(repeats):
            self.begin(call, turn, where)
            self.rest()
            self.caller.make(call, where.source, where.target)
            self.end(call, turn, where)
        if self.own.random() < 0.2:
            self.kept += where.owned
        else:
            for each in where.owned:
                self.memory.free(each)

    def capture(self, calls: list[Call]) -> Callable[[int], None]:
        """Make calls once, then capture them one after another; return what replays them."""
        where = [self.tensors(call) for call in calls]
        for call, each in zip(calls, where, strict=True):
            self.begin(call, -1, each)
            self.caller.make(call, each.source, each.target)
            self.end(call, -1, each)
        graph, replayed, stream = Value(), Value(), self.gpu.stream
        must(self.driver.cuStreamBeginCapture_v2(stream, 2))
        for call, each in zip(calls, where, strict=True):
            self.caller.make(call, each.source, each.target)
        must(self.driver.cuStreamEndCapture(stream, ctypes.byref(graph)))
        must(
            self.driver.cuGraphInstantiateWithFlags(
                ctypes.byref(replayed), graph, ctypes.c_ulonglong(0)
            )
        )
        self.captured += len(calls)

        def replay(turn: int) -> None:
            for call, each in zip(calls, where, strict=True):
                self.begin(call, turn, each)
            self.rest()
            must(self.driver.cuGraphLaunch(replayed, stream))
            for call, each in zip(calls, where, strict=True):
                self.end(call, turn, each)

        return replay

    def clean(self) -> None:
        """Free some of what was kept, and unmap some of what is free."""
        self.settle()
        self.own.shuffle(self.kept)
        for _ in range(self.own.randrange(len(self.kept) + 1)):
            self.memory.free(self.kept.pop())
        self.memory.trim(self.own)


def be_random(rank: Rank, plan: random.Random, caller: Caller) -> None:
    """Make calls, capture some, replay what was captured before, and unmap in between."""
    graphs: list[Callable[[int], None]] = []
    for turn in range(ROUNDS):
        for _ in range(plan.randint(1, 3)):
            call = caller.some_call(plan)
            repeats = plan.choice((1, 2, 4, 7))
            if rank.number in call.ranks:
                rank.run(call, repeats)
        if "eager" not in sys.argv and plan.random() < 0.4:
            calls = [caller.some_call(plan, captured=True) for _ in range(plan.randint(1, 3))]
            graphs.append(rank.capture(calls))
        for replay in graphs:
            for _ in range(plan.randint(0, 2)):
                replay(turn)
        if rank.own.random() < 0.6:
            rank.clean()
    rank.settle()


def be_repeated(rank: Rank, plan: random.Random, caller: Caller, repeats: int) -> None:
    """Make each of some calls many times."""
    for _ in range(4):
        call = caller.some_call(plan, size=plan.choice((9, 12)) << 20)
        rank.run(call, repeats)
        rank.settle()


def main() -> None:
    """Be one rank."""
    folder, number, ranks, seed = Path(sys.argv[1]), *(int(word) for word in sys.argv[2:5])
    words = sys.argv[5:]
    gpu, plan = Gpu(number), random.Random(seed)
    caller = caller_of(words, folder, gpu, number, ranks)
    rank = Rank(gpu, caller, number, seed)
    repeats = [int(word.removeprefix("repeat=")) for word in words if word.startswith("repeat=")]
    if repeats:
        be_repeated(rank, plan, caller, repeats[0])
    else:
        be_random(rank, plan, caller)
    caller.close()
    rank.memory.segment.close()
    print("right", rank.captured)


if __name__ == "__main__":
    main()
