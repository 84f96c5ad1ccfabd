"""Memory of a GPU as PyTorch's caching allocator has it with expandable segments.

A segment is a range of addresses. Pieces of memory are mapped where tensors come to lie, and are
unmapped again, one by one, where none is left.
"""

from __future__ import annotations

import ctypes
import itertools
import random

from mapped_memory import Access, Location, Properties
from nccl_ranks import Gpu, must

UNIT = 2 << 20
ROUNDING = 512  # of a tensor's begin


class Piece:
    """A place for a piece of memory in a segment, and what is mapped there."""

    def __init__(self, begin: int, size: int) -> None:
        self.begin, self.size = begin, size
        self.memory: ctypes.c_uint64 | None = None


class Segment:
    """Addresses with places for pieces of some sizes, in turn."""

    def __init__(self, gpu: Gpu, room: int, sizes: list[int], handles: int) -> None:
        self.gpu, self.driver = gpu, gpu.driver
        self.wanted = Properties(1, handles, Location(1, gpu.number))
        self.opened = Access(Location(1, gpu.number), 3)
        self.pieces: list[Piece] = []
        end = 0
        for size in itertools.cycle(sizes):
            if end >= room:
                break
            self.pieces.append(Piece(end, size))
            end += size
        self.room, base, nothing = end, ctypes.c_uint64(), ctypes.c_uint64(0)
        must(
            self.driver.cuMemAddressReserve(
                ctypes.byref(base), ctypes.c_size_t(end), ctypes.c_size_t(0), nothing, nothing
            )
        )
        self.base = base.value

    def at(self, piece: Piece) -> tuple[ctypes.c_uint64, ctypes.c_size_t]:
        """Return a piece's address and size, as the driver wants them."""
        return ctypes.c_uint64(self.base + piece.begin), ctypes.c_size_t(piece.size)

    def map(self, piece: Piece) -> None:
        """Put new memory there."""
        piece.memory, nothing = ctypes.c_uint64(), ctypes.c_uint64(0)
        address, size = self.at(piece)
        memory, wanted = ctypes.byref(piece.memory), ctypes.byref(self.wanted)
        must(self.driver.cuMemCreate(memory, size, wanted, nothing))
        must(self.driver.cuMemMap(address, size, ctypes.c_size_t(0), piece.memory, nothing))
        one = ctypes.c_size_t(1)
        must(self.driver.cuMemSetAccess(address, size, ctypes.byref(self.opened), one))

    def unmap(self, piece: Piece) -> None:
        """Give the memory back; the addresses stay."""
        must(self.driver.cuMemUnmap(*self.at(piece)))
        must(self.driver.cuMemRelease(piece.memory))
        piece.memory = None

    def close(self) -> None:
        """Give all back."""
        for piece in self.pieces:
            if piece.memory:
                self.unmap(piece)
        must(self.driver.cuMemAddressFree(ctypes.c_uint64(self.base), ctypes.c_size_t(self.room)))


class Allocator:
    """Tensors in a segment, each in the first gap that it fits into."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.taken: dict[int, int] = {}  # ends by begins

    def allocate(self, size: int) -> int:
        """Return an address."""
        size = -(-size // ROUNDING) * ROUNDING
        begin = 0
        for other, end in sorted(self.taken.items()):
            if begin + size <= other:
                break
            begin = end
        assert begin + size <= self.segment.room, "the segment is too small"
        self.taken[begin] = begin + size
        for piece in self.segment.pieces:
            if not piece.memory and piece.begin < begin + size and begin < piece.begin + piece.size:
                self.segment.map(piece)
        return self.segment.base + begin

    def free(self, address: int) -> None:
        """Keep the memory for the next one, which may come while work of this one is queued."""
        del self.taken[address - self.segment.base]

    def trim(self, chance: random.Random) -> None:
        """Unmap some of the pieces in which nothing lies; nothing is queued that uses them."""
        for piece in self.segment.pieces:
            is_used = any(
                begin < piece.begin + piece.size and piece.begin < end
                for begin, end in self.taken.items()
            )
            if piece.memory and not is_used and chance.random() < 0.6:
                self.segment.unmap(piece)
