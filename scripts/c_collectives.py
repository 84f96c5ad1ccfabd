#!/usr/bin/env python3
"""The collectives of the C interface, on PyTorch's memory and streams, beside NCCL's.

Usage: torchrun --nproc-per-node N c_collectives.py --library libpolypath.so --output FILE

Every result is compared with what it should be; FILE gets the seconds of one call in a row of
them: of the function, of a call that is made again and again, and of NCCL.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from rounds_in_turn import host

Json = dict[str, Any]
ROWS, ROUNDS = 20, 5
SIZES = [1 << power for power in range(10, 31, 2)]
FLOAT32, SUM = 0, 0


class Description(ctypes.Structure):
    """polypath_call_description."""

    _fields_ = (
        ("collective", ctypes.c_int),
        ("input", ctypes.c_void_p),
        ("output", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("operation", ctypes.c_int),
        ("root", ctypes.c_int),
        ("counts", ctypes.c_void_p),
    )


class Ranks:
    """This rank's end."""

    def __init__(self, library: str, folder: str) -> None:
        self.c = ctypes.CDLL(library)
        self.c.polypath_last_error.restype = ctypes.c_char_p
        self.machine, self.ranks = ctypes.c_void_p(), ctypes.c_void_p()
        self.stream = ctypes.c_uint64()
        rank, size = dist.get_rank(), dist.get_world_size()
        self.call("polypath_context_create", None, ctypes.byref(self.machine))
        self.call(
            "polypath_communicator_join", self.machine, f"gpu{rank}".encode(), rank, size,
            folder.encode(), ctypes.byref(self.ranks),
        )  # fmt: skip
        torch_stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.call("polypath_stream_adopt", self.machine, torch_stream, ctypes.byref(self.stream))

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; raise what it says."""
        if getattr(self.c, name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self.c.polypath_last_error().decode()}")

    def made(self, collective: int, given: torch.Tensor, taken: torch.Tensor, count: int) -> Any:
        """Return a call that is made again and again."""
        said = Description(
            collective, given.data_ptr(), taken.data_ptr(), count, FLOAT32, SUM, 0, None
        )
        call = ctypes.c_void_p()
        self.call("polypath_call_create", self.ranks, ctypes.byref(said), ctypes.byref(call))
        return call

    def close(self) -> None:
        """End together with the others."""
        self.call("polypath_communicator_destroy", self.ranks)
        self.call("polypath_context_destroy", self.machine)


def seconds_of(action: Callable[[], object]) -> float:
    """Return the seconds of one of a row of calls, which all ranks begin together."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    action()
    torch.cuda.synchronize()
    dist.barrier()
    begin.record()
    for _ in range(ROWS):
        action()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / 1e3 / ROWS


Operation = tuple[str, int, int, int]  # function, its number, what it gives and takes per count


def operations(size: int) -> list[Operation]:
    """Return the operations that are measured."""
    return [
        ("polypath_allreduce", 0, 1, 1),
        ("polypath_reduce_scatter", 2, size, 1),
        ("polypath_allgather", 3, 1, size),
        ("polypath_alltoall", 4, size, size),
    ]


def nccl_of(number: int, given: torch.Tensor, taken: torch.Tensor) -> Callable[[], object]:
    """Return PyTorch's call of NCCL; an all-reduce is in place."""
    calls: dict[int, Callable[[], object]] = {
        0: lambda: dist.all_reduce(given),
        2: lambda: dist.reduce_scatter_tensor(taken, given),
        3: lambda: dist.all_gather_into_tensor(taken, given),
        4: lambda: dist.all_to_all_single(taken, given),
    }
    return calls[number]


def expected(number: int, given: torch.Tensor, size: int) -> torch.Tensor:
    """Return what the result should be, as NCCL has it."""
    count = given.numel() // (size if number in (2, 4) else 1)
    if number == 0:
        result = given.clone()
        dist.all_reduce(result)
        return result
    result = torch.empty(count if number == 2 else count * size, device="cuda")
    nccl_of(number, given, result)()
    return result


def measured(ranks: Ranks, operation: Operation, size: int) -> Json:
    """Measure one operation at one size of the largest memory."""
    name, number, gives, takes = operation
    count = size // 4 // max(gives, takes)
    given = torch.randint(-99, 99, (count * gives,), device="cuda").float()
    taken = torch.zeros(count * takes, device="cuda")
    arguments: list[Any] = [
        ranks.ranks, ctypes.c_void_p(given.data_ptr()), ctypes.c_void_p(taken.data_ptr()),
        ctypes.c_size_t(count), FLOAT32,
    ]  # fmt: skip
    arguments += [SUM, ranks.stream] if number in (0, 2) else [ranks.stream]
    persistent = ranks.made(number, given, taken, count)
    ways: dict[str, Callable[[], object]] = {
        "function": lambda: ranks.call(name, *arguments),
        "again": lambda: ranks.call("polypath_call_start", persistent, ranks.stream),
        "nccl": nccl_of(number, given, taken),
    }
    wrong = 0
    for way in ("function", "again"):
        taken.zero_()
        ways[way]()
        wrong += int((taken != expected(number, given, dist.get_world_size())).sum())
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, action in ways.items():
            times[way].append(seconds_of(action))
    ranks.call("polypath_call_destroy", persistent)
    medians = {f"{way}_seconds": statistics.median(found) for way, found in times.items()}
    return {"function": name, "bytes": size, "wrong": wrong, **medians}


def main() -> int:
    """Measure all; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--library", required=True, help="libpolypath.so")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(folder)
    ranks = Ranks(options.library, f"{folder[0]}/ranks")
    rows = [
        measured(ranks, operation, size)
        for operation in operations(dist.get_world_size())
        for size in SIZES
    ]
    ranks.close()
    if dist.get_rank() == 0:
        document = {
            "schema": "polypath.c-collectives/1",
            "command": "torchrun c_collectives.py",
            "host": host(),
            "comment": f"Seconds of one of {ROWS} calls in a row, medians of {ROUNDS} rounds.",
            "results": rows,
        }
        options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    dist.destroy_process_group()
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
