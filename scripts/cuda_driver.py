"""As much of the CUDA driver as scripts/driver_copies.py calls, and memory with a known pattern."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from random import Random

PEER_ACCESS_ALREADY_ENABLED = 704
PORTABLE = 1  # CU_MEMHOSTALLOC_PORTABLE: pinned for all GPUs
BLOCK = Random(1).randbytes((1 << 20) + 7)  # no piece of a copy is a multiple of it

Action = Callable[[], None]
libc = ctypes.CDLL(None)


class Cuda:
    """The driver's functions, whose errors end the program."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        self.gpus = count.value

    def call(self, name: str, *arguments: object, tolerated: int = 0) -> None:
        """Call a function; numbers must be wrapped unless they are a C int."""
        result = getattr(self._library, name)(*arguments)
        if result not in (0, tolerated):
            raise SystemExit(f"{name} fails with {result}")

    def action(self, name: str, *arguments: object) -> Action:
        """Return a call that is ready to be made."""
        function = getattr(self._library, name)

        def act() -> None:
            if function(*arguments) != 0:
                raise SystemExit(f"{name} fails")

        return act


class Gpu:
    """One GPU: its primary context, and one stream."""

    def __init__(self, cuda: Cuda, number: int) -> None:
        self._cuda = cuda
        device = ctypes.c_int()
        cuda.call("cuDeviceGet", ctypes.byref(device), number)
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        cuda.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.use()
        cuda.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.synchronize = cuda.action("cuStreamSynchronize", self.stream)

    def use(self) -> None:
        """Make its context the current one."""
        self._cuda.call("cuCtxSetCurrent", self.context)

    def enable_peer(self, other: Gpu) -> None:
        """Let this GPU reach the other one's memory, as every program does that copies between."""
        self.use()
        self._cuda.call(
            "cuCtxEnablePeerAccess", other.context, 0, tolerated=PEER_ACCESS_ALREADY_ENABLED
        )

    def memory(self, size: int) -> ctypes.c_uint64:
        """Return new memory of this GPU."""
        self.use()
        address = ctypes.c_uint64()
        self._cuda.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def fill(self, address: ctypes.c_uint64, host: ctypes.c_void_p, size: int) -> None:
        """Copy from the host at once."""
        self.use()
        self._cuda.call("cuMemcpyHtoD_v2", address, host, ctypes.c_size_t(size))

    def read(self, address: ctypes.c_uint64, size: int) -> ctypes.c_void_p:
        """Return host memory with what is there."""
        self.use()
        host = pageable(size)
        self._cuda.call("cuMemcpyDtoH_v2", host, address, ctypes.c_size_t(size))
        return host


def pageable(size: int) -> ctypes.c_void_p:
    """Return malloc memory, its pages present."""
    libc.malloc.restype = ctypes.c_void_p
    address = ctypes.c_void_p(libc.malloc(ctypes.c_size_t(size)))
    libc.memset(address, 0, ctypes.c_size_t(size))
    return address


def pinned(cuda: Cuda, size: int) -> ctypes.c_void_p:
    """Return pinned memory, its bytes all 0."""
    address = ctypes.c_void_p()
    cuda.call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(size), PORTABLE)
    libc.memset(address, 0, ctypes.c_size_t(size))
    return address


def write_pattern(host: ctypes.c_void_p, size: int) -> None:
    """Fill host memory with bytes in which every offset can be told."""
    assert host.value is not None
    for offset in range(0, size, len(BLOCK)):
        libc.memcpy(
            ctypes.c_void_p(host.value + offset),
            BLOCK,
            ctypes.c_size_t(min(len(BLOCK), size - offset)),
        )


def require_pattern(host: ctypes.c_void_p, size: int) -> None:
    """End the program unless the bytes of write_pattern are there."""
    assert host.value is not None
    for offset in range(0, size, len(BLOCK)):
        length = min(len(BLOCK), size - offset)
        if libc.memcmp(ctypes.c_void_p(host.value + offset), BLOCK, ctypes.c_size_t(length)) != 0:
            raise SystemExit(f"wrong bytes behind offset {offset} of {size}")
