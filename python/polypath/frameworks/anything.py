"""Objects that show where their bytes are by an interface that many have."""

from __future__ import annotations

from typing import Any

from polypath._core import Buffer
from polypath.frameworks.arrays import NUMPY
from polypath.frameworks.type_names import (
    has_bytes,
    item_size_of,
    name_of_buffer,
    name_of_interface,
)
from polypath.memory import UNTYPED, Framework, Memory
from polypath.messages import message
from polypath.process_context import process_context
from polypath.streams import GpuStream

LEGACY_STREAM = 1  # CUDA's other name for the default stream, which is 0
DLPACK_HOSTS = (1, 3)  # kDLCPU and kDLCUDAHost: what the host can read


class Anything(Framework):
    """Objects that show where their bytes are by one of the common interfaces."""

    def owns(self, thing: Any) -> bool:  # noqa: ARG002
        """Return true: this is the last one to be asked."""
        return True

    def memory(self, thing: Any) -> Memory:
        """Return where the bytes are, by the first interface that the object has."""
        if isinstance(thing, Buffer):
            gpu = _gpu_of_place(thing.place)
            return Memory(thing, self, thing.address, thing.nbytes, UNTYPED, gpu)
        if hasattr(thing, "__cuda_array_interface__"):
            return self._memory_by_interface(thing)
        try:
            view = memoryview(thing)
        except TypeError:
            return self._memory_by_dlpack(thing)
        import numpy as np

        if not view.c_contiguous:
            return NUMPY.memory(np.asarray(view))
        read = NUMPY.memory(np.frombuffer(view, np.uint8) if view.nbytes else np.empty(0, np.uint8))
        is_bytes = has_bytes(view)
        return Memory(view, self, read.address, read.nbytes,
                      UNTYPED if is_bytes else view.itemsize, None, writable=not view.readonly,
                      element="" if is_bytes else name_of_buffer(view))  # fmt: skip

    def current_stream(self, memory: Memory) -> GpuStream:
        """Return the stream that the object asks others to use, else the default stream."""
        interface = getattr(memory.thing, "__cuda_array_interface__", {})
        handle = interface.get("stream") or 0
        return GpuStream(memory.gpu or 0, 0 if handle == LEGACY_STREAM else handle)

    def _memory_by_interface(self, thing: Any) -> Memory:
        interface = thing.__cuda_array_interface__
        address, read_only = interface["data"]
        item_size, shape = item_size_of(interface["typestr"]), tuple(interface["shape"])
        nbytes = item_size
        for extent in shape:
            nbytes *= extent
        gpu = _gpu_of_place(process_context().place_of(address)) if nbytes else None
        strides = interface.get("strides") or ()
        contiguous = not strides or nbytes == 0 or tuple(strides) == _c_strides(shape, item_size)
        return Memory(thing, self, address, nbytes, item_size, gpu, contiguous, not read_only,
                      shape=shape, strides=() if contiguous else tuple(strides),
                      element=name_of_interface(interface))  # fmt: skip

    def _memory_by_dlpack(self, thing: Any) -> Memory:
        device = thing.__dlpack_device__()[0] if hasattr(thing, "__dlpack_device__") else None
        if device not in DLPACK_HOSTS:
            raise TypeError(
                message(
                    f"object of type {type(thing).__name__} cannot be copied",
                    "it is no tensor of PyTorch, CuPy or NumPy, and has no "
                    "__cuda_array_interface__, buffer, or DLPack on the CPU",
                    "Convert it first.",
                )
            )
        import numpy as np

        return NUMPY.memory(np.from_dlpack(thing))


def _gpu_of_place(place: str) -> int | None:
    return int(place[3:]) if place.startswith("gpu") else None


def _c_strides(shape: tuple[int, ...], item_size: int) -> tuple[int, ...]:
    strides = [item_size]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))


ANYTHING = Anything()
