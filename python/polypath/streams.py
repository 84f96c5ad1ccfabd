"""Streams of GPUs, and the many kinds of objects that stand for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

from polypath._core import Stream
from polypath.devices import CURRENT
from polypath.messages import message

StreamHandle = Union[int, Stream]


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


def given_stream(stream: Any, gpu: int) -> GpuStream:
    """Return the stream that a caller names; one that does not know its GPU is one of `gpu`.

    It may be a handle, a polypath.Stream, a stream of PyTorch or CuPy, or anything with
    `__cuda_stream__`. TypeError for anything else, ValueError for a negative handle.
    """
    if isinstance(stream, Stream):
        return GpuStream(gpu, stream)
    if isinstance(stream, int) and not isinstance(stream, bool):
        return _stream_of_handle(stream, gpu)
    return _stream_of_object(stream, gpu)


def stream_of_rank(stream: Any, gpu: int) -> GpuStream:
    """Return the stream that a caller names for a rank on a GPU. ValueError for another GPU's."""
    named = given_stream(stream, gpu)
    if named.gpu == gpu:
        return named
    raise ValueError(
        message(
            f"stream of gpu{named.gpu} cannot be used",
            f"this rank's GPU is gpu{gpu}",
            "Pass a stream of that one.",
        )
    )


def check_stream(stream: Any) -> None:
    """Raise the errors of given_stream, for copies too that need no stream."""
    if stream is not None:
        given_stream(stream, gpu=0)


def _stream_of_object(stream: Any, gpu: int) -> GpuStream:
    if hasattr(stream, "cuda_stream"):  # PyTorch's
        return GpuStream(stream.device.index, stream.cuda_stream, stream)
    if hasattr(stream, "ptr"):  # CuPy's
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
