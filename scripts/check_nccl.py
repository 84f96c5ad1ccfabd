#!/usr/bin/env python3
"""Random collectives of PyTorch's process groups for NCCL, every element of every result checked.

Usage: torchrun --nproc-per-node N check_nccl.py [--seconds S] [--seed N] [--most BYTES]

It knows nothing of Polypath; `polypath run --` may stand before it. All ranks draw the same calls:
operations, types, sizes down to one element, in place or not (each rank for itself), eagerly,
asynchronously on two groups at once, in coalesced groups, and as CUDA graphs that are launched
again between other calls. Inputs are whole numbers whose sums are exact. Rank 0 prints how many
calls were made and how many were wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

TYPES = (torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8)
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "reduce")
CALLS_OF_GRAPH = 3
MOST_GRAPHS = 8


class Call:
    """A call with memory of its own."""

    def __init__(self, shared: random.Random, own: random.Random, most: int) -> None:
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.name = shared.choice(OPERATIONS)
        self.dtype = shared.choice(TYPES)
        room = most // self.dtype.itemsize // self.ranks
        self.count = max(int(room ** shared.random()), 1)  # of a part
        self.root = shared.randrange(self.ranks)
        self.seed = shared.randrange(1 << 16)
        all_of = self.count * self.ranks
        has_parts = self.name in ("reduce_scatter", "all_to_all")
        self.given = torch.empty(
            all_of if has_parts else self.count, device="cuda", dtype=self.dtype
        )
        self.result = self.given
        if self.name == "all_gather":
            self.result = torch.empty(all_of, device="cuda", dtype=self.dtype)
            if own.random() < 0.5:
                self.given = self.result[self.rank * self.count :][: self.count]
        elif self.name == "reduce_scatter":
            in_place = own.random() < 0.5
            place = self.given[self.rank * self.count :][: self.count]
            self.result = place if in_place else torch.empty_like(place)
        elif self.name == "all_to_all":
            self.result = torch.empty_like(self.given)

    def values(self, rank: int, count: int) -> torch.Tensor:
        """Return what a rank gives."""
        numbers = torch.arange(count, device="cuda", dtype=torch.int64)
        return ((numbers * 7 + self.seed + rank * 3) % 11).to(self.dtype)

    def fill(self) -> None:
        """Write what this rank gives, and elsewhere what no result is."""
        if self.result.data_ptr() != self.given.data_ptr():
            self.result.fill_(99)
        self.given.copy_(self.values(self.rank, len(self.given)))

    def make(self, group: dist.ProcessGroup, wait: bool = True) -> dist.Work | None:
        """Make it."""
        more = {"group": group, "async_op": not wait}
        if self.name == "all_reduce":
            return dist.all_reduce(self.given, **more)
        if self.name == "reduce":
            return dist.reduce(self.given, self.root, **more)
        if self.name == "broadcast":
            return dist.broadcast(self.given, self.root, **more)
        if self.name == "all_gather":
            return dist.all_gather_into_tensor(self.result, self.given, **more)
        if self.name == "reduce_scatter":
            return dist.reduce_scatter_tensor(self.result, self.given, **more)
        return dist.all_to_all_single(self.result, self.given, **more)

    def is_right(self) -> bool:
        """Compare every element."""
        everything = [self.values(rank, len(self.given)) for rank in range(self.ranks)]
        own = slice(self.rank * self.count, (self.rank + 1) * self.count)
        if self.name == "broadcast":
            wanted = everything[self.root]
        elif self.name == "all_gather":
            wanted = torch.cat([self.values(rank, self.count) for rank in range(self.ranks)])
        elif self.name == "all_to_all":
            wanted = torch.cat([each[own] for each in everything])
        else:
            wanted = sum(each.to(torch.int64) for each in everything).to(self.dtype)
            if self.name == "reduce_scatter":
                wanted = wanted[own]
            if self.name == "reduce" and self.rank != self.root:
                return True
        return bool(torch.equal(self.result, wanted))


class Checked:
    """What has been made, and how much of it was wrong."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.shared = random.Random(options.seed)
        self.own = random.Random(options.seed * 1000 + dist.get_rank())
        self.most = options.most
        self.groups = [dist.group.WORLD, dist.new_group(list(range(dist.get_world_size())))]
        self.graphs: list[tuple[torch.cuda.CUDAGraph, list[Call]]] = []
        self.calls = self.wrong = 0

    def new_call(self) -> Call:
        """Draw a call."""
        return Call(self.shared, self.own, self.most)

    def look(self, calls: list[Call]) -> None:
        """Count them, and those that are wrong."""
        torch.cuda.synchronize()
        self.calls += len(calls)
        for call in calls:
            if not call.is_right():
                self.wrong += 1
                print(f"rank {call.rank}: {call.name} of {call.count} {call.dtype} is wrong")

    def step(self) -> None:
        """Make a few calls."""
        ways: list[Callable[[], None]] = [self.one, self.at_once, self.together, self.again]
        if len(self.graphs) < MOST_GRAPHS:
            ways.append(self.capture)
        self.shared.choice(ways)()

    def one(self) -> None:
        """Make a call several times."""
        call = self.new_call()
        for _ in range(self.shared.randrange(1, 4)):
            call.fill()
            call.make(self.shared.choice(self.groups))
        self.look([call])

    def at_once(self) -> None:
        """Make calls on two groups, each in a stream of its own."""
        calls = [self.new_call() for _ in range(4)]
        for call in calls:
            call.fill()
        works = [call.make(self.groups[i % 2], wait=False) for i, call in enumerate(calls)]
        for work in works:
            assert work is not None
            work.wait()
        self.look(calls)

    def together(self) -> None:
        """Make all-reduces of one group call of NCCL."""
        first = self.new_call()
        if first.name != "all_reduce":
            return
        calls = [first, *(self.new_call() for _ in range(3))]
        calls = [call for call in calls if call.name == "all_reduce" and call.dtype == first.dtype]
        for call in calls:
            call.fill()
        with dist._coalescing_manager(device=torch.device("cuda")):
            for call in calls:
                call.make(self.groups[0])
        self.look(calls)

    def capture(self) -> None:
        """Make a graph of calls, of which some were never made before."""
        calls = [self.new_call() for _ in range(CALLS_OF_GRAPH)]
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for call in calls:
                call.make(self.groups[0])
        self.graphs.append((graph, calls))
        self.again()

    def again(self) -> None:
        """Launch a graph."""
        if not self.graphs:
            return
        graph, calls = self.shared.choice(self.graphs)
        for call in calls:
            call.fill()
        graph.replay()
        self.look(calls)


def main() -> int:
    """Check for some time; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=64 << 20, help="bytes of the largest memory")
    options = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    checked = Checked(options)
    begun = time.monotonic()
    going = torch.ones(1, device=device)
    while bool(going.item()):
        for _ in range(20):
            checked.step()
        going.fill_(float(time.monotonic() - begun < options.seconds))
        dist.broadcast(going, 0)
    counted = torch.tensor([checked.calls, checked.wrong], device=device)
    dist.all_reduce(counted)
    if dist.get_rank() == 0:
        print(f"{int(counted[0])} calls, {int(counted[1])} wrong")
    checked.graphs.clear()  # they use the process group
    dist.destroy_process_group()
    return int(int(counted[1]) > 0)


if __name__ == "__main__":
    sys.exit(main())
