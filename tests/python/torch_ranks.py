"""A program whose ranks meet by torch.distributed, on two nodes; then an end of a kind.

torch_ranks.py RANK SIZE FILE END, on the stand-in driver
"""

from __future__ import annotations

import os
import signal
import sys

import polypath
import torch.distributed
from gathering import Rank

RANK, SIZE, FILE, END = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]


def main() -> None:
    """Gather, and end."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{FILE}", rank=RANK,
                                         world_size=SIZE)  # fmt: skip
    machine = polypath.Context()
    node = str(RANK * 2 // SIZE)
    with polypath.Collectives.from_torch(gpu=RANK, context=machine, node=node) as ranks:
        own = Rank(ranks, machine)
        own.check()
        print(f"right by {ranks.carrier}.", flush=True)
        torch.distributed.barrier()
        if END == "well":
            return
        if END == "stopped" and node == "1":
            os.kill(os.getpid(), signal.SIGSTOP)
        if RANK == SIZE - 1:
            if END == "killed":
                os._exit(1)
            raise KeyError("no more gradients")
        print(own.gather_until_it_fails(), flush=True)


main()
