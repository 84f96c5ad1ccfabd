"""Ranks whose tensors lie in segments: `segment_ranks.py FOLDER RANK RANKS SEED WORDS`.

What is called follows from the seed, so that all ranks call the same. Where their tensors lie, what
is unmapped between calls and when they come is each rank's own. Every byte is compared. Words:
`nccl` for collectives and messages of NCCL, or `ours` for polypath.Collectives; `rounds=N`;
`repeat=N` makes some calls N times each, on the same memory, and nothing else; `whole` for memory
in one piece. Prints "right" and how many calls were captured.
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
from segment_callers import Call, Caller, RefusedError, caller_of
from segment_memory import UNIT, Allocator, Segment

ROOM = 1000 << 20
PATTERN = 10007  # elements after which contents repeat
ROUNDS = 6


@dataclass
class Tensors:
    """A rank's input and output of a call, maybe the same memory."""

    source: int
    target: int
    owned: list[int]


@dataclass
class Due:
    """A copy of what a call has given, and what that should be."""

    host: Value
    wanted: np.ndarray
    call: Call


class Rank:
    """One rank: its memory, its streams, and its view of each call."""

    def __init__(self, gpu: Gpu, caller: Caller, seed: int, words: dict[str, int]) -> None:
        self.gpu, self.driver, self.caller, self.number = gpu, gpu.driver, caller, caller.number
        self.own, self.pace = random.Random(1000 * seed + gpu.number), random.Random(gpu.number)
        sizes = self.own.choice(([UNIT], [2 * UNIT], [10 * UNIT], [UNIT, 3 * UNIT]))
        is_shared = self.own.random() < 0.95 or "repeat" in words
        pieces = [ROOM] if "whole" in words else sizes
        self.memory = Allocator(Segment(gpu, ROOM, pieces, int(is_shared)))
        self.due: list[Due] = []
        self.kept: list[int] = []
        self.unused: list[int] = []  # once the streams are over
        self.captured = 0
        self.side = Value()
        must(self.driver.cuStreamCreate(ctypes.byref(self.side), 1))

    def stream_of(self, call: Call) -> Value:
        """Return the main stream, or that for some of the ranks."""
        return self.gpu.stream if call.ranks == self.caller.whole else self.side

    def follow(self, later: Value, earlier: Value) -> None:
        """Let a stream wait for another one."""
        event = Value()
        must(self.driver.cuEventCreate(ctypes.byref(event), 2))
        must(self.driver.cuEventRecord(event, earlier))
        must(self.driver.cuStreamWaitEvent(later, event, 0))
        must(self.driver.cuEventDestroy_v2(event))

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

    def give_back(self, owned: list[int], is_side: bool) -> None:
        """Let others have the memory: at once, as the stream orders them, or later."""
        if self.own.random() < 0.2:
            self.kept += owned
        elif is_side:
            self.unused += owned
        else:
            for each in owned:
                self.memory.free(each)

    def settle(self) -> None:
        """Wait for the streams, and compare."""
        for stream in (self.gpu.stream, self.side):
            must(self.driver.cuStreamSynchronize(stream))
        for due in self.due:
            size = due.wanted.size
            found = np.ctypeslib.as_array((ctypes.c_float * size).from_address(due.host.value or 0))
            wrong = np.flatnonzero(found != due.wanted)
            assert not len(wrong), f"{due.call}: {len(wrong)} wrong from {wrong[0]} on"
            must(self.driver.cuMemFreeHost(due.host))
        self.due.clear()
        for each in self.unused:
            self.memory.free(each)
        self.unused.clear()

    def clean(self) -> None:
        """Free some of what was kept, and unmap some of what is free."""
        self.settle()
        self.own.shuffle(self.kept)
        for _ in range(self.own.randrange(len(self.kept) + 1)):
            self.memory.free(self.kept.pop())
        self.memory.trim(self.own)

    def rest(self) -> None:
        """Do something else for a while, sometimes."""
        if self.pace.random() < 0.2:
            time.sleep(self.pace.random() / 50)
        if self.pace.random() < 0.003:
            time.sleep(1.3)  # threads look at what is unused

    # --- calls ---

    def contents(self, call: Call, turn: int, rank: int) -> np.ndarray:
        """Return what a rank gives: small whole numbers, whose sums are exact."""
        chance = np.random.default_rng((call.number, turn, rank))
        return np.resize(chance.integers(0, 251, PATTERN).astype(np.float32), call.given)

    def begin(self, call: Call, turn: int, where: Tensors) -> None:
        """Write the input in the order of the stream."""
        contents = self.contents(call, turn, self.number)
        data, to = contents.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(where.source)
        size, stream = ctypes.c_size_t(contents.nbytes), self.stream_of(call)
        must(self.driver.cuMemcpyHtoDAsync_v2(to, data, size, stream))

    def end(self, call: Call, turn: int, where: Tensors) -> None:
        """Take what is in the output at this point of the stream, to be compared later."""
        inputs = [self.contents(call, turn, rank) for rank in call.ranks]
        wanted = call.wanted(inputs, self.number)
        if wanted is None:
            return
        host, size = Value(), ctypes.c_size_t(wanted.nbytes)
        must(self.driver.cuMemAllocHost_v2(ctypes.byref(host), size))
        of, stream = ctypes.c_uint64(where.target), self.stream_of(call)
        must(self.driver.cuMemcpyDtoHAsync_v2(host, of, size, stream))
        self.due.append(Due(host, wanted, call))

    def make(self, call: Call, where: Tensors) -> None:
        """Make the call."""
        self.caller.make(call, where.source, where.target, self.stream_of(call))

    def run(self, call: Call, repeats: int) -> None:
        """Make a call some times on the same memory."""
        where = self.tensors(call)
        is_side = call.ranks != self.caller.whole
        if is_side:
            self.follow(self.side, self.gpu.stream)
        for turn in range(repeats):
            self.begin(call, turn, where)
            self.rest()
            self.make(call, where)
            self.end(call, turn, where)
        self.give_back(where.owned, is_side)

    def capture(self, calls: list[Call]) -> Callable[[int], None] | None:
        """Make calls once, then capture them; return what replays them, if they may be captured."""
        where = [self.tensors(call) for call in calls]
        for call, each in zip(calls, where, strict=True):
            self.begin(call, 0, each)
            self.make(call, each)
            self.end(call, 0, each)
        graph, replayed, stream = Value(), Value(), self.gpu.stream
        must(self.driver.cuStreamBeginCapture_v2(stream, 2))
        try:
            for call, each in zip(calls, where, strict=True):
                self.make(call, each)
        except RefusedError:
            self.driver.cuStreamEndCapture(stream, ctypes.byref(graph))
            return None
        must(self.driver.cuStreamEndCapture(stream, ctypes.byref(graph)))
        made, flags = ctypes.byref(replayed), ctypes.c_ulonglong(0)
        must(self.driver.cuGraphInstantiateWithFlags(made, graph, flags))
        self.captured += len(calls)

        def replay(turn: int) -> None:
            for call, each in zip(calls, where, strict=True):
                self.begin(call, turn, each)
            self.rest()
            must(self.driver.cuGraphLaunch(replayed, stream))
            for call, each in zip(calls, where, strict=True):
                self.end(call, turn, each)

        return replay


def be_random(rank: Rank, plan: random.Random, rounds: int) -> None:
    """Make calls, capture some, replay what was captured before, and unmap in between."""
    graphs: list[Callable[[int], None]] = []
    for turn in range(1, rounds + 1):
        for _ in range(plan.randint(1, 3)):
            call, repeats = rank.caller.some_call(plan), plan.choice((1, 2, 4, 7))
            if rank.number in call.ranks:
                rank.run(call, repeats)
        if plan.random() < 0.4 and len(graphs) < 4:
            calls = [rank.caller.some_call(plan, captured=True) for _ in range(plan.randint(1, 3))]
            if replayed := rank.capture(calls):
                graphs.append(replayed)
        for replay in graphs:
            for _ in range(plan.randint(0, 2)):
                replay(turn)
        if rank.own.random() < 0.6:
            rank.clean()
    rank.settle()


def be_repeated(rank: Rank, plan: random.Random, repeats: int) -> None:
    """Make each of some calls many times."""
    for _ in range(4):
        rank.run(rank.caller.some_call(plan, size=plan.choice((9, 12)) << 20), repeats)
        rank.settle()


def main() -> None:
    """Be one rank."""
    folder, number, ranks, seed = Path(sys.argv[1]), *(int(word) for word in sys.argv[2:5])
    pairs = [word.partition("=") for word in sys.argv[5:]]
    words = {name: int(value or 0) for name, _, value in pairs}
    gpu, plan = Gpu(number), random.Random(seed)
    rank = Rank(gpu, caller_of(list(words), folder, number, ranks), seed, words)
    if "repeat" in words:
        be_repeated(rank, plan, words["repeat"])
    else:
        be_random(rank, plan, words.get("rounds", ROUNDS))
    rank.caller.close()
    rank.memory.segment.close()
    print("right", rank.captured)


if __name__ == "__main__":
    main()
