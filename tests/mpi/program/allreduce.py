"""Ranks in Python reduce memory of their GPUs by mpi4py: rank 0 prints "right"."""

from __future__ import annotations

import array
import ctypes

from mpi4py import MPI

COUNT = 5000


def must(status: int) -> None:
    """Raise for what is no success."""
    if status != 0:
        raise RuntimeError(f"status {status}")


class Memory:
    """float32 values of a GPU, as mpi4py takes them: an object with CUDA's array interface."""

    def __init__(self, driver: ctypes.CDLL, values: list[float]) -> None:
        self.driver, self.address = driver, ctypes.c_uint64()
        data = array.array("f", values).tobytes()
        must(driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(len(data))))
        must(driver.cuMemcpyHtoD_v2(self.address, data, ctypes.c_size_t(len(data))))
        self.__cuda_array_interface__ = {
            "data": (self.address.value, False), "shape": (len(values),), "typestr": "<f4",
            "version": 3,
        }  # fmt: skip

    def values(self) -> list[float]:
        """Return what is in it."""
        data = ctypes.create_string_buffer(4 * COUNT)
        must(self.driver.cuMemcpyDtoH_v2(data, self.address, ctypes.c_size_t(len(data))))
        return list(array.array("f", data.raw))


def main() -> None:
    """Reduce, and look at the result."""
    world = MPI.COMM_WORLD
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    must(driver.cuInit(0))
    must(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), world.rank))
    must(driver.cuCtxSetCurrent(context))
    given = Memory(driver, [float(world.rank + i % 3) for i in range(COUNT)])
    taken = Memory(driver, [0.0] * COUNT)
    world.Allreduce(given, taken)
    total = sum(range(world.size))
    expected = [float(total + world.size * (i % 3)) for i in range(COUNT)]
    right = world.allreduce(taken.values() == expected, op=MPI.LAND)
    if world.rank == 0 and right:
        print("right")


main()
