"""One rank that gathers, on the stand-in driver, which runs no kernels: nothing is reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
import polypath

COUNT, CALLS = 1 << 14, 20


class Rank:
    """Its memory and its stream."""

    def __init__(self, ranks: polypath.Collectives, machine: polypath.Context) -> None:
        self.ranks, self.machine = ranks, machine
        self.stream = machine.stream(ranks.gpu)
        given = self.host(np.arange(COUNT) + COUNT * ranks.rank)
        self.mine = machine.allocate(ranks.gpu, given.nbytes)
        self.taken = machine.allocate(ranks.gpu, given.nbytes * ranks.size)
        machine.copy(self.mine, given, stream=self.stream)

    def host(self, contents: Any) -> polypath.Buffer:
        """Return pinned memory with this in it."""
        buffer = self.machine.allocate("host0", 4 * len(contents))
        buffer.numpy().view(np.float32)[:] = contents
        return buffer

    def gather(self) -> None:
        """Enqueue an all-gather."""
        self.ranks.all_gather(self.mine, self.taken, self.stream, dtype="float32")

    def check(self) -> None:
        """Gather, and look at the result."""
        copy = self.host(np.zeros(COUNT * self.ranks.size))
        for _ in range(CALLS):
            self.gather()
        self.machine.copy(copy, self.taken, stream=self.stream)
        self.stream.synchronize()
        assert np.array_equal(copy.numpy().view(np.float32), np.arange(COUNT * self.ranks.size))

    def gather_until_it_fails(self) -> str:
        """Return why it does."""
        while True:
            try:
                self.gather()
                self.ranks.synchronize()
            except polypath.Error as error:
                return str(error)
