"""CuPy and NumPy."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any

from polypath.frameworks.type_names import name_of_dtype, refuse_objects
from polypath.memory import Framework, Memory
from polypath.messages import message
from polypath.streams import GpuStream


class Cupy(Framework):
    """CuPy."""

    name, module_name, tensor_name = "CuPy", "cupy", "ndarray"

    def memory(self, thing: Any) -> Memory:
        """Return where the array is."""
        return Memory(
            thing,
            self,
            address=thing.data.ptr,
            nbytes=thing.nbytes,
            item_size=thing.itemsize,
            gpu=thing.device.id,
            contiguous=thing.flags.c_contiguous,
            shape=tuple(thing.shape),
            element=name_of_dtype(thing.dtype),
            strides=() if thing.flags.c_contiguous else tuple(thing.strides),
        )

    def contiguous(self, memory: Memory, stream: GpuStream | None) -> Any:
        """Return the array in C order."""
        assert stream is not None
        owner = stream.owner
        if not hasattr(owner, "ptr"):
            owner = self.module.cuda.ExternalStream(stream.handle, stream.gpu)
        with self.module.cuda.Device(stream.gpu), owner:
            return self.module.ascontiguousarray(memory.thing)

    def current_stream(self, memory: Memory) -> GpuStream:
        """Return the GPU's current stream of this thread."""
        with self.module.cuda.Device(memory.gpu):
            stream = self.module.cuda.get_current_stream()
        return GpuStream(memory.gpu or 0, stream.ptr, stream)

    def current_gpu(self) -> int:
        """Return the current device."""
        return int(self.module.cuda.Device().id)

    def empty_like(self, thing: Any, gpu: int | None) -> Any:
        """Return an array whose memory is uninitialised; of NumPy on the host."""
        if gpu is None:
            return sys.modules["numpy"].empty(thing.shape, thing.dtype)
        with self.module.cuda.Device(gpu):
            return self.module.empty(thing.shape, thing.dtype)


class Numpy(Framework):
    """NumPy."""

    name, module_name, tensor_name = "NumPy", "numpy", "ndarray"

    def memory(self, thing: Any) -> Memory:
        """Return where the array is. TypeError for arrays of Python objects."""
        refuse_objects(thing.dtype)
        return Memory(
            thing,
            self,
            address=thing.__array_interface__["data"][0],
            nbytes=thing.nbytes,
            item_size=thing.itemsize,
            gpu=None,
            contiguous=thing.flags.c_contiguous,
            writable=thing.flags.writeable,
            element=name_of_dtype(thing.dtype),
            shape=thing.shape,
            strides=() if thing.flags.c_contiguous else thing.strides,
        )

    def contiguous(self, memory: Memory, stream: GpuStream | None) -> Any:  # noqa: ARG002
        """Return the array in C order."""
        return self.module.ascontiguousarray(memory.thing)

    def current_gpu(self) -> int:
        """Return the first GPU: NumPy has none of its own."""
        return 0

    def check_maker(self) -> None:
        """Raise ImportError unless there is a framework that has arrays on a GPU."""
        self._maker()

    def empty_like(self, thing: Any, gpu: int | None) -> Any:
        """Return an array of CuPy, else a tensor of PyTorch: what is installed."""
        maker = self._maker()
        if maker is CUPY.module:
            return CUPY.empty_like(thing, gpu)
        kind = maker.from_numpy(self.module.empty(0, thing.dtype)).dtype
        return maker.empty(thing.shape, dtype=kind, device=f"cuda:{gpu}")

    def _maker(self) -> Any:
        for name in ("cupy", "torch"):
            with contextlib.suppress(ImportError):
                return importlib.import_module(name)
        raise ImportError(
            message(
                "NumPy arrays cannot be moved to a GPU",
                "neither CuPy nor PyTorch is installed to hold them there",
                "Install one: 'pip install cupy-cuda13x' or 'pip install torch'.",
            )
        )


CUPY, NUMPY = Cupy(), Numpy()
