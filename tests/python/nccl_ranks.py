"""Ranks that use NCCL by ctypes, as vLLM does: `python nccl_ranks.py FOLDER RANK RANKS [WORD...]`.

They find each other by a file in FOLDER. Prints "right" if every result is.
"""

from __future__ import annotations

import array
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

FLOAT32, INT32 = 7, 2
SUM = 0
COUNT = 5000

Value = ctypes.c_void_p


class UniqueId(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = (("internal", ctypes.c_byte * 128),)


def must(status: int) -> None:
    """Raise for what is no success."""
    if status != 0:
        raise RuntimeError(f"status {status}")


class Gpu:
    """A GPU of the driver, with a stream."""

    def __init__(self, number: int) -> None:
        self.number, self.driver = number, ctypes.CDLL("libcuda.so.1")
        self.context, self.stream = Value(), Value()
        must(self.driver.cuInit(0))
        must(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), number))
        self.use()
        must(self.driver.cuStreamCreate(ctypes.byref(self.stream), 1))

    def use(self) -> None:
        """Make it the thread's."""
        must(self.driver.cuCtxSetCurrent(self.context))

    def memory(self, values: list[float]) -> Value:
        """Return memory with values of float32, which have arrived.

        A copy of pageable memory may return before that, and the stream does not wait for it.
        """
        address = ctypes.c_uint64()
        data = array.array("f", values).tobytes()
        must(self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(len(data))))
        must(self.driver.cuMemcpyHtoD_v2(address, data, ctypes.c_size_t(len(data))))
        must(self.driver.cuStreamSynchronize(None))
        return Value(address.value)

    def values(self, address: Value, count: int) -> list[float]:
        """Return what is in memory, once the stream is done."""
        must(self.driver.cuStreamSynchronize(self.stream))
        data = ctypes.create_string_buffer(4 * count)
        must(self.driver.cuMemcpyDtoH_v2(data, address, ctypes.c_size_t(4 * count)))
        return array.array("f", data.raw).tolist()


def library() -> ctypes.CDLL:
    """Return NCCL with the types of what is called."""
    nccl = ctypes.CDLL("libnccl.so.2")
    nccl.ncclCommInitRank.argtypes = [Value, ctypes.c_int, UniqueId, ctypes.c_int]
    nccl.ncclAllReduce.argtypes = [
        Value,
        Value,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        Value,
        Value,
    ]
    nccl.ncclAllGather.argtypes = [Value, Value, ctypes.c_size_t, ctypes.c_int, Value, Value]
    nccl.ncclBroadcast.argtypes = [
        Value,
        Value,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        Value,
        Value,
    ]
    nccl.ncclCommSplit.argtypes = [Value, ctypes.c_int, ctypes.c_int, Value, Value]
    return nccl


def shared_id(nccl: ctypes.CDLL, folder: Path, rank: int) -> UniqueId:
    """Return the name that rank 0 makes."""
    file = folder / "id"
    made = UniqueId()
    if rank == 0:
        must(nccl.ncclGetUniqueId(ctypes.byref(made)))
        (folder / "id.part").write_bytes(bytes(made))
        (folder / "id.part").rename(file)
        return made
    while not file.exists():
        time.sleep(0.01)
    return UniqueId.from_buffer_copy(file.read_bytes())


def communicator(nccl: ctypes.CDLL, unique: UniqueId, rank: int, ranks: int) -> Value:
    """Return this rank's."""
    made = Value()
    must(nccl.ncclCommInitRank(ctypes.byref(made), ranks, unique, rank))
    return made


def given(rank: int, count: int = COUNT) -> list[float]:
    """Return what a rank gives."""
    return [float((i % 7) + rank) for i in range(count)]


def check_calls(nccl: ctypes.CDLL, gpu: Gpu, comm: Value, rank: int, ranks: int) -> None:
    """Make each call, alone and in a group, and look at what it gives."""
    own, result = gpu.memory(given(rank)), gpu.memory([0.0] * COUNT * ranks)
    sums = [sum(parts) for parts in zip(*(given(each) for each in range(ranks)), strict=True)]
    everything = [value for each in range(ranks) for value in given(each)]

    def all_reduce() -> None:
        must(nccl.ncclAllReduce(own, result, COUNT, FLOAT32, SUM, comm, gpu.stream))

    def all_gather() -> None:
        must(nccl.ncclAllGather(own, result, COUNT, FLOAT32, comm, gpu.stream))

    def broadcast() -> None:
        must(nccl.ncclBroadcast(own, result, COUNT, FLOAT32, ranks - 1, comm, gpu.stream))

    def grouped(call: Callable[[], None]) -> None:
        must(nccl.ncclGroupStart())
        call()
        must(nccl.ncclGroupEnd())

    wanted = ((all_reduce, sums), (all_gather, everything), (broadcast, given(ranks - 1)))
    for call, right in wanted:
        call()
        assert gpu.values(result, len(right)) == right, call.__name__
        grouped(call)
        assert gpu.values(result, len(right)) == right, call.__name__
    error = ctypes.c_int(-1)
    must(nccl.ncclCommGetAsyncError(comm, ctypes.byref(error)))
    assert error.value == 0


def be_left_alone(nccl: ctypes.CDLL, gpu: Gpu, comm: Value, rank: int) -> None:
    """End without a word if this is the last rank; else call it and be told that it has ended."""
    if rank > 0:
        os.kill(os.getpid(), signal.SIGKILL)
    memory = gpu.memory(given(rank))
    must(nccl.ncclAllReduce(memory, memory, COUNT, FLOAT32, SUM, comm, gpu.stream))
    error, end = ctypes.c_int(0), time.monotonic() + 30
    while error.value == 0:
        assert time.monotonic() < end, "nothing is said"
        must(nccl.ncclCommGetAsyncError(comm, ctypes.byref(error)))
    must(gpu.driver.cuStreamSynchronize(gpu.stream))
    must(nccl.ncclCommAbort(comm))
    nccl.ncclGetLastError.restype = ctypes.c_char_p
    print(f"error {error.value}: {nccl.ncclGetLastError(None).decode()}", flush=True)


def main() -> None:
    """Be one rank."""
    folder, rank, ranks = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    words = sys.argv[4:]
    gpu = Gpu(0 if "sees-one" in words else rank)
    nccl = library()
    comm = communicator(nccl, shared_id(nccl, folder, rank), rank, ranks)
    if "left-alone" in words:
        be_left_alone(nccl, gpu, comm, rank)
        os._exit(0)  # the stand-in's communicator would wait for the other rank
    check_calls(nccl, gpu, comm, rank, ranks)
    if "split" in words:
        part = Value()
        must(nccl.ncclCommSplit(comm, 0, -rank, ctypes.byref(part), None))
        check_calls(nccl, gpu, part, ranks - 1 - rank, ranks)
        must(nccl.ncclCommDestroy(part))
    must(nccl.ncclCommDestroy(comm))
    print("right")


if __name__ == "__main__":
    main()
