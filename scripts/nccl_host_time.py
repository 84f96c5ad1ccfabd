#!/usr/bin/env python3
"""How long NCCL's calls keep the thread that makes them for all GPUs, and what a call takes in all.

Usage: nccl_host_time.py [--calls N] [--rounds N] [--output FILE]

One thread makes communicators for all GPUs (ncclCommInitAll) and calls all-reduces in groups, as
`all_reduce_perf -g 2` does. Of each row of calls it prints microseconds per group: until the last
call has returned, and until the GPUs have done all. `polypath run --` may stand before it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

FLOAT, SUM = 7, 0
SIZES = [8, 4096, 65536, 524288]


def checked(result: int) -> None:
    """Raise if NCCL's result is an error."""
    if result != 0:
        raise RuntimeError(f"NCCL returned {result}")


def row(nccl: Any, comms: Any, memory: list[torch.Tensor], size: int, calls: int) -> list[float]:
    """Return the seconds per group until all calls have returned, and until all are done."""
    streams = [torch.cuda.current_stream(gpu).cuda_stream for gpu in range(len(memory))]
    arguments = [
        (
            ctypes.c_void_p(memory[gpu].data_ptr()), ctypes.c_void_p(memory[gpu].data_ptr()),
            ctypes.c_size_t(size // 4), FLOAT, SUM, ctypes.c_void_p(comms[gpu]),
            ctypes.c_void_p(streams[gpu]),
        )
        for gpu in range(len(memory))
    ]  # fmt: skip
    for gpu in range(len(memory)):
        torch.cuda.synchronize(gpu)
    begin = time.perf_counter()
    for _ in range(calls):
        nccl.ncclGroupStart()
        for each in arguments:
            nccl.ncclAllReduce(*each)
        nccl.ncclGroupEnd()
    returned = time.perf_counter()
    for gpu in range(len(memory)):
        torch.cuda.synchronize(gpu)
    return [(returned - begin) / calls, (time.perf_counter() - begin) / calls]


def main() -> int:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    gpus = torch.cuda.device_count()
    nccl = ctypes.CDLL("libnccl.so.2")
    comms = (ctypes.c_void_p * gpus)()
    checked(nccl.ncclCommInitAll(comms, gpus, None))
    memory = [torch.zeros(max(SIZES) // 4, device=f"cuda:{gpu}") for gpu in range(gpus)]
    rows = []
    for size in SIZES:
        found = [row(nccl, comms, memory, size, options.calls) for _ in range(options.rounds + 1)][
            1:
        ]
        host, done = (statistics.median(each) * 1e6 for each in zip(*found))
        rows.append({"bytes": size, "host_microseconds": host, "done_microseconds": done})
        print(f"{size} B: {host:.2f} us in the thread, {done:.2f} us in all", flush=True)
    for comm in comms:
        checked(nccl.ncclCommDestroy(ctypes.c_void_p(comm)))
    if options.output:
        options.output.write_text(json.dumps(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
