"""Communicators of other libraries, as threads of a test have them."""

from __future__ import annotations

import threading
import types
from typing import Any

LONGEST = 30  # seconds


class Table:
    """Where threads tell each other something."""

    def __init__(self, size: int) -> None:
        self.size, self.told = size, [None] * size
        self.barrier = threading.Barrier(size)
        self.parts: dict[Any, Table] = {}

    def agree(self, rank: int, mine: Any) -> list[Any]:
        self.told[rank] = mine
        self.barrier.wait(LONGEST)
        everybodys = list(self.told)
        self.barrier.wait(LONGEST)
        return everybodys

    def part(self, name: Any, size: int) -> Table:
        """Return the one table of those who say the same name."""
        return self.parts.setdefault(name, Table(size))


class FakeComm:
    """As a communicator of mpi4py, or a group of torch.distributed."""

    def __init__(self, meeting: Table, rank: int) -> None:
        self.meeting, self.rank = meeting, rank

    def Get_rank(self) -> int:  # noqa: N802
        return self.rank

    def Get_size(self) -> int:  # noqa: N802
        return self.meeting.size

    def allgather(self, mine: bytes) -> list[bytes]:
        return self.meeting.agree(self.rank, mine)

    def Split(self, color: int, key: int) -> FakeComm:  # noqa: N802
        said = self.meeting.agree(self.rank, (color, key, self.rank))
        members = [rank for _, _, rank in sorted(each for each in said if each[0] == color)]
        return FakeComm(self.meeting.part(color, len(members)), members.index(self.rank))


def fake_distributed(table: Table) -> types.SimpleNamespace:
    """Return as much of torch.distributed as ranks need; of all, rank r has number r + 10."""
    group_of = threading.local()

    def get_rank(group: FakeComm) -> int:
        group_of.rank = group.rank
        return group.rank

    def all_gather_object(everybodys: list[Any], mine: Any, group: FakeComm) -> None:
        everybodys[:] = group.allgather(mine)

    def new_group(numbers: list[int], use_local_synchronization: bool) -> FakeComm:
        assert use_local_synchronization
        number = group_of.rank + 10
        return FakeComm(table.part(tuple(numbers), len(numbers)), numbers.index(number))

    return types.SimpleNamespace(
        get_rank=get_rank, get_world_size=FakeComm.Get_size, all_gather_object=all_gather_object,
        get_process_group_ranks=lambda group: [rank + 10 for rank in range(group.Get_size())],
        new_group=new_group,
    )  # fmt: skip
