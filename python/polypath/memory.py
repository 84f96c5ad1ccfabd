"""Where bytes are, and what a copy asks of the framework whose they are."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from polypath._core import CollectiveRank, TensorCalls
from polypath.element_types import size_of, type_name
from polypath.messages import message
from polypath.streams import GpuStream, StreamHandle

UNTYPED = 0  # the item size of plain bytes, which may become elements of any size


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
    traced: bool = False  # there are no bytes yet: PyTorch writes down what a program does

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


class Elements(NamedTuple):
    """What a collective must know of a tensor, which is little, because it is called often."""

    address: int
    length: int
    type: str  # "float32"; empty where it is not known
    gpu: int | None  # as CUDA counts them; None: memory of the host
    plain: bool  # the bytes from the address on are the elements in C order
    writable: bool


class Framework:
    """What a copy needs of a framework. These are the answers of one that can do very little."""

    name = ""
    module_name = ""
    tensor_name = ""

    @property
    def module(self) -> Any:
        """The framework's module, if something has imported it."""
        return sys.modules.get(self.module_name)

    def owns(self, thing: Any) -> bool:
        """Return whether the object is a tensor of this framework."""
        kind = getattr(self.module, self.tensor_name, None)
        return isinstance(kind, type) and isinstance(thing, kind)

    def memory(self, thing: Any) -> Memory:
        """Return where the tensor is. TypeError if that cannot be said."""
        raise NotImplementedError

    def elements(self, thing: Any, dtype: Any) -> Elements:
        """Return what a collective must know; of untyped memory the elements are of `dtype`."""
        memory = self.memory(thing)
        if memory.item_size != UNTYPED:
            count, kind = memory.nbytes // memory.item_size, memory.element
        else:
            kind = "" if dtype is None else type_name(dtype)
            count = memory.nbytes // size_of(kind or "uint8")
        return Elements(memory.address, count, kind, memory.gpu, memory.plain, memory.writable)

    def known_by(self, thing: Any, dtype: Any) -> Hashable:
        """Return all that a collective's checks look at, to know a call that has passed them.

        Whatever they find out later to be wrong must make it another value.
        """
        return self.elements(thing, dtype)

    def tensor_calls(self, rank: CollectiveRank, gpu: int) -> TensorCalls | None:  # noqa: ARG002
        """Return what finds and runs calls of its tensors that have been checked, if it can."""
        return None

    def check_gradient(self, thing: Any) -> None:
        """Raise ValueError if gradients are expected to flow through the tensor."""

    def contiguous(self, memory: Memory, stream: GpuStream | None) -> Any:  # noqa: ARG002
        """Return the tensor in C order, made on `stream` if it is on a GPU."""
        raise ValueError(
            message(
                f"source of type {type(memory.thing).__name__} is not contiguous",
                "only its owner can rearrange it",
                "Make it contiguous first.",
            )
        )

    def current_stream(self, memory: Memory) -> GpuStream:
        """Return the stream that work on the tensor's GPU goes to unless another is named."""
        raise NotImplementedError

    def current_handle(self, thing: Any, gpu: int) -> StreamHandle:  # noqa: ARG002
        """Return the handle of current_stream, of memory on that GPU."""
        return self.current_stream(self.memory(thing)).handle

    def current_gpu(self) -> int:
        """Return the GPU that the framework uses where none is named."""
        raise NotImplementedError

    def is_capturing(self, stream: GpuStream) -> bool:  # noqa: ARG002
        """Return whether what is put into the stream becomes part of a graph."""
        return False

    def note_use(self, memory: Memory, stream: GpuStream) -> None:
        """Tell the allocator of a GPU's tensor that a stream named by the caller uses it."""

    def note_pinned(self, destination: Memory, source: Memory, stream: GpuStream) -> None:
        """Tell the allocator of the host's end that a stream may still use its memory."""

    def note_write(self, thing: Any) -> None:
        """Tell the framework that the tensor has other values now."""

    def check_maker(self) -> None:
        """Raise ImportError where nothing can hold such a tensor on a GPU."""

    def empty_like(self, thing: Any, gpu: int | None) -> Any:
        """Return a new tensor of the same type and shape on a GPU, or on the host."""
        raise NotImplementedError
