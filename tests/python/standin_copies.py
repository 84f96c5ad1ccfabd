"""Programs that copy between two GPUs of the stand-in driver, by its functions."""

from __future__ import annotations

import pytest
from polypath.install import stand_in_dir

on_the_stand_in = pytest.mark.skipif(
    not (stand_in_dir() / "libcuda.so.1").exists(),
    reason="the package was built without the stand-in driver",
)
AROUND = {"LD_LIBRARY_PATH": str(stand_in_dir()), "STANDIN_MACHINE": "beluga"}

# The beginning of a program in Python.
COPIES = """
import ctypes, os, signal, sys

driver = ctypes.CDLL("libcuda.so.1")

def must(status):
    assert status == 0, status

def copies(count):
    memories = []
    for gpu in (0, 1):
        context, memory = ctypes.c_void_p(), ctypes.c_uint64()
        must(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu))
        must(driver.cuCtxSetCurrent(context))
        must(driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4 << 20)))
        memories.append(memory)
    for _ in range(count):
        must(driver.cuMemcpyDtoD_v2(memories[1], memories[0], ctypes.c_size_t(4 << 20)))
"""
