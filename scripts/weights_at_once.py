#!/usr/bin/env python3
"""Moves a model's weights onto one GPU or all of them at once, by Polypath and PyTorch in turn.

scripts/weights_at_once.py [--gpus COUNT ...] [--total 16G] [--repeats 3] [--out FILE]

One process per GPU, all with as many bytes, in pinned memory. `load` brings them onto the GPU,
`store` puts them into the host's memory, `swap` does both at once with half of them each, on two
streams. A time begins when all processes have come to its start, and is that of the last one. Each
tensor is copied by polypath.copy, or by PyTorch's copy_; every bit of the last turn is compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polypath
import torch
import torch.multiprocessing as processes
from polypath import parse_bytes
from polypath.cli.weight_copies import Weights, weight_shapes
from rounds_in_turn import host

WAYS = ("load", "store", "swap")
PATIENCE = 120  # seconds for one turn, of all processes
Tensors = dict[str, Any]
Pairs = list[tuple[Any, Any]]  # destination and source
Copy = Callable[[Any, Any], Any]


@dataclass
class Turn:
    """What one process knows of the others: where they meet, and where its times go."""

    gpu: int
    barrier: Any
    reports: Any


@dataclass
class Half:
    """Half of the weights, in memory of the host and of a GPU."""

    weights: Weights
    on_host: Tensors
    on_gpu: Tensors

    def load(self) -> Pairs:
        """Return (destination, source) of what brings it onto the GPU."""
        return [(self.on_gpu[name], tensor) for name, tensor in self.on_host.items()]

    def store(self) -> Pairs:
        """Return the same the other way."""
        return [(tensor, source) for source, tensor in self.load()]

    def is_right(self, tensors: Tensors) -> bool:
        """Compare every bit, on the GPU."""
        shapes = enumerate(self.weights.shapes.items())
        return all(
            torch.equal(
                self.weights.expected(index, shape),
                tensors[name].view(torch.int16).to(f"cuda:{self.weights.gpu}"),
            )
            for index, (name, shape) in shapes
        )


@dataclass
class Way:
    """One way in which weights move: copies on each stream, and which half arrives where."""

    name: str
    streams: list[Pairs]
    arrives: list[tuple[Half, Tensors]]
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def run(self, copy: Copy, streams: list[Any]) -> None:
        """Enqueue all copies, of the streams in turn, and wait."""
        for row in zip(*self.streams, strict=True):
            for (target, origin), stream in zip(row, streams, strict=False):
                with torch.cuda.stream(stream):
                    copy(target, origin)
        torch.cuda.synchronize()

    def spoil(self) -> None:
        """Overwrite what arrives."""
        for half, tensors in self.arrives:
            half.weights.clear(tensors)

    def is_right(self) -> bool:
        """Return whether all has arrived."""
        return all(half.is_right(tensors) for half, tensors in self.arrives)


def native(target: Any, origin: Any) -> None:
    """Copy by PyTorch."""
    target.copy_(origin, non_blocking=True)


COPIES: dict[str, Copy] = {"native": native, "polypath": polypath.copy}


def half_of(gpu: int, total: int) -> Half:
    """Return half of so many bytes, right on both sides."""
    weights = Weights(torch, gpu, weight_shapes(total // 2))
    half = Half(weights, weights.allocate("pinned"), weights.allocate("gpu"))
    for tensors in (half.on_gpu, half.on_host):
        weights.fill(tensors)
    return half


def ways_of(one: Half, other: Half) -> list[Way]:
    """Return all ways, over the same memory."""
    return [
        Way("load", [one.load() + other.load()], [(one, one.on_gpu), (other, other.on_gpu)]),
        Way("store", [one.store() + other.store()], [(one, one.on_host), (other, other.on_host)]),
        Way("swap", [one.load(), other.store()], [(one, one.on_gpu), (other, other.on_host)]),
    ]


def measure(turn: Turn, total: int, repeats: int) -> None:
    """Be one process; report of each way the times of each turn, and whether its bits are right."""
    torch.cuda.set_device(turn.gpu)
    streams = [torch.cuda.Stream() for _ in range(2)]
    for way in ways_of(half_of(turn.gpu, total), half_of(turn.gpu, total)):
        for number in range(repeats + 1):  # the first one warms up
            for name, copy in COPIES.items():
                if (number, name) == (repeats, "polypath"):
                    way.spoil()
                seconds = timed(turn, way, copy, streams)
                if number > 0:
                    way.seconds.setdefault(name, []).append(seconds)
        turn.reports.put((way.name, turn.gpu, way.seconds, way.is_right()))


def timed(turn: Turn, way: Way, copy: Copy, streams: list[Any]) -> float:
    """Return how long this process takes once all have come."""
    torch.cuda.synchronize()
    turn.barrier.wait(PATIENCE)
    start = time.perf_counter()
    way.run(copy, streams)
    return time.perf_counter() - start


def result_of(way: str, told: list[tuple[Any, ...]], total: int) -> dict[str, Any]:
    """Return what one way came to: the time of the last process, the median of the turns."""
    seconds = {
        name: [max(turn) for turn in zip(*(each[2][name] for each in told), strict=True)]
        for name in COPIES
    }
    own, others = (statistics.median(seconds[name]) for name in ("polypath", "native"))
    moved = total * len(told)
    return {
        "way": way,
        "gpus": len(told),
        "bytes": total,
        "seconds": own,
        "native_seconds": others,
        "runs": seconds["polypath"],
        "native_runs": seconds["native"],
        "bytes_per_second": moved / own,
        "native_bytes_per_second": moved / others,
        "speedup": others / own,
        "verified": all(each[3] for each in told),
    }


def run(gpus: int, total: int, repeats: int) -> list[dict[str, Any]]:
    """Return the results of so many GPUs at once."""
    context = processes.get_context("spawn")
    barrier, reports = context.Barrier(gpus), context.Queue()
    started = [
        context.Process(target=measure, args=(Turn(gpu, barrier, reports), total, repeats))
        for gpu in range(gpus)
    ]
    for process in started:
        process.start()
    told = [reports.get(timeout=2 * PATIENCE) for _ in range(gpus * len(WAYS))]
    for process in started:
        process.join()
    return [result_of(way, [each for each in told if each[0] == way], total) for way in WAYS]


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, torch.cuda.device_count()])
    parser.add_argument("--total", type=parse_bytes, default=16 << 30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a file of schema polypath.weights/1")
    return parser.parse_args()


def main() -> int:
    """Measure, and print a line for each way."""
    options = arguments()
    results: list[dict[str, Any]] = []
    for gpus in options.gpus:
        for each in run(gpus, options.total, options.repeats):
            print(f"{gpus} GPUs {each['way']:6} {each['seconds'] * 1e3:8.1f} ms "
                  f"{each['bytes_per_second'] / 1e9:6.1f} GB/s, x{each['speedup']:.2f} "
                  f"{'right' if each['verified'] else 'WRONG'}", flush=True)  # fmt: skip
            results.append(each)
        if options.out:
            command = " ".join(["scripts/weights_at_once.py", *sys.argv[1:]])
            document = {"schema": "polypath.weights/1", "host": host(), "command": command,
                        "program": f"PyTorch {torch.__version__}", "results": results}  # fmt: skip
            options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if all(each["verified"] for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
