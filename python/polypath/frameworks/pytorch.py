"""PyTorch: its memory, streams, allocators and autograd, as far as a copy touches them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any

from polypath._core import CollectiveRank, Error, TensorCalls
from polypath.frameworks import tracing
from polypath.memory import Elements, Framework, Memory
from polypath.messages import message
from polypath.streams import GpuStream, StreamHandle


class PyTorch(Framework):
    """PyTorch, on CUDA devices and on the CPU."""

    name, module_name, tensor_name = "PyTorch", "torch", "Tensor"

    def __init__(self) -> None:
        self._type_names: dict[Any, str] = {}
        # Looked up when owns() has found the first tensor: collectives use them in every call.
        self.exact: Any = None  # the class of tensors
        self._raw_stream: Callable[[int], int] | None = None  # where this version has it
        self._increment_version: Callable[[Any], object] | None = None

    def owns(self, thing: Any) -> bool:
        """Return whether the object is a tensor of PyTorch."""
        if not super().owns(thing):
            return False
        if self.exact is not self.module.Tensor:
            self._look_up()
        return True

    def _look_up(self) -> None:
        # The public way to a stream makes an object first, which takes longer than its call.
        inside = getattr(self.module, "_C", None)
        self._raw_stream = getattr(inside, "_cuda_getCurrentRawStream", None)
        graph = getattr(getattr(self.module, "autograd", None), "graph", None)
        self._increment_version = getattr(graph, "increment_version", None)
        self.exact = self.module.Tensor  # last: other threads take it for a sign

    def memory(self, thing: Any) -> Memory:
        """Return where a dense tensor of the host or of a GPU is."""
        if thing.layout is not self.module.strided or thing.device.type not in ("cpu", "cuda"):
            raise TypeError(
                message(
                    f"tensor with layout {thing.layout} on {thing.device} cannot be copied",
                    "it must be dense, on the CPU or a CUDA device",
                    "Convert it first.",
                )
            )
        item_size = thing.element_size()
        contiguous = thing.is_contiguous()
        traced = tracing.is_traced(self.module, thing)
        return Memory(
            thing,
            self,
            address=0 if traced else thing.data_ptr(),
            nbytes=thing.numel() * item_size,
            item_size=item_size,
            element=str(thing.dtype).removeprefix("torch."),
            gpu=thing.device.index if thing.device.type == "cuda" else None,
            contiguous=contiguous,
            lazy=not traced and (thing.is_conj() or thing.is_neg()),
            shape=tuple(thing.shape),
            strides=() if contiguous else tuple(step * item_size for step in thing.stride()),
            traced=traced,
        )

    def elements(self, thing: Any, dtype: Any) -> Elements:
        """Return what a collective must know, in a microsecond."""
        device = thing.device
        if thing.layout is not self.module.strided or device.type != "cuda":
            return super().elements(thing, dtype)
        kind = thing.dtype
        name = self._type_names.get(kind)
        if name is None:
            name = self._type_names[kind] = str(kind).removeprefix("torch.")
        plain = thing.is_contiguous() and not thing.is_neg() and not thing.is_conj()
        return Elements(thing.data_ptr(), thing.numel(), name, device.index, plain, True)

    def known_by(self, thing: Any, dtype: Any) -> Hashable:
        """Return all that a collective's checks look at, in half a microsecond."""
        try:
            return (
                thing.data_ptr(), thing.numel(), thing.dtype, thing.device, thing.layout,
                thing.is_contiguous(), thing.is_neg(),  # no complex numbers pass, so none that are
                thing.requires_grad and self.module.is_grad_enabled(),  # conjugated when read
            )  # fmt: skip
        except RuntimeError:  # not all layouts have an address: the checks say what is wrong
            return self.elements(thing, dtype)

    def tensor_calls(self, rank: CollectiveRank, gpu: int) -> TensorCalls | None:
        """Return what finds and runs calls of tensors that are of the class itself.

        None where PyTorch is older than 2.10: its tensors have no functions of C to ask.
        """
        current_stream = None if self._raw_stream else partial(self.current_handle, None)
        try:
            return TensorCalls(rank, gpu, self.exact, self._increment_version,
                               self.module.is_grad_enabled, current_stream)  # fmt: skip
        except Error:
            return None

    def check_gradient(self, thing: Any) -> None:
        """Raise ValueError for a tensor that autograd watches; it would not see the copy."""
        if thing.requires_grad and self.module.is_grad_enabled():
            raise ValueError(
                message(
                    "tensor with requires_grad cannot be copied",
                    "the copy has no gradient",
                    "Call detach() first, or copy under torch.no_grad().",
                )
            )

    def contiguous(self, memory: Memory, stream: GpuStream | None) -> Any:
        """Return the tensor in C order."""
        with self._on(stream):
            return memory.thing.detach().resolve_conj().resolve_neg().contiguous()

    def current_stream(self, memory: Memory) -> GpuStream:
        """Return the GPU's current stream of this thread."""
        stream = self.module.cuda.current_stream(memory.gpu)
        return GpuStream(memory.gpu or 0, stream.cuda_stream, stream)

    def current_handle(self, thing: Any, gpu: int) -> StreamHandle:  # noqa: ARG002
        """Return the handle of the GPU's current stream of this thread."""
        if self._raw_stream is not None:
            return self._raw_stream(gpu)
        handle: StreamHandle = self.module.cuda.current_stream(gpu).cuda_stream
        return handle

    def current_gpu(self) -> int:
        """Return the current device."""
        return int(self.module.cuda.current_device())

    def is_capturing(self, stream: GpuStream) -> bool:
        """Return whether the stream is captured into a torch.cuda.CUDAGraph, or any other graph."""
        with self._on(stream):
            return bool(self.module.cuda.is_current_stream_capturing())

    def note_use(self, memory: Memory, stream: GpuStream) -> None:
        """Keep the memory from being given away while the stream has work on it."""
        if hasattr(stream.owner, "cuda_stream"):
            memory.thing.record_stream(stream.owner)

    def note_write(self, thing: Any) -> None:
        """Let autograd find out that what it may have kept for a backward pass has changed."""
        if self._increment_version is not None and not thing.is_inference():
            self._increment_version(thing)

    def note_pinned(self, destination: Memory, source: Memory, stream: GpuStream) -> None:
        """Tell PyTorch that the stream may still use pinned memory, once a copy is enqueued.

        Else its allocator would give the memory away with the last reference to it. It learns of
        streams from its own copies only, so this makes that of the first byte once more. Where it
        cannot, because the other end is not PyTorch's, it waits.
        """
        ends = (destination, source)
        host = next(end for end in ends if end.gpu is None)
        if not host.thing.is_pinned() or self.is_capturing(stream):
            return
        if any(end.framework is not self for end in ends):
            self.stream_of(stream).synchronize()
            return
        with self._on(stream), self.module.inference_mode():
            first, again = (self._bytes(end)[:1] for end in ends)
            first.copy_(again, non_blocking=True)

    def copy_traced(self, destination: Memory, source: Memory, stream: Any) -> None:
        """Copy by PyTorch, which is writing down what the program does."""
        tracing.copy(self.module, destination, source, stream)

    def copy_blocks_traced(
        self, ends: tuple[Memory, Memory], counts: tuple[int, int], pairs: Any, stream: Any
    ) -> None:
        """Copy blocks by PyTorch, which is writing down what the program does."""
        tracing.copy_blocks(self.module, ends, counts, pairs, stream)

    def moved_traced(self, thing: Any, gpu: int | None) -> Any:
        """Return the tensor on a device, by PyTorch."""
        return thing.to(tracing.device_name(gpu))

    def is_module(self, thing: Any) -> bool:
        """Return whether the object is a module, whose tensors are moved in place."""
        kind = getattr(getattr(self.module, "nn", None), "Module", None)
        return isinstance(kind, type) and isinstance(thing, kind)

    def tensors_of(self, module: Any) -> Iterator[Any]:
        """Return all that a module moves: parameters, their gradients, and buffers."""
        for parameter in module.parameters():
            yield parameter
            if parameter.grad is not None:
                yield parameter.grad
        yield from module.buffers()

    def without_gradients(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which autograd does not watch."""
        context: contextlib.AbstractContextManager[object] = self.module.no_grad()
        return context

    def copy_on_host(self, destination: Memory, source: Memory) -> None:
        """Copy all bytes between tensors of the host with equal layouts."""
        with self.module.inference_mode():
            self._bytes(destination).copy_(self._bytes(source))

    def _bytes(self, memory: Memory) -> Any:
        """Return a tensor of the bytes, in the order that they have in memory."""
        elements = memory.nbytes // memory.item_size
        return memory.thing.detach().as_strided((elements,), (1,)).view(self.module.uint8)

    def empty_like(self, thing: Any, gpu: int | None) -> Any:
        """Return a tensor whose memory is uninitialised; pageable on the host."""
        device = "cpu" if gpu is None else f"cuda:{gpu}"
        return self.module.empty_like(thing, device=device, requires_grad=False)

    @contextlib.contextmanager
    def _on(self, stream: GpuStream | None) -> Iterator[None]:
        """Make the stream the current one, and its GPU the current device."""
        if stream is None:
            yield
            return
        with self.module.cuda.stream(self.stream_of(stream)):
            yield

    def stream_of(self, stream: GpuStream) -> Any:
        """Return the stream as an object of PyTorch."""
        if hasattr(stream.owner, "cuda_stream"):
            return stream.owner
        if stream.handle == 0:  # ExternalStream would take it for none
            return self.module.cuda.default_stream(stream.gpu)
        return self.module.cuda.ExternalStream(stream.handle, device=stream.gpu)


PYTORCH = PyTorch()
