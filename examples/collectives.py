"""All GPUs sum what each of them has, and gather it.

torchrun --nproc-per-node 2 examples/collectives.py    one process per GPU of this computer
python examples/collectives.py                         three threads on a simulated machine
"""

from __future__ import annotations

import os
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


def simulated(size: int = 3) -> None:
    """Be all ranks, as threads."""
    machine, meeting = polypath.Context("h200x4"), polypath.Meeting(size)
    said = [""] * size

    def be(rank: int) -> None:
        with polypath.Collectives.from_threads(meeting, rank, context=machine) as ranks:
            mine = machine.allocate(ranks.gpu, 4 * COUNT)
            everybodys = machine.allocate(ranks.gpu, 4 * COUNT * size)
            mine.numpy().view(np.float32)[:] = rank + 1
            ranks.all_gather(mine, everybodys, dtype="float32")
            ranks.all_reduce(mine, dtype="float32")
            summed, first = (each.numpy().view(np.float32)[0] for each in (mine, everybodys))
            said[rank] = f"rank {rank}: the sum is {summed}, rank 0 had {first}"

    threads = [threading.Thread(target=be, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*said, sep="\n")


if __name__ == "__main__":
    on_gpus() if "LOCAL_RANK" in os.environ else simulated()
