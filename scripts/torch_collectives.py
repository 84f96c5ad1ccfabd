#!/usr/bin/env python3
"""Collectives of PyTorch's process group for NCCL: right, and how long they take.

Usage: torchrun --nproc-per-node N torch_collectives.py [--most BYTES] [--output FILE]

It knows nothing of Polypath; `polypath run --` may stand before it. Inputs are small whole numbers,
so that results are exact. Times are of calls one after another, from the first one's begin until
the last one's end, eagerly and as a CUDA graph of eight calls. Rank 0 writes FILE.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

SIZES = [2**power for power in (10, 13, 16, 18, 20, 23, 26, 28, 30)]
LONG = 32 << 20
CALLS_OF_GRAPH = 8
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

Run = Callable[[], object]


def main() -> int:
    """Check and time all; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="bytes of the largest message")
    parser.add_argument("--output", type=Path, help="the JSON file")
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    begun = time.monotonic()
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    started = time.monotonic() - begun
    begun = time.monotonic()
    dist.all_reduce(torch.ones(1, device="cuda"))
    torch.cuda.synchronize()
    first = time.monotonic() - begun
    results = list(measure(options.most))
    dist.barrier()
    wrong = torch.tensor([sum(each["wrong"] for each in results)], device="cuda")
    dist.all_reduce(wrong)
    if dist.get_rank() == 0:
        document = {"start_seconds": started, "first_seconds": first, "results": results}
        if options.output:
            options.output.write_text(json.dumps(document, indent=1), encoding="utf-8")
        print(f"{len(results)} kinds of calls, {int(wrong)} wrong")
    dist.destroy_process_group()
    return int(int(wrong) > 0)


def measure(most: int) -> Iterator[dict[str, Any]]:
    """Yield what each kind of call takes."""
    for name, type_name, size in kinds():
        if size > most:
            continue
        run, is_right = call_of(name, TYPES[type_name], size)
        run()
        wrong = int(not is_right())
        captured = graph_of(run)
        captured.replay()
        wrong += int(not is_right())
        yield {
            "operation": name,
            "type": type_name,
            "bytes": size,
            "wrong": wrong,
            "eager_seconds": seconds_of(run, 5 if size >= LONG else 20),
            "graph_seconds": seconds_of(captured.replay, 2) / CALLS_OF_GRAPH,
        }


def kinds() -> Iterator[tuple[str, str, int]]:
    """Yield operation, type and bytes, as nccl-tests count them."""
    for size in SIZES:
        yield "all_reduce", "float32", size
        yield "all_reduce", "bfloat16", size
        for name in ("all_gather", "reduce_scatter", "all_to_all", "broadcast"):
            yield name, "float32", size


def values(count: int, rank: int, dtype: torch.dtype) -> torch.Tensor:
    """Return what a rank gives: numbers whose sums have no rounding."""
    return ((torch.arange(count, device="cuda") % 7) + rank).to(dtype)


def call_of(name: str, dtype: torch.dtype, size: int) -> tuple[Run, Callable[[], bool]]:
    """Return a call, and whether its result is right, out of place."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    count = max(size // dtype.itemsize // ranks, 1) * ranks
    part = count // ranks
    if name == "all_reduce":
        # In place: what is given is made anew for each call that is looked at.
        memory = values(count, rank, dtype)
        given, wanted = memory.clone(), sum_of(count, dtype)

        def reduce() -> None:
            dist.all_reduce(memory)

        def is_reduced() -> bool:
            memory.copy_(given)
            dist.all_reduce(memory)
            return bool(torch.equal(memory, wanted))

        return reduce, is_reduced
    if name == "broadcast":
        sent = values(count, rank, dtype)
        return lambda: dist.broadcast(sent, 0), lambda: bool(
            torch.equal(sent, values(count, 0, dtype))
        )
    if name == "all_gather":
        own, all_of = values(part, rank, dtype), torch.zeros(count, device="cuda", dtype=dtype)
        wanted = torch.cat([values(part, other, dtype) for other in range(ranks)])
        return lambda: dist.all_gather_into_tensor(all_of, own), lambda: bool(
            torch.equal(all_of, wanted)
        )
    given, result = values(count, rank, dtype), torch.zeros(count, device="cuda", dtype=dtype)
    if name == "reduce_scatter":
        result, wanted = result[:part], sum_of(count, dtype)[rank * part : (rank + 1) * part]
        return lambda: dist.reduce_scatter_tensor(result, given), lambda: bool(
            torch.equal(result, wanted)
        )
    wanted = torch.cat(
        [values(count, other, dtype)[rank * part : (rank + 1) * part] for other in range(ranks)]
    )
    return lambda: dist.all_to_all_single(result, given), lambda: bool(torch.equal(result, wanted))


def sum_of(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the sum of what all ranks give."""
    ranks = dist.get_world_size()
    return sum(values(count, rank, torch.float32) for rank in range(ranks)).to(dtype)


def graph_of(run: Run) -> torch.cuda.CUDAGraph:
    """Return a graph of several calls."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS_OF_GRAPH):
            run()
    return graph


def seconds_of(run: Run, calls: int) -> float:
    """Return the median of what a call takes in three rounds."""
    taken = []
    for _ in range(3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        run()
        dist.barrier()
        torch.cuda.synchronize()
        begin.record()
        for _ in range(calls):
            run()
        end.record()
        torch.cuda.synchronize()
        taken.append(float(begin.elapsed_time(end)) / 1e3 / calls)
    return statistics.median(taken)


if __name__ == "__main__":
    sys.exit(main())
