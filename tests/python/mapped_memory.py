"""Memory of a GPU at virtual addresses, by the driver's own calls."""

from __future__ import annotations

import ctypes

from nccl_ranks import Gpu, must


class Location(ctypes.Structure):
    """CUmemLocation."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("rest", ctypes.c_uint64 * 2),
    )


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", Location), ("flags", ctypes.c_int))


class Mapped:
    """Memory at virtual addresses in many pieces, open to its GPU only, as expandable segments."""

    PIECE = 2 << 20

    def __init__(self, gpu: Gpu, number: int, count: int) -> None:
        driver, piece = gpu.driver, ctypes.c_size_t(self.PIECE)
        pieces = -(-count // self.PIECE)
        self.driver, self.size = driver, ctypes.c_size_t(pieces * self.PIECE)
        self.address, self.memories = ctypes.c_uint64(), [ctypes.c_uint64() for _ in range(pieces)]
        nothing, owner = ctypes.c_uint64(0), Location(1, number)
        wanted, opened = Properties(1, 1, owner), Access(owner, 3)
        begin = ctypes.byref(self.address)
        must(driver.cuMemAddressReserve(begin, self.size, ctypes.c_size_t(0), nothing, nothing))
        for i, memory in enumerate(self.memories):
            must(driver.cuMemCreate(ctypes.byref(memory), piece, ctypes.byref(wanted), nothing))
            at = ctypes.c_uint64(self.address.value + i * self.PIECE)
            must(driver.cuMemMap(at, piece, ctypes.c_size_t(0), memory, nothing))
        one = ctypes.c_size_t(1)
        must(driver.cuMemSetAccess(self.address, self.size, ctypes.byref(opened), one))

    def free(self) -> None:
        """Give all of it back."""
        must(self.driver.cuMemUnmap(self.address, self.size))
        for memory in self.memories:
            must(self.driver.cuMemRelease(memory))
        must(self.driver.cuMemAddressFree(self.address, self.size))
