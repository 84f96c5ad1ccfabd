"""Another NCCL than PyTorch's: as it is, on registered windows, and there with copy engines."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import torch

from rivals.cases import ROOT, SIZES, Case
from rivals.contender import Ready
from rivals.gpu_contenders import GpuContender
from rivals.nccl_library import COPY_ENGINES, OPERATORS, TYPES, UNDEFINED, NcclLibrary
from rivals.ranks import Call, Ranks


@dataclass(frozen=True)
class Way:
    """How it is used."""

    name: str
    registered: bool = False  # memory of its own allocator, in symmetric windows
    policy: int = UNDEFINED


PLAIN = Way("NCCL newer")
WAYS = (
    PLAIN,
    Way("NCCL newer, registered", registered=True),
    Way("NCCL newer, registered, copy engines", registered=True, policy=COPY_ENGINES),
)


class Span:
    """Bytes of a GPU that another library owns, as PyTorch takes them in."""

    def __init__(self, memory: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (memory, False), "strides": None,
            "version": 3,
        }  # fmt: skip


def tensor_at(memory: int, size: int, kind: str, device: torch.device) -> torch.Tensor:
    """Return a tensor of that very memory."""
    taken = torch.as_tensor(Span(memory, size), device=device)
    if taken.data_ptr() != memory:
        raise RuntimeError("PyTorch has copied what it should have taken in (another device)")
    return taken.view(getattr(torch, kind))


class NcclNewer(GpuContender):
    """A libnccl.so.2 by its C interface, in one way."""

    def __init__(self, path: str, way: Way) -> None:
        self.name, self._path, self._way = way.name, path, way
        self._windows: list[tuple[int, int]] = []  # memory, and its window

    def open(self, ranks: Ranks) -> None:
        """Load it and join the other ranks."""
        super().open(ranks)
        self._library = NcclLibrary(self._path)
        self.version = self._library.version()
        self._communicator = self._library.communicator(
            self._identity(), ranks.size, ranks.rank, self._way.policy
        )

    def _identity(self) -> bytes:
        """Return what rank 0 has made. RuntimeError at all ranks if it has not."""
        mine = b""
        if self.ranks.rank == 0:
            with contextlib.suppress(RuntimeError):
                mine = self._library.unique_id()
        first: bytes = self.ranks.agree(mine)[0]
        if not first:
            raise RuntimeError("the ranks cannot meet (rank 0 has no ncclUniqueId)")
        return first

    def does(self, case: Case) -> bool:  # noqa: ARG002
        """Return true: what windows or copy engines do not do, it does without them."""
        return True

    def ready(self, case: Case) -> Ready:
        """Return memory and the call. That of the case before is given back."""
        self._give_back()
        size = self.ranks.size
        given = self._memory(case.type, case.given(size))
        taken = given if case.in_place else self._memory(case.type, case.taken(size))
        return Ready(self._call(case, given, taken), given, taken)

    def _call(self, case: Case, given: Any, taken: Any) -> Call:
        arguments = (given.data_ptr(), taken.data_ptr(), case.elements(self.ranks.size),
                     TYPES[case.type])  # fmt: skip
        choice = ROOT if case.operation == "broadcast" else OPERATORS[case.reduction]
        enqueue = self._library.collective(case.operation, arguments, choice, self._communicator)
        return lambda: enqueue(torch.cuda.current_stream().cuda_stream)

    def _memory(self, kind: str, elements: int) -> torch.Tensor:
        """Return PyTorch's memory, or a window."""
        if not self._way.registered:
            return self.ranks.tensor(kind, elements)
        size = elements * SIZES[kind]
        memory = self._library.allocate(size)
        try:
            window = self._library.register(self._communicator, memory, size)
        except RuntimeError:
            self._library.free(memory)
            raise
        self._windows.append((memory, window))
        return tensor_at(memory, size, kind, self.ranks.device)

    def _give_back(self) -> None:
        """Give back all windows and their memory; at all ranks."""
        torch.cuda.synchronize()
        while self._windows:
            memory, window = self._windows.pop()
            self._library.deregister(self._communicator, window)
            self._library.free(memory)

    def close(self) -> None:
        """Leave the other ranks."""
        self._give_back()
        self._library.destroy(self._communicator)
