"""All GPUs sum what each of them has, and gather it.

torchrun --nproc-per-node 2 examples/collectives.py    one process per GPU of this computer
torchrun --nnodes 2 ... examples/collectives.py        of several computers, as many of each
python examples/collectives.py                         four threads on a simulated machine
python examples/collectives.py 2                       the same, told that they are on two nodes
"""

from __future__ import annotations

import os
import sys
import threading

import numpy as np
import polypath

COUNT = 1 << 18  # elements that each rank gives


def on_gpus() -> None:
    """Be one of the processes that torchrun has started."""
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("gloo")  # only for the ranks to meet
    with polypath.Collectives.from_torch() as ranks:
        mine = torch.full((COUNT,), ranks.rank + 1.0, device="cuda")
        everybodys = torch.empty(ranks.size * COUNT, device="cuda")
        ranks.all_gather(mine, everybodys)  # on the current stream, as everything of PyTorch is
        ranks.all_reduce(mine)  # in place
        print(f"rank {ranks.rank}: the sum is {mine[0].item()}, rank 0 had {everybodys[0].item()}")
    dist.destroy_process_group()


def simulated(nodes: int, size: int = 4) -> None:
    """Be all ranks, as threads; those of different nodes send messages over TCP."""
    machine, meeting = polypath.Context("h200x4"), polypath.ThreadGroup(size)
    said = [""] * size

    def be(rank: int) -> None:
        node = str(rank * nodes // size)
        with polypath.Collectives.from_threads(
            meeting, rank, rank, context=machine, node=node
        ) as ranks:
            mine = machine.allocate(ranks.gpu, 4 * COUNT)
            everybodys = machine.allocate(ranks.gpu, 4 * COUNT * size)
            mine.numpy().view(np.float32)[:] = rank + 1
            ranks.all_gather(mine, everybodys, dtype="float32")
            ranks.all_reduce(mine, dtype="float32")
            summed, first = (each.numpy().view(np.float32)[0] for each in (mine, everybodys))
            where = f"rank {rank} on node {node} of {ranks.nodes}"
            said[rank] = f"{where}: the sum is {summed}, rank 0 had {first}"

    threads = [threading.Thread(target=be, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*said, sep="\n")


if __name__ == "__main__":
    on_gpus() if "LOCAL_RANK" in os.environ else simulated(int(sys.argv[1]) if sys.argv[1:] else 1)
