"""Random collectives of PyTorch's process group for NCCL: every element of every result compared.

Usage: torchrun --nproc-per-node N random_torch_collectives.py [--seed N] [--steps N] [--most BYTES]

It knows nothing of Polypath; `polypath run --` may stand before it. All ranks draw the same calls:
operation, type, length, group, eager or captured, in which stream. Each draws for itself where its
tensors lie: it keeps others, frees some, and gives memory back between the calls. Earlier graphs
are replayed between later calls. Exit status 1 if a result was wrong.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
from dataclasses import dataclass
from typing import Any, Callable

import torch
import torch.distributed as dist

TYPES = (torch.float32, torch.bfloat16, torch.int32)
MODES = ("eager", "eager", "graph", "side stream")
MOST_KEPT, MOST_GRAPHS = 6, 4


@dataclass
class Call:
    """A call with its tensors: `reset` undoes it, `run` makes it, `is_right` compares."""

    reset: Callable[[], Any]
    run: Callable[[], Any]
    is_right: Callable[[], bool]


Graphs = list[tuple[torch.cuda.CUDAGraph, Call]]  # of one group, the oldest first


@dataclass
class Group:
    """Ranks of the job, as PyTorch knows them."""

    members: list[int]
    handle: Any

    @property
    def own(self) -> int:
        """This rank's number in the group."""
        return self.members.index(dist.get_rank())


@dataclass
class Operands:
    """What the calls of a step have in common: whole numbers, so that sums are exact."""

    group: Group
    count: int
    type: torch.dtype
    salt: int
    padding: int

    @property
    def ranks(self) -> int:
        """How many take part."""
        return len(self.group.members)

    @property
    def part(self) -> int:
        """Elements of one rank's part."""
        return self.count // self.ranks

    def values(self, rank: int, count: int) -> torch.Tensor:
        """Return what a rank gives."""
        numbers = torch.arange(count, device="cuda") * 3 + self.salt
        return (numbers % 11 + rank).to(self.type)

    def total(self) -> torch.Tensor:
        """Return the sum of what all ranks give."""
        parts = [self.values(rank, self.count).to(torch.float32) for rank in range(self.ranks)]
        return torch.stack(parts).sum(0).to(self.type)

    def empty(self, count: int) -> torch.Tensor:
        """Return memory at an offset of this rank's own."""
        whole = torch.empty(count + self.padding, device="cuda", dtype=self.type)
        return whole[self.padding :]

    def given(self, count: int) -> torch.Tensor:
        """Return what this rank gives, in memory of its own."""
        return self.empty(count).copy_(self.values(self.group.own, count))


def in_place(of: Operands, run: Callable[[torch.Tensor], Any], wanted: torch.Tensor) -> Call:
    """Return a call that replaces its input."""
    memory, own = of.given(of.count), of.values(of.group.own, of.count)
    return Call(lambda: memory.copy_(own), lambda: run(memory), lambda: torch.equal(memory, wanted))


def into(result: torch.Tensor, run: Callable[[torch.Tensor], Any], wanted: torch.Tensor) -> Call:
    """Return a call with an output of its own."""
    return Call(result.zero_, lambda: run(result), lambda: torch.equal(result, wanted))


def all_reduce(of: Operands) -> Call:
    """Sums."""
    return in_place(of, lambda all_of: dist.all_reduce(all_of, group=of.group.handle), of.total())


def all_reduce_max(of: Operands) -> Call:
    """The last rank's values are the largest."""
    wanted = of.values(of.ranks - 1, of.count)
    return in_place(
        of, lambda all_of: dist.all_reduce(all_of, dist.ReduceOp.MAX, of.group.handle), wanted
    )


def broadcast(of: Operands) -> Call:
    """From any rank."""
    root = of.salt % of.ranks
    number = of.group.members[root]
    return in_place(
        of,
        lambda all_of: dist.broadcast(all_of, number, group=of.group.handle),
        of.values(root, of.count),
    )


def all_gather(of: Operands) -> Call:
    """Into one tensor."""
    given = of.given(of.part)
    wanted = torch.cat([of.values(rank, of.part) for rank in range(of.ranks)])
    return into(
        of.empty(of.count),
        lambda result: dist.all_gather_into_tensor(result, given, group=of.group.handle),
        wanted,
    )


def own_part(of: Operands, whole: torch.Tensor) -> torch.Tensor:
    """Return this rank's part of a tensor."""
    begin = of.group.own * of.part
    return whole[begin : begin + of.part].clone()


def reduce_scatter(of: Operands) -> Call:
    """Sums."""
    given = of.given(of.count)
    return into(
        of.empty(of.part),
        lambda result: dist.reduce_scatter_tensor(result, given, group=of.group.handle),
        own_part(of, of.total()),
    )


def all_to_all(of: Operands) -> Call:
    """Equal blocks."""
    given = of.given(of.count)
    wanted = [own_part(of, of.values(rank, of.count)) for rank in range(of.ranks)]
    return into(
        of.empty(of.count),
        lambda result: dist.all_to_all_single(result, given, group=of.group.handle),
        torch.cat(wanted),
    )


def ring(of: Operands) -> Call:
    """Each sends to the next one."""
    given, own, members = of.given(of.count), of.group.own, of.group.members
    before, after = (own - 1) % of.ranks, (own + 1) % of.ranks

    def run(result: torch.Tensor) -> None:
        messages = [
            dist.P2POp(dist.isend, given, members[after], of.group.handle),
            dist.P2POp(dist.irecv, result, members[before], of.group.handle),
        ]
        for work in dist.batch_isend_irecv(messages):
            work.wait()

    return into(of.empty(of.count), run, of.values(before, of.count))


OPERATIONS = (
    all_reduce,
    all_reduce,  # twice as often
    all_reduce_max,
    broadcast,
    all_gather,
    reduce_scatter,
    all_to_all,
    ring,
)


class Program:
    """Random calls. Ranks draw from `together` in step, from `alone` as each needs."""

    def __init__(self, seed: int, most: int) -> None:
        self.together = random.Random(seed)
        self.alone = random.Random(seed * 97 + dist.get_rank())
        self.most = most
        self.side = torch.cuda.Stream()
        self.groups = list(groups())
        self.kept: list[torch.Tensor] = []
        self.graphs: list[Graphs] = [[] for _ in self.groups]

    def step(self) -> list[str]:
        """Make a call some times; return what was wrong."""
        draw = self.together
        number, operation = draw.randrange(len(self.groups)), draw.choice(OPERATIONS)
        group, graphs = self.groups[number], self.graphs[number]
        count = int(2 ** draw.uniform(8, math.log2(self.most / 4)))
        of_type, mode, times = draw.choice(TYPES), draw.choice(MODES), draw.randrange(1, 4)
        salt, replayed = draw.randrange(11), draw.randrange(8)
        self.disturb()
        if dist.get_rank() not in group.members:
            return []
        ranks = len(group.members)
        count = max(count // ranks, 1) * ranks
        padding = self.alone.randrange(4) * 16
        call = operation(Operands(group, count, of_type, salt, padding))
        if mode == "graph" and operation is not ring:
            replay_new(graphs, call, times)
        else:
            self.make(call, self.side if mode == "side stream" else None, times)
        torch.cuda.synchronize()
        wrong = [] if call.is_right() else [f"{operation.__name__} {mode} {count} {of_type}"]
        return wrong + replay(graphs, replayed)

    def disturb(self) -> None:
        """Let this rank's tensors lie elsewhere than the others'."""
        if self.alone.random() < 0.5:
            size = self.alone.randrange(1, self.most)
            self.kept.append(torch.ones(size, dtype=torch.uint8, device="cuda"))
        if len(self.kept) > MOST_KEPT:
            del self.kept[self.alone.randrange(len(self.kept))]
        if self.alone.random() < 0.15:
            self.kept.clear()
            torch.cuda.empty_cache()

    def make(self, call: Call, other: torch.cuda.Stream | None, times: int) -> None:
        """Make the call as often as asked, in the current stream or in another one."""
        stream = other or torch.cuda.current_stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(times):
                call.reset()
                call.run()
        torch.cuda.current_stream().wait_stream(stream)


def replay_new(graphs: Graphs, call: Call, times: int) -> None:
    """Capture the call, and keep the graph for later."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call.reset()
        call.run()
    for _ in range(times):
        graph.replay()
    torch.cuda.synchronize()
    graphs.append((graph, call))
    del graphs[:-MOST_GRAPHS]


def replay(graphs: Graphs, number: int) -> list[str]:
    """Replay an earlier graph; return what was wrong."""
    if number >= len(graphs):
        return []
    graph, call = graphs[number]
    graph.replay()
    torch.cuda.synchronize()
    return [] if call.is_right() else ["an earlier graph"]


def groups() -> list[Group]:
    """All ranks and, of three or more, two that overlap."""
    ranks = list(range(dist.get_world_size()))
    parts = [ranks[:2], ranks[1:]] if len(ranks) > 2 else []
    return [Group(ranks, dist.group.WORLD), *(Group(part, dist.new_group(part)) for part in parts)]


def main() -> int:
    """Make all steps; 1 if a result was wrong at any rank."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--most", type=int, default=16 << 20, help="bytes of the longest operand")
    options = parser.parse_args()
    gpu = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl", device_id=torch.device("cuda", gpu))
    program = Program(options.seed, options.most)
    wrong = 0
    for number in range(options.steps):
        for problem in program.step():
            wrong += 1
            print(f"wrong: seed {options.seed}, step {number}: {problem}", flush=True)
    all_wrong = torch.tensor([wrong], device="cuda")
    dist.all_reduce(all_wrong)
    if dist.get_rank() == 0:
        print(f"{options.steps} steps, {int(all_wrong)} wrong", flush=True)
    del program  # NCCL ends a communicator when no graph has its calls any more
    dist.destroy_process_group()
    return int(int(all_wrong) > 0)


if __name__ == "__main__":
    sys.exit(main())
