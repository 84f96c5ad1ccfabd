"""Who takes part on GPUs."""

from __future__ import annotations

from rivals.contender import Contender
from rivals.gpu_contenders import Nccl, SymmetricMemory
from rivals.gpu_nccl_newer import PLAIN, WAYS, NcclNewer, Way
from rivals.gpu_polypath import GpuPolypath
from rivals.plan import Plan


def contenders_of(plan: Plan) -> list[Contender]:
    """Return ours, and the rivals that need no more than there is."""
    ours = [GpuPolypath(algorithm, plan.executor) for algorithm in plan.algorithms]
    return [*ours, *(rivals_of(plan) if plan.rivals else [])]


def rivals_of(plan: Plan) -> list[Contender]:
    """Return the rivals; without peer access there are no windows and no symmetric memory."""
    symmetric = [] if plan.without_peers else [SymmetricMemory(1), SymmetricMemory(2)]
    newer = [NcclNewer(plan.nccl, way) for way in ways_of(plan)] if plan.nccl else []
    return [Nccl(), *symmetric, *newer]


def ways_of(plan: Plan) -> tuple[Way, ...]:
    """Return the ways of a newer NCCL; NCCL_SHM_USE_CUDA_MEMCPY is gone since 2.30.7."""
    return {"": WAYS, "plain": (PLAIN,), "memcpy": ()}[plan.without_peers]
