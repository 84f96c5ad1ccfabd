"""A program that knows nothing of Polypath: it copies by the CUDA driver's own calls.

python examples/plain_copies.py                    as it is
polypath run -- python examples/plain_copies.py    its copies over every path that helps

It needs two GPUs, or the stand-in driver: LD_LIBRARY_PATH set to what
"from polypath import install; print(install.stand_in_dir())" prints. Every byte is compared.
"""

from __future__ import annotations

import ctypes
import sys
import time

COUNT, BYTES = 8, 64 << 20

try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as missing:
    sys.exit(f"there is no CUDA driver here ({missing})")


def call(name: str, *arguments: object) -> None:
    """Call a function of the driver; end the program if it fails."""
    status = getattr(cuda, name)(*arguments)
    if status != 0:
        sys.exit(f"{name} failed with status {status}")


def allocate(gpu: int) -> ctypes.c_uint64:
    """Return memory of a GPU, whose context stays current."""
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), gpu)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(BYTES))
    return memory


def main() -> None:
    """Copy from GPU 0 to GPU 1 some times, and look at what has arrived."""
    call("cuInit", 0)
    size = ctypes.c_size_t(BYTES)
    destination, source = allocate(1), allocate(0)
    pattern, pinned = bytes(range(256)) * (BYTES // 256), ctypes.c_void_p()
    call("cuMemAllocHost_v2", ctypes.byref(pinned), size)
    ctypes.memmove(pinned, pattern, BYTES)
    call("cuMemcpyHtoD_v2", source, pinned, size)

    start = time.perf_counter()
    for _ in range(COUNT):
        call("cuMemcpyDtoD_v2", destination, source, size)
    call("cuCtxSynchronize")
    seconds = time.perf_counter() - start

    ctypes.memset(pinned, 0, BYTES)
    call("cuMemcpyDtoH_v2", pinned, destination, size)
    if ctypes.string_at(pinned, BYTES) != pattern:
        sys.exit("bytes are wrong")
    print(f"{COUNT} copies of {BYTES >> 20} MiB in {1e3 * seconds:.1f} ms, every byte right")


if __name__ == "__main__":
    main()
