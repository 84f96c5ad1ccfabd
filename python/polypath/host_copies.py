"""Memory of the host for what leaves a GPU again and again."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from polypath.frameworks import PYTORCH
from polypath.memory import Memory
from polypath.process_context import process_context

ALIGNED = 512  # as PyTorch's own memory


class _Copy(NamedTuple):
    """What one tensor had the last time."""

    of: weakref.ref[Any]
    form: tuple[Any, ...]
    tensor: Any


class HostCopies:
    """Tensors of the host by those of a module, in one pinned block for each GPU."""

    def __init__(self) -> None:
        self._copies: dict[int, _Copy] = {}

    def of(self, ends: Sequence[tuple[Any, Memory]], pinned: bool) -> list[Any]:
        """Return one for each tensor with its memory on a GPU: the last one, or a new one."""
        lacking = [end for end in ends if self._found(*end, pinned) is None]
        for gpu in {memory.gpu for _, memory in lacking}:
            alike = [end for end in lacking if end[1].gpu == gpu]
            made = _pinned([memory for _, memory in alike]) if pinned else [
                PYTORCH.empty_like(memory.thing, None) for _, memory in alike
            ]  # fmt: skip
            for (tensor, memory), host in zip(alike, made):
                form = _form(memory, pinned)
                self._copies[id(tensor)] = _Copy(weakref.ref(tensor), form, host)
        return [self._copies[id(tensor)].tensor for tensor, _ in ends]

    def _found(self, tensor: Any, memory: Memory, pinned: bool) -> Any:
        kept = self._copies.get(id(tensor))
        is_it = kept is not None and kept.of() is tensor and kept.form == _form(memory, pinned)
        return kept.tensor if kept is not None and is_it else None


def _form(memory: Memory, pinned: bool) -> tuple[Any, ...]:
    return (memory.shape, memory.strides, memory.element, memory.gpu, pinned)


def _pinned(memories: Sequence[Memory]) -> list[Any]:
    """Return views of one block near the GPU; PyTorch's own has sizes that are powers of two."""
    offsets = [0]
    for memory in memories:
        offsets.append(offsets[-1] + -(-memory.nbytes // ALIGNED) * ALIGNED)
    context = process_context()
    place = context.nearest_host(f"gpu{memories[0].gpu}")
    block = context.allocate(place, max(offsets[-1], 1)).numpy()
    return [_view(block, offset, memory) for offset, memory in zip(offsets, memories)]


def _view(block: Any, offset: int, memory: Memory) -> Any:
    if memory.nbytes == 0:
        return PYTORCH.empty_like(memory.thing, None)
    part = block[offset : offset + memory.nbytes]
    flat = PYTORCH.module.frombuffer(part, dtype=memory.thing.dtype)
    if memory.contiguous or not memory.has_layout_of(memory):
        return flat.reshape(memory.shape)
    return flat.as_strided(memory.shape, [step // memory.item_size for step in memory.strides])
