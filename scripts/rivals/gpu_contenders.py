"""What PyTorch brings: NCCL, and all-reduces over symmetric memory. Multicast stays off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from rivals.cases import ROOT, Case
from rivals.contender import Contender, Ready
from rivals.gpu_ranks import GpuRanks, captured
from rivals.ranks import Call, Ranks

OPERATORS = {"sum": dist.ReduceOp.SUM, "min": dist.ReduceOp.MIN, "max": dist.ReduceOp.MAX}
MOST_OF_ONE_SHOT = 16 << 20  # every GPU reads all of every other's: above, nobody would use it


class GpuContender(Contender):
    """One whose calls are captured as PyTorch captures."""

    ranks: GpuRanks

    def open(self, ranks: Ranks) -> None:
        """Keep the rank."""
        assert isinstance(ranks, GpuRanks)
        self.ranks = ranks

    def capture(self, ready: Ready, calls: int) -> Call:
        """Return what replays so many calls as one graph."""
        return captured(ready.call, calls)


class Nccl(GpuContender):
    """NCCL as torch.distributed calls it by default."""

    name = "NCCL"

    def __init__(self) -> None:
        version: Any = torch.cuda.nccl.version()
        self.version = ".".join(map(str, version)) if isinstance(version, tuple) else str(version)

    def does(self, case: Case) -> bool:  # noqa: ARG002
        """Return true."""
        return True

    def ready(self, case: Case) -> Ready:
        """Return memory of PyTorch's allocator and the call."""
        size = self.ranks.size
        given = self.ranks.tensor(case.type, case.given(size))
        taken = given if case.in_place else self.ranks.tensor(case.type, case.taken(size))
        op = OPERATORS[case.reduction]
        calls: dict[str, Call] = {
            "allreduce": lambda: dist.all_reduce(taken, op),
            "broadcast": lambda: dist.broadcast(taken, ROOT),
            "allgather": lambda: dist.all_gather_into_tensor(taken, given),
            "reducescatter": lambda: dist.reduce_scatter_tensor(taken, given, op),
            "alltoall": lambda: dist.all_to_all_single(taken, given),
        }
        return Ready(calls[case.operation], given, taken)


class SymmetricMemory(GpuContender):
    """torch's all-reduce over symmetric memory: in one shot, or in two in place."""

    def __init__(self, shots: int) -> None:
        self._shots = shots
        self.name = f"torch symmetric memory, {'one' if shots == 1 else 'two'}-shot"
        self.version = str(torch.__version__)

    def open(self, ranks: Ranks) -> None:
        """Find the group."""
        super().open(ranks)
        import torch.distributed._symmetric_memory as symmetric

        self._symmetric: Any = symmetric
        self._group = dist.group.WORLD.group_name

    def does(self, case: Case) -> bool:
        """Return whether it is a sum, and not too large for one shot."""
        fits = self._shots == 2 or case.bytes <= MOST_OF_ONE_SHOT
        return case.operation == "allreduce" and case.reduction == "sum" and fits

    def ready(self, case: Case) -> Ready:
        """Return symmetric memory, registered, and the call."""
        kind = getattr(torch, case.type)
        count = case.elements(self.ranks.size)
        given = self._symmetric.empty(count, dtype=kind, device=self.ranks.device)
        self._symmetric.rendezvous(given, dist.group.WORLD)
        group, operations = self._group, torch.ops.symm_mem
        call: Callable[[], object]
        if self._shots == 1:
            call = lambda: operations.one_shot_all_reduce(given, "sum", group)  # noqa: E731
            return Ready(call, given, None)
        call = lambda: operations.two_shot_all_reduce_(given, "sum", group)  # noqa: E731
        return Ready(call, given, given)
