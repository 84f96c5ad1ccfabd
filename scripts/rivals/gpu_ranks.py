"""One rank on a GPU of this computer: PyTorch's memory, streams, events and process groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from rivals.cases import Case, values
from rivals.ranks import Call, Lap, Ranks

STEPS = {"sum": torch.add, "min": torch.minimum, "max": torch.maximum}


class GpuRanks(Ranks):
    """A process of its own with one GPU."""

    def __init__(self, rank: int, size: int, store: str) -> None:
        self.rank, self.size = rank, size
        self.device = torch.device("cuda", rank)
        torch.cuda.set_device(self.device)
        meeting = f"file://{store}"
        dist.init_process_group("nccl", init_method=meeting, rank=rank, world_size=size,
                                device_id=self.device)  # fmt: skip
        self.hosts = dist.new_group(backend="gloo")
        self._flag = torch.zeros(1, device=self.device)
        dist.all_reduce(self._flag)
        self.settle()

    def agree(self, mine: Any) -> list[Any]:
        """Return what each rank gives. Waits for all."""
        everybodys: list[Any] = [None] * self.size
        dist.all_gather_object(everybodys, mine, group=self.hosts)
        return everybodys

    def tensor(self, kind: str, elements: int) -> torch.Tensor:
        """Return memory on this rank's GPU."""
        return torch.empty(elements, dtype=getattr(torch, kind), device=self.device)

    def _values(self, rank: int, start: int, length: int) -> torch.Tensor:
        index = torch.arange(start, start + length, dtype=torch.int64, device=self.device)
        return values(index, rank)

    def fill(self, tensor: torch.Tensor, rank: int) -> None:
        """Write what that rank gives."""
        step = 1 << 24
        for start in range(0, tensor.numel(), step):
            length = min(step, tensor.numel() - start)
            tensor[start : start + length].copy_(self._values(rank, start, length))

    def spoil(self, tensor: torch.Tensor) -> None:
        """Write what no result is: all are at least 0."""
        tensor.fill_(-1)

    def holds(self, tensor: Any, start: int, length: int, case: Case, sources: Any) -> bool:
        """Return whether these elements are the reduction of those that are given."""
        (first, where), *others = sources
        wanted = self._values(first, where, length)
        for giver, place in others:
            wanted = STEPS[case.reduction](wanted, self._values(giver, place, length))
        return bool(torch.equal(tensor[start : start + length], wanted.to(tensor.dtype)))

    def settle(self) -> None:
        """Wait until this rank's GPU is done; raise what went wrong there."""
        torch.cuda.synchronize()

    def meet(self) -> None:
        """Enqueue that this rank's GPU waits for all the others'."""
        dist.all_reduce(self._flag)

    def start_lap(self, calls: int, call: Call, per_call: int) -> Callable[[], Lap]:
        """Enqueue calls in a row between events, after all GPUs have come to their start."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.meet()
        begin.record()
        before = time.perf_counter()
        for _ in range(calls):
            call()
        host = time.perf_counter() - before
        end.record()
        done = calls * per_call
        return lambda: Lap(begin.elapsed_time(end) / 1e3 / done, host / done)


def captured(call: Call, calls: int) -> Call:
    """Return what replays so many calls as one graph, and returns what the last one returned."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(calls):
            result = call()

    def replay() -> object:
        graph.replay()
        return result

    return replay
