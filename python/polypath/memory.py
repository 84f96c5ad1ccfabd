"""Where bytes are, and the streams of work on them: what every kind of tensor comes down to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from polypath._core import Stream

if TYPE_CHECKING:
    from polypath.frameworks import Framework

StreamHandle = Union[int, Stream]

UNTYPED = 0  # the item size of plain bytes, which may become elements of any size
CURRENT = -1  # the GPU that a framework uses where none is named

_DEVICE = re.compile(r"(?:cuda|gpu)(?::?(\d+))?")


def message(problem: str, why: str, remedy: str) -> str:
    """Return an error's text in the form of this library: *problem (why it is one) what to do*."""
    return f"{problem} ({why}) {remedy}"


@dataclass(frozen=True)
class GpuStream:
    """A stream of a GPU: its handle as CUDA has it, and the framework's object if there is one."""

    gpu: int
    handle: StreamHandle
    owner: Any = None

    @property
    def place(self) -> str:
        """The GPU's place in the machine."""
        return f"gpu{self.gpu}"

    def is_same(self, other: GpuStream) -> bool:
        """Return whether both are one stream."""
        return self.gpu == other.gpu and self.handle == other.handle


@dataclass(frozen=True)
class Memory:
    """The memory of one tensor, and what must be known of it to copy its bytes."""

    thing: Any
    framework: Framework
    address: int
    nbytes: int
    item_size: int  # bytes per element, or UNTYPED
    gpu: int | None  # as CUDA counts them; None: memory of the host
    contiguous: bool = True  # in C order without gaps
    writable: bool = True
    lazy: bool = False  # the bytes are not yet the values: conjugated or negated when read
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()  # in bytes; only where it is not contiguous
    element: str = ""  # the elements' type, "float32"; empty where it is not known

    @property
    def plain(self) -> bool:
        """Whether the bytes from the address on are the elements in C order."""
        return self.contiguous and not self.lazy

    def has_layout_of(self, other: Memory) -> bool:
        """Return whether equal offsets hold equal elements, and every byte belongs to one."""
        if self.lazy or other.lazy or (self.shape, self.strides) != (other.shape, other.strides):
            return False
        return _is_dense(self.shape, self.strides, self.item_size)


def _is_dense(shape: Sequence[int], strides: Sequence[int], item_size: int) -> bool:
    """Return whether the elements, in whatever order, fill one range of memory."""
    filled = item_size
    for stride, extent in sorted(zip(strides, shape)):
        if extent == 1:
            continue
        if stride != filled:
            return False
        filled *= extent
    return bool(shape)


def given_stream(stream: Any, gpu: int) -> GpuStream:
    """Return the stream that a caller names; one that does not know its GPU is one of `gpu`.

    It may be a handle, a polypath.Stream, a stream of PyTorch or CuPy, or anything with
    `__cuda_stream__`. TypeError for anything else, ValueError for a negative handle.
    """
    if isinstance(stream, Stream):
        return GpuStream(gpu, stream)
    if isinstance(stream, int) and not isinstance(stream, bool):
        return _stream_of_handle(stream, gpu)
    if hasattr(stream, "cuda_stream"):
        return GpuStream(stream.device.index, stream.cuda_stream, stream)
    if hasattr(stream, "ptr"):
        device = getattr(stream, "device_id", CURRENT)
        return GpuStream(gpu if device == CURRENT else device, stream.ptr, stream)
    if hasattr(stream, "__cuda_stream__"):
        return _stream_of_handle(stream.__cuda_stream__()[1], gpu)
    raise TypeError(
        message(
            f"stream of type {type(stream).__name__} cannot be used",
            "it is no stream of PyTorch or CuPy and no handle",
            "Pass one of these, or None for the framework's current stream.",
        )
    )


def _stream_of_handle(handle: int, gpu: int) -> GpuStream:
    if handle >= 0:
        return GpuStream(gpu, handle)
    raise ValueError(
        message(f"stream {handle} cannot be used", "handles are not negative", "Correct it.")
    )


def gpu_of_device(device: Any) -> int | None:
    """Return the GPU that a device names, or CURRENT; None for the host.

    It may be a number, "cpu", "cuda", "cuda:1", "gpu1", or a device of PyTorch or CuPy.
    """
    if isinstance(device, int) and not isinstance(device, bool) and device >= 0:
        return device
    if hasattr(device, "id"):  # CuPy's
        return int(device.id)
    name = str(device)  # PyTorch's read like "cuda:1"
    if name in ("cpu", "host"):
        return None
    if match := _DEVICE.fullmatch(name):
        return CURRENT if match[1] is None else int(match[1])
    raise ValueError(
        message(
            f"device '{name}' cannot be used",
            "a device is 'cpu', 'cuda', 'cuda:N', 'gpuN' or a GPU's number",
            "Name one of them.",
        )
    )
