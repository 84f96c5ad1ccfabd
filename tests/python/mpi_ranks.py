"""A program whose ranks meet by mpi4py: as many nodes as it is told, then an end of a kind.

mpi_ranks.py NODES END, on the stand-in driver, which runs no kernels: nothing is reduced.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import mpi4py
import numpy as np
import polypath

NODES, END = int(sys.argv[1]), sys.argv[2]
COUNT, CALLS = 1 << 14, 20

if END == "serialized":
    mpi4py.rc.thread_level = "serialized"

from mpi4py import MPI  # noqa: E402


class Rank:
    """One rank's memory."""

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

    def gather_while_a_rank_waits(self) -> None:
        """Let rank 0 wait for the last one, which goes on when rank 0 has done its part."""
        last = self.ranks.size - 1
        self.gather()
        if self.ranks.rank == 0:
            MPI.COMM_WORLD.recv(source=last)
        if self.ranks.rank == last:
            self.ranks.synchronize()
            MPI.COMM_WORLD.send(None, dest=0)

    def gather_until_it_fails(self) -> str:
        """Return why it does."""
        while True:
            try:
                self.gather()
                self.ranks.synchronize()
            except polypath.Error as error:
                return str(error)


def main() -> None:
    """Gather, and end."""
    world = MPI.COMM_WORLD
    machine = polypath.Context()
    node = str(world.rank * NODES // world.size)
    with polypath.Collectives.from_mpi(world, world.rank, context=machine, node=node) as ranks:
        own = Rank(ranks, machine)
        own.check()
        own.gather_while_a_rank_waits()
        print(f"right by {ranks.carrier}.", flush=True)
        world.Barrier()
        if END == "error":
            if world.rank == world.size - 1:
                raise KeyError("no more gradients")
            print(own.gather_until_it_fails(), flush=True)
        if END == "finalized":
            MPI.Finalize()
            print(own.gather_until_it_fails(), flush=True)
            os._exit(0)


main()
