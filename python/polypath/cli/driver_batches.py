"""What a program without Polypath calls: the CUDA driver's own copies, many in one call."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from polypath.cli.errors import UserError

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
IN_STREAM_ORDER = 1  # CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
BATCH_CALLS = ("cuMemcpyBatchAsync_v2", "cuMemcpyBatchAsync")  # of CUDA 13, and of 12.8

Addresses = np.ndarray  # of numpy.uint64


class _Attributes(ctypes.Structure):
    """CUmemcpyAttributes; the two locations are hints for managed memory."""

    _fields_ = (
        ("order", ctypes.c_int),
        ("source_location", ctypes.c_int * 2),
        ("destination_location", ctypes.c_int * 2),
        ("flags", ctypes.c_uint),
    )


class Driver:
    """The driver's calls for one GPU, whose primary context becomes the thread's, on one stream."""

    def __init__(self, gpu: int) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        context, stream = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(gpu))
        self._call("cuCtxSetCurrent", context)
        self._call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        self._stream = stream
        names = [name for name in BATCH_CALLS if hasattr(self._library, name)]
        self._batch_call = names[0] if names else None
        self._attributes = _Attributes(order=IN_STREAM_ORDER)

    @property
    def stream(self) -> int:
        """The stream's handle."""
        return self._stream.value or 0

    @property
    def many(self) -> str:
        """Which call copies many: the batch call, or one call for each where there is none."""
        return "batch call" if self._batch_call else "single calls"

    def copy_many(self, destinations: Addresses, sources: Addresses, sizes: Addresses) -> None:
        """Queue copies on the stream."""
        if self._batch_call is None:
            for each in zip(destinations.tolist(), sources.tolist(), sizes.tolist()):
                self._call("cuMemcpyAsync", *map(ctypes.c_uint64, each), self._stream)
            return
        arrays = [_pointer(array) for array in (destinations, sources, sizes)]
        failed = [ctypes.byref(ctypes.c_size_t())] if self._batch_call == BATCH_CALLS[1] else []
        self._call(
            self._batch_call,
            *(*arrays, ctypes.c_size_t(len(sizes)), ctypes.byref(self._attributes)),
            *(ctypes.byref(ctypes.c_size_t(0)), ctypes.c_size_t(1), *failed, self._stream),
        )

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy from memory of the host, pinned or not, onto the GPU; wait for it."""
        self._sized("cuMemcpyHtoD_v2", destination, source, nbytes)

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy from the GPU into memory of the host; wait for it."""
        self._sized("cuMemcpyDtoH_v2", destination, source, nbytes)

    def clear(self, destination: int, nbytes: int) -> None:
        """Set memory of a GPU to 0; wait for it."""
        self._call(
            *("cuMemsetD8_v2", ctypes.c_uint64(destination), ctypes.c_ubyte(0)),
            ctypes.c_size_t(nbytes),
        )
        self.synchronize()

    def synchronize(self) -> None:
        """Wait for the stream, and for all else in the GPU's context."""
        self._call("cuCtxSynchronize")

    def _sized(self, name: str, destination: int, source: int, nbytes: int) -> None:
        ends = ctypes.c_uint64(destination), ctypes.c_uint64(source)
        self._call(name, *ends, ctypes.c_size_t(nbytes))

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise UserError(
                "the driver's own copies cannot be measured",
                f"{name} fails with {status}",
                "See 'polypath doctor'.",
            )


def _pointer(array: Addresses) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)
