"""Calls collectives again and again on this computer's GPUs and compares every element.

Usage: check_collectives.py [--seconds 60] [--seed 1] [--only alltoall allreduce] [--sizes 16M 1M]
                            [--beside-products]

One process per GPU. Each round draws a collective, a size and whether one tensor is input and
output, allocates new tensors, calls it six times eagerly, and every second round replays it three
times as a captured graph, each time with other values. What is wrong once in thousands of calls is
seen here and in no test of single calls. Beside products every second call has matrices multiplied
on another stream, so that its blocks start one after another.
Prints a line per collective and size; exit status 1 if one element was wrong.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polypath
import torch
import torch.distributed as dist
import torch.multiprocessing as processes

COLLECTIVES = ("allreduce", "allgather", "reducescatter", "alltoall")
SIZES = (8 << 10, 1 << 20, 8 << 20, 16 << 20, 64 << 20, 256 << 20)
EAGER_CALLS, REPLAYS = 6, 3  # memory of 8 MiB and more is open to all ranks from the fifth on
SHIFTS = {"K": 10, "M": 20, "G": 30}
Counts = collections.Counter[tuple[str, int, bool]]  # collective, bytes, whether it was wrong


class Products:
    """Matrices that are multiplied beside every second call."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        self.matrix = torch.ones(8192, 8192, dtype=torch.bfloat16, device="cuda")
        self.product = torch.empty_like(self.matrix)
        self.calls = 0

    def keep_busy(self) -> None:
        """Enqueue a product if it is a call's turn."""
        self.calls += 1
        if self.calls % 2 == 0:
            with torch.cuda.stream(self.stream):
                torch.matmul(self.matrix, self.matrix, out=self.product)


class Round:
    """One drawn collective on new memory, the same at all ranks."""

    def __init__(
        self,
        ends: polypath.Collectives,
        kind: str,
        size: int,
        seed: int,
        *,
        in_place: bool,
        beside: Products | None,
    ) -> None:
        self.ends, self.kind, self.seed, self.beside = ends, kind, seed, beside
        self.elements = size // 4 // ends.size * ends.size
        part = self.elements // ends.size
        self.given = self._empty(part if kind == "allgather" else self.elements)
        if in_place and kind in ("allreduce", "alltoall"):
            self.taken = self.given
        else:
            self.taken = self._empty(part if kind == "reducescatter" else self.elements)

    @staticmethod
    def _empty(elements: int) -> torch.Tensor:
        return torch.empty(elements, dtype=torch.int32, device="cuda")

    def values(self, rank: int, call: int) -> torch.Tensor:
        """Return what that rank gives in that call. Sums wrap around, and are exact."""
        generator = torch.Generator("cuda").manual_seed(self.seed * 64 + rank * 8 + call)
        made = torch.empty_like(self.given)
        return made.random_(-(1 << 31), (1 << 31) - 1, generator=generator)

    def call(self) -> None:
        """Enqueue it."""
        {
            "allreduce": self.ends.all_reduce,
            "allgather": self.ends.all_gather,
            "reducescatter": self.ends.reduce_scatter,
            "alltoall": self.ends.all_to_all,
        }[self.kind](self.given, self.taken)

    def expected(self, call: int) -> torch.Tensor:
        """Return what this rank gets in that call."""
        rank, size = self.ends.rank, self.ends.size
        everybodys = [self.values(each, call) for each in range(size)]
        if self.kind == "allgather":
            return torch.cat(everybodys)
        if self.kind == "alltoall":
            return torch.cat([given.chunk(size)[rank] for given in everybodys])
        total = everybodys[0]
        for given in everybodys[1:]:
            total += given
        return total if self.kind == "allreduce" else total.chunk(size)[rank]

    def is_right(self, call: int, run: Callable[[], None]) -> bool:
        """Run it with that call's values."""
        self.taken.fill_(-1)
        self.given.copy_(self.values(self.ends.rank, call))
        if self.beside:
            self.beside.keep_busy()
        run()
        return torch.equal(self.taken, self.expected(call))

    def captured(self) -> torch.cuda.CUDAGraph:
        """Return the call as a graph."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.call()
        return graph

    def outcomes(self, captures: bool) -> list[bool]:
        """Return of each call whether all its elements were right."""
        right = [self.is_right(call, self.call) for call in range(EAGER_CALLS)]
        if captures:
            graph = self.captured()
            right += [self.is_right(EAGER_CALLS + call, graph.replay) for call in range(REPLAYS)]
        return right


def rank_main(rank: int, options: argparse.Namespace, store: str) -> None:
    """Be one of the ranks; the exit status says whether all was right."""
    torch.cuda.set_device(rank)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank,
                            world_size=options.ranks)  # fmt: skip
    with polypath.Collectives.from_torch(gpu=rank) as ends:
        counts = play(ends, options)
    everybodys: list[Any] = [None] * options.ranks
    dist.all_gather_object(everybodys, counts)
    if rank == 0:
        report(everybodys)
    dist.destroy_process_group()
    sys.exit(any(wrong for _, _, wrong in sum(everybodys, Counts())))


def play(ends: polypath.Collectives, options: argparse.Namespace) -> Counts:
    """Play rounds for as long as rank 0 says; return what came of the calls."""
    draw, counts = random.Random(options.seed), Counts()
    end, number = time.perf_counter() + options.seconds, 0
    beside = Products() if options.beside_products else None
    while goes_on(time.perf_counter() < end, every=number % 8 == 0):
        kind, size = draw.choice(options.only), draw.choice(options.sizes)
        number += 1
        seed, in_place = options.seed * 100_000 + number, draw.random() < 0.5
        played = Round(ends, kind, size, seed, in_place=in_place, beside=beside)
        for right in played.outcomes(captures=number % 2 == 0):
            counts[kind, size, not right] += 1
    return counts


def goes_on(here: bool, *, every: bool) -> bool:
    """Return what rank 0 says, who is asked every few rounds."""
    if not every:
        return True
    said = torch.tensor([here])
    dist.broadcast(said, 0)
    return bool(said)


def report(everybodys: list[Counts]) -> None:
    """Print of each collective and size how many calls were wrong at which rank."""
    for kind, size in sorted({key[:2] for counts in everybodys for key in counts}):
        calls = everybodys[0][kind, size, False] + everybodys[0][kind, size, True]
        wrong = [counts[kind, size, True] for counts in everybodys]
        word = "WRONG " if any(wrong) else "right "
        print(f"{word} {kind} of {size} bytes: {calls} calls, wrong at each rank {wrong}")


def bytes_of(text: str) -> int:
    """Return the bytes of "64K"; powers of 1024."""
    shift = SHIFTS.get(text[-1:].upper(), 0)
    return int(text[:-1] if shift else text) << shift


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=torch.cuda.device_count())
    parser.add_argument("--only", nargs="+", choices=COLLECTIVES, default=COLLECTIVES)
    parser.add_argument("--sizes", nargs="+", type=bytes_of, default=SIZES)
    parser.add_argument("--beside-products", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Start the ranks; return the exit status."""
    options = arguments()
    if options.ranks < 2 or options.ranks > torch.cuda.device_count():
        print(f"{options.ranks} ranks cannot meet (each needs a GPU, and two are the fewest) "
              "Run this where there are several GPUs.", file=sys.stderr)  # fmt: skip
        return 1
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "meeting")
        try:
            processes.spawn(rank_main, (options, store), options.ranks)
        except processes.ProcessExitedException as error:
            return error.exit_code or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
