"""Ranks on a simulated machine: threads of this process, virtual time, Polypath alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polypath

from rivals.cases import Case, values
from rivals.polypath_contender import Polypath
from rivals.ranks import Call, Lap, Ranks

STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


class Table:
    """Where threads put down what they tell the others."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._told: list[Any] = [None] * size
        self._barrier = threading.Barrier(size)

    def agree(self, rank: int, mine: Any) -> list[Any]:
        """Return what each has told. Waits for all."""
        self._told[rank] = mine
        self._barrier.wait()
        everybodys = list(self._told)
        self._barrier.wait()
        return everybodys

    def leave(self) -> None:
        """Let nobody wait for one that has failed."""
        self._barrier.abort()


class SimulatedRanks(Ranks):
    """One thread of them."""

    def __init__(self, rank: int, table: Table, context: polypath.Context) -> None:
        self.rank, self.size = rank, table.size
        self.context, self._table = context, table
        self.stream = context.stream(f"gpu{rank}")

    def agree(self, mine: Any) -> list[Any]:
        """Return what each rank gives. Waits for all."""
        return self._table.agree(self.rank, mine)

    def tensor(self, kind: str, elements: int) -> polypath.Buffer:
        """Return memory on this rank's GPU."""
        return self.context.allocate(f"gpu{self.rank}", elements * np.dtype(kind).itemsize)

    def fill(self, tensor: Any, rank: int) -> None:
        """Write what that rank gives, as `kind` of the last case."""
        array = self.array(tensor)
        array[:] = values(np.arange(len(array)), rank)

    def spoil(self, tensor: Any) -> None:
        """Write what no result is."""
        self.array(tensor)[:] = 101

    def array(self, tensor: Any) -> Any:
        """Return the elements."""
        return tensor.numpy().view(self.kind)

    kind = "float32"  # of the case

    def holds(self, tensor: Any, start: int, length: int, case: Case, sources: Any) -> bool:
        """Return whether these elements are the reduction of those that are given."""
        given = [values(np.arange(at, at + length), giver) for giver, at in sources]
        wanted = given[0]
        for each in given[1:]:
            wanted = STEPS[case.reduction](wanted, each)
        return bool(np.array_equal(self.array(tensor)[start : start + length], wanted))

    def settle(self) -> None:
        """Wait for this rank's stream."""
        self.stream.synchronize()

    def start_lap(self, calls: int, call: Call, per_call: int) -> Callable[[], Lap]:
        """Enqueue calls in a row; the time is that of the virtual clock, which all ranks share."""
        begin, before = self.context.now(), time.perf_counter()
        for _ in range(calls):
            call()
        host = time.perf_counter() - before
        done = calls * per_call
        return lambda: Lap((self.context.now() - begin) / done, host / done)


class SimulatedPolypath(Polypath):
    """Ranks that meet as threads."""

    modes = ("eager",)
    meeting: polypath.ThreadGroup

    def join(self, ranks: Ranks) -> polypath.Collectives:
        """Return this rank's end."""
        assert isinstance(ranks, SimulatedRanks)
        return polypath.Collectives.from_threads(self.meeting, ranks.rank, context=ranks.context)

    def ready(self, case: Case) -> Any:
        """Say which elements the memory has."""
        assert isinstance(self.ranks, SimulatedRanks)
        self.ranks.kind = case.type
        return super().ready(case)

    def more(self, case: Case) -> dict[str, Any]:
        """Return the stream, and the type that buffers do not know."""
        assert isinstance(self.ranks, SimulatedRanks)
        return {"stream": self.ranks.stream, "dtype": case.type}
