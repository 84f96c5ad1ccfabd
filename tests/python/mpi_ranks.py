"""A program whose ranks meet by mpi4py: as many nodes as it is told, then an end of a kind.

mpi_ranks.py NODES END FOLDER, on the stand-in driver, which runs no kernels: nothing is reduced.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import mpi4py
import polypath
from gathering import Rank

NODES, END = int(sys.argv[1]), sys.argv[2]

if END == "serialized":
    mpi4py.rc.thread_level = "serialized"

from mpi4py import MPI  # noqa: E402


def gather_while_a_rank_waits(own: Rank) -> None:
    """Let rank 0 wait for the last one, which goes on when rank 0 has done its part."""
    last = own.ranks.size - 1
    own.gather()
    if own.ranks.rank == 0:
        MPI.COMM_WORLD.recv(source=last)
    if own.ranks.rank == last:
        own.ranks.synchronize()
        MPI.COMM_WORLD.send(None, dest=0)


def leave(folder: Path, ranks: polypath.Collectives, error: str) -> None:
    """Leave the error in a file, and end when all have: MPICH ends with the first rank to end."""
    own = folder / f"{ranks.rank}.own"
    own.write_text(error)
    own.rename(folder / str(ranks.rank))
    while not all((folder / str(rank)).exists() for rank in range(ranks.size)):
        time.sleep(0.01)
    os._exit(0)


def main() -> None:
    """Gather, and end."""
    world = MPI.COMM_WORLD
    machine = polypath.Context()
    on_node = world.Split(world.rank * NODES // world.size)
    node = str(world.rank * NODES // world.size)
    with polypath.Collectives.from_mpi(world, world.rank, context=machine, node=node) as ranks:
        own = Rank(ranks, machine)
        own.check()
        gather_while_a_rank_waits(own)
        print(f"right by {ranks.carrier}.", flush=True)
        world.Barrier()
        if END == "error":
            if world.rank == world.size - 1:
                raise KeyError("no more gradients")
            print(own.gather_until_it_fails(), flush=True)
        if END in ("stopped", "killed"):
            if node == str(NODES - 1):
                os.kill(os.getpid(), signal.SIGSTOP if END == "stopped" else signal.SIGKILL)
            print(f"rank {world.rank}: {own.gather_until_it_fails()}", flush=True)
            on_node.Barrier()
            world.Abort(3)
        if END == "finalized":
            MPI.Finalize()
            leave(Path(sys.argv[3]), ranks, own.gather_until_it_fails())


main()
