"""How ranks meet over other libraries, and where each of them is."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from polypath._core import Context, OwnMessages, RankPlace
from polypath.devices import CURRENT, gpu_of_device
from polypath.own_messages import messages_of_mpi, messages_of_torch

AllGather = Callable[[bytes], Iterable[bytes]]  # the bytes of all ranks, for this one's


class Rounds(NamedTuple):
    """What CollectiveRank.by_function takes.

    `split` is called at all ranks if there are several nodes, with the number of this rank's node,
    its own number there, and the ranks of the node.
    """

    all_gather: AllGather
    split: Callable[[int, int, list[int]], AllGather]
    rank: int
    size: int
    messages: OwnMessages | None = None


def rounds_of_torch(group: Any) -> Rounds:
    """Return those of a group of torch.distributed, None: of the default one."""
    distributed = importlib.import_module("torch.distributed")

    def split(_node: int, _rank: int, members: list[int]) -> AllGather:
        numbers = distributed.get_process_group_ranks(group or distributed.group.WORLD)
        chosen = [numbers[member] for member in members]
        # Ranks that are in none of the groups cannot take part.
        part = distributed.new_group(chosen, use_local_synchronization=True)
        return _all_gather_of(distributed, part)

    rank, size = distributed.get_rank(group), distributed.get_world_size(group)
    messages = messages_of_torch(distributed, group)
    return Rounds(_all_gather_of(distributed, group), split, rank, size, messages)


def _all_gather_of(distributed: Any, group: Any) -> AllGather:
    size: int = distributed.get_world_size(group)

    def all_gather(mine: bytes) -> list[bytes]:
        everybodys: list[Any] = [None] * size
        distributed.all_gather_object(everybodys, mine, group=group)
        return everybodys

    return all_gather


def rounds_of_mpi(comm: Any) -> Rounds:
    """Return those of a communicator of mpi4py."""

    def split(node: int, rank: int, _members: list[int]) -> AllGather:
        gather: AllGather = comm.Split(node, rank).allgather
        return gather

    messages = messages_of_mpi(comm)
    return Rounds(comm.allgather, split, comm.Get_rank(), comm.Get_size(), messages)


def rank_place(gpu: Any, context: Context, node: str = "", host: str = "") -> RankPlace:
    """Return where this rank is; nothing of its GPU if that is the one of its number."""
    number = CURRENT if gpu is None else gpu_of_device(gpu)
    if number == CURRENT:
        return RankPlace("" if context.simulated else _current_gpu(), node, host)
    return RankPlace("host" if number is None else f"gpu{number}", node, host)


def _current_gpu() -> str:
    """Return the name of the framework's current GPU; nothing without a framework."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and torch.cuda.is_available():
        return f"gpu{torch.cuda.current_device()}"
    return "" if cupy is None else f"gpu{cupy.cuda.Device().id}"
