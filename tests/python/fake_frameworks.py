"""Stand-ins for PyTorch and CuPy whose GPUs are those of a simulated machine.

A tensor's bytes are a buffer of the context, so the engine really copies them, and the simulated
driver reports a race wherever stream order is missing.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import fake_dlpack
import numpy as np
import polypath


@dataclass(frozen=True)
class Device:
    """As torch.device."""

    type: str
    index: int | None = None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"


class TorchStream:
    """As torch.cuda.Stream."""

    def __init__(self, context: polypath.Context, gpu: int) -> None:
        self.device = Device("cuda", gpu)
        self.cuda_stream = context.stream(f"gpu{gpu}")

    def synchronize(self) -> None:
        self.cuda_stream.synchronize()


class CupyStream:
    """As cupy.cuda.Stream."""

    def __init__(self, context: polypath.Context, gpu: int) -> None:
        self.device_id = gpu
        self.ptr = context.stream(f"gpu{gpu}")

    def __enter__(self) -> CupyStream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def synchronize(self) -> None:
        self.ptr.synchronize()


def place_of(gpu: int | None) -> str:
    return "host0" if gpu is None else f"gpu{gpu}"


class Torch(types.ModuleType):
    """As much of torch as copies use; `log` keeps what they told it."""

    strided = "strided"
    uint8 = np.uint8

    def __init__(self, context: polypath.Context) -> None:
        super().__init__("torch")
        self.context = context
        self.log: list[tuple[Any, ...]] = []
        self.grad_enabled = True
        self.capturing = False
        self.current = {gpu: TorchStream(context, gpu) for gpu in range(4)}
        self.Tensor = TorchTensor
        self.cuda = types.SimpleNamespace(
            current_stream=lambda gpu: self.current[gpu],
            current_device=lambda: 0,
            default_stream=lambda gpu: f"the default stream of {gpu}",
            is_current_stream_capturing=lambda: self.capturing,
            stream=self._stream,
            ExternalStream=self._external,
        )
        graph = types.SimpleNamespace(increment_version=self._increment_version)
        self.autograd = types.SimpleNamespace(graph=graph)

    def note(self, *entry: Any) -> None:
        self.log.append(entry)

    def _increment_version(self, tensor: TorchTensor) -> None:
        if tensor.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        self.note("write", tensor)

    def is_grad_enabled(self) -> bool:
        return self.grad_enabled

    def inference_mode(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def empty_like(self, tensor: TorchTensor, device: str, requires_grad: bool) -> TorchTensor:
        assert not requires_grad
        gpu = None if device == "cpu" else int(device[5:])
        array = tensor.array
        result = self.tensor(gpu, array.shape, array.dtype)
        if array.flags.f_contiguous:
            result.array = result.array.reshape(-1).reshape(array.shape, order="F")
        return result

    def tensor(
        self, gpu: int | None, shape: tuple[int, ...] | int, dtype: Any = np.uint8, **more: Any
    ) -> TorchTensor:
        shape = (shape,) if isinstance(shape, int) else shape
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        buffer = self.context.allocate(place_of(gpu), max(count, 1))
        array = buffer.numpy()[:count].view(dtype).reshape(shape)
        return TorchTensor(self, array, gpu, **more)

    def _external(self, handle: Any, device: int) -> TorchStream:
        stream = TorchStream(self.context, device)
        stream.cuda_stream = handle
        return stream

    @contextlib.contextmanager
    def _stream(self, stream: TorchStream) -> Iterator[None]:
        gpu = stream.device.index
        before, self.current[gpu] = self.current[gpu], stream
        yield
        self.current[gpu] = before


@dataclass(eq=False)
class TorchTensor:
    """As torch.Tensor."""

    __dlpack_c_exchange_api__ = fake_dlpack.CAPSULE

    torch: Torch
    array: np.ndarray
    gpu: int | None
    requires_grad: bool = False
    pinned: bool = False
    conjugated: bool = False
    negated: bool = False
    layout: str = "strided"
    inference: bool = False
    device: Device = field(init=False)

    def __post_init__(self) -> None:
        self.device = Device("cpu") if self.gpu is None else Device("cuda", self.gpu)

    @property
    def data(self) -> TorchTensor:
        return TorchTensor(self.torch, self.array, self.gpu, pinned=self.pinned)

    @data.setter
    def data(self, other: TorchTensor) -> None:
        self.array, self.gpu, self.pinned = other.array, other.gpu, other.pinned
        self.__post_init__()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> str:
        return f"torch.{self.array.dtype}"

    def data_ptr(self) -> int:
        if self.layout != "strided":
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return int(self.array.__array_interface__["data"][0])

    def element_size(self) -> int:
        return self.array.itemsize

    def numel(self) -> int:
        return self.array.size

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def is_contiguous(self) -> bool:
        return self.array.flags.c_contiguous

    def is_conj(self) -> bool:
        return self.conjugated

    def is_neg(self) -> bool:
        return self.negated

    def is_inference(self) -> bool:
        return self.inference

    def is_pinned(self) -> bool:
        return self.pinned

    def detach(self) -> TorchTensor:
        return self

    def resolve_conj(self) -> TorchTensor:
        if not self.conjugated:
            return self
        self.array[:] = ~self.array  # what stands for conjugating bytes
        return TorchTensor(self.torch, self.array, self.gpu)

    def resolve_neg(self) -> TorchTensor:
        return self

    def contiguous(self) -> TorchTensor:
        stream = None if self.gpu is None else self.torch.current[self.gpu]
        self.torch.note("contiguous", stream)
        result = self.torch.tensor(self.gpu, self.shape, self.array.dtype)
        result.array[...] = self.array
        return result

    def reshape(self, shape: tuple[int, ...]) -> TorchTensor:
        return TorchTensor(self.torch, self.array.reshape(shape), self.gpu, pinned=self.pinned)

    def as_strided(self, shape: tuple[int], strides: tuple[int]) -> TorchTensor:
        assert strides == (1,)
        flat = np.lib.stride_tricks.as_strided(self.array, shape, (self.array.itemsize,))
        return TorchTensor(self.torch, flat, self.gpu)

    def view(self, dtype: Any) -> TorchTensor:
        return TorchTensor(self.torch, self.array.view(dtype), self.gpu)

    def __getitem__(self, part: slice | int) -> TorchTensor:
        return TorchTensor(self.torch, self.array[part], self.gpu, pinned=self.pinned)

    def copy_(self, source: TorchTensor, non_blocking: bool = False) -> None:
        self.torch.note("copy_", source.numel(), non_blocking)
        if self.gpu is None and source.gpu is None:
            self.array[...] = source.array

    def record_stream(self, stream: TorchStream) -> None:
        self.torch.note("record_stream", self, stream)


@dataclass(eq=False)
class CupyArray:
    """As cupy.ndarray."""

    array: np.ndarray
    device: Any  # with its number as `id`

    @property
    def data(self) -> Any:
        return types.SimpleNamespace(ptr=int(self.array.__array_interface__["data"][0]))

    def __getattr__(self, name: str) -> Any:
        if name in ("nbytes", "itemsize", "flags", "shape", "strides", "dtype"):
            return getattr(self.array, name)
        raise AttributeError(name)


class Cupy(types.ModuleType):
    """As much of cupy as copies use."""

    def __init__(self, context: polypath.Context) -> None:
        super().__init__("cupy")
        self.context = context
        self._thread = threading.local()
        self.ndarray = CupyArray
        self.current = {gpu: CupyStream(context, gpu) for gpu in range(4)}
        self.cuda = types.SimpleNamespace(
            Device=self._device, get_current_stream=lambda: self.current[self.selected]
        )

    @property
    def selected(self) -> int:
        """The current device, of which each thread has its own."""
        return getattr(self._thread, "selected", 0)

    @selected.setter
    def selected(self, gpu: int) -> None:
        self._thread.selected = gpu

    @contextlib.contextmanager
    def _select(self, gpu: int) -> Iterator[None]:
        before, self.selected = self.selected, gpu
        yield
        self.selected = before

    def _device(self, gpu: int | None = None) -> Any:
        if gpu is None:
            return types.SimpleNamespace(id=self.selected)
        return self._select(gpu)

    def empty(self, shape: tuple[int, ...] | int, dtype: Any = np.uint8) -> CupyArray:
        shape = (shape,) if isinstance(shape, int) else shape
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        buffer = self.context.allocate(place_of(self.selected), max(count, 1))
        array = buffer.numpy()[:count].view(dtype).reshape(shape)
        return CupyArray(array, types.SimpleNamespace(id=self.selected))

    def ascontiguousarray(self, array: CupyArray) -> CupyArray:
        result = self.empty(array.shape, array.dtype)
        result.array[...] = array.array
        return result
