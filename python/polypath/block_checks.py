"""What copy_blocks takes and refuses: layers whose blocks are alike, and pairs of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polypath.context_checks import named
from polypath.copy_checks import check_contents
from polypath.frameworks import PYTORCH, framework_of
from polypath.memory import UNTYPED, Memory
from polypath.messages import message
from polypath.whole_numbers import whole_number

SPARSE = 8  # up to so many numbers for each block of a call a table of them is made, not sorted


@dataclass(frozen=True)
class Blocks:
    """Memory as so many blocks of equal size, each `stride` bytes behind the one before."""

    memory: Memory
    count: int
    nbytes: int  # of one block
    stride: int

    def memory_of(self, index: int) -> Memory:
        """Return that of one block of PyTorch's; all of it of others, which have no parts."""
        if self.memory.framework is not PYTORCH:
            return self.memory
        if self.memory.shape[:1] == (self.count,):
            return PYTORCH.memory(self.memory.thing[index])
        elements = self.nbytes // self.memory.item_size
        flat = self.memory.thing.reshape((-1,))
        return PYTORCH.memory(flat[index * elements : (index + 1) * elements])


@dataclass(frozen=True)
class Layer:
    """A destination and a source whose blocks are alike."""

    destination: Blocks
    source: Blocks

    @property
    def ends(self) -> tuple[Memory, Memory]:
        """The memory of both."""
        return self.destination.memory, self.source.memory

    @property
    def traced(self) -> bool:
        """Whether PyTorch writes down what the program does."""
        return any(end.traced for end in self.ends)


def checked_layers(
    destination: Any, source: Any, block_bytes: int | None, bits: bool
) -> list[Layer]:
    """Return the layers, one if both are no lists. ValueError for different numbers of them."""
    targets, origins = _listed(destination), _listed(source)
    if len(targets) != len(origins):
        raise ValueError(
            message(
                f"{len(origins)} layers cannot be copied to {len(targets)}",
                "each layer goes to one of its own",
                "Pass as many of both.",
            )
        )
    layers = []
    for number, ends in enumerate(zip(targets, origins)):
        with named(f"layer {number}" if isinstance(destination, (list, tuple)) else ""):
            layers.append(_checked_layer(*ends, block_bytes, bits))
    return layers


def _listed(layers: Any) -> list[Any]:
    return list(layers) if isinstance(layers, (list, tuple)) else [layers]


def _checked_layer(target: Any, origin: Any, block_bytes: int | None, bits: bool) -> Layer:
    layer = Layer(
        _blocks("destination", target, block_bytes), _blocks("source", origin, block_bytes)
    )
    check_contents(*layer.ends, bits)
    if layer.destination.nbytes != layer.source.nbytes:
        raise ValueError(
            message(
                f"blocks of {layer.source.nbytes} bytes do not become ones of "
                f"{layer.destination.nbytes}",
                "a block is copied whole",
                "Pass memory with equal blocks.",
            )
        )
    return layer


def _blocks(what: str, thing: Any, block_bytes: int | None) -> Blocks:
    memory = framework_of(thing).memory(thing)
    if block_bytes is not None:
        return _blocks_of_bytes(what, memory, whole_number("block_bytes", block_bytes))
    if memory.item_size == UNTYPED or len(memory.shape) < 2:
        raise ValueError(
            message(
                f"{what} of type {type(thing).__name__} has no blocks",
                "they are counted by the first of two dimensions or more",
                "Pass block_bytes, or a view with such dimensions.",
            )
        )
    count = memory.shape[0]
    nbytes = memory.nbytes // count if count else 0
    if memory.contiguous and not memory.lazy:
        return Blocks(memory, count, nbytes, nbytes)
    if memory.lazy or not _are_contiguous(memory):
        raise _refusal(what, "a block's bytes must lie together")
    return Blocks(memory, count, nbytes, memory.strides[0])


def _blocks_of_bytes(what: str, memory: Memory, block_bytes: int) -> Blocks:
    if not memory.plain:
        raise _refusal(what, "block_bytes divide bytes that lie together")
    if block_bytes < 1 or memory.nbytes % block_bytes or block_bytes % max(memory.item_size, 1):
        raise ValueError(
            message(
                f"{what} of {memory.nbytes} bytes has no blocks of {block_bytes}",
                "it is divided into whole ones, of whole elements",
                "Correct block_bytes, or slice it.",
            )
        )
    return Blocks(memory, memory.nbytes // block_bytes, block_bytes, block_bytes)


def _are_contiguous(memory: Memory) -> bool:
    """Return whether each block of strided memory is, and blocks do not overlap."""
    expected = memory.item_size
    for extent, stride in zip(reversed(memory.shape[1:]), reversed(memory.strides[1:])):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return memory.strides[0] >= expected


def _refusal(what: str, why: str) -> ValueError:
    return ValueError(message(f"{what} is not contiguous", why, "Make it contiguous first."))


def checked_pairs(pairs: Any, counts: list[tuple[int, int]]) -> np.ndarray:
    """Return the pairs as an array of two columns, source and destination.

    `counts` are those of each layer's blocks: of the destination, then of the source. IndexError
    for a block that there is not, ValueError for one that is written twice.
    """
    chosen = _array_of(pairs)
    for column, what in enumerate(("source", "destination")):
        fewest = min((count[1 - column] for count in counts), default=0)
        wrong = (chosen[:, column] < 0) | (chosen[:, column] >= fewest)
        if wrong.any():
            where = int(wrong.argmax())
            raise IndexError(
                message(
                    f"pair {where} names {what} block {chosen[where, column]}",
                    f"there are blocks 0 to {fewest - 1}" if fewest else "there are no blocks",
                    "Correct the pair.",
                )
            )
    _refuse_second_writes(chosen[:, 1])
    return chosen


def _array_of(pairs: Any) -> np.ndarray:
    if getattr(getattr(pairs, "device", None), "type", "cpu") == "cuda":
        raise TypeError(
            message("pairs cannot be read", "they are on a GPU", "Pass a list, or pairs.cpu().")
        )
    try:
        chosen = np.asarray(pairs if hasattr(pairs, "__array__") else list(pairs))
    except (TypeError, ValueError):  # not all rows are as long
        chosen = np.empty(1, object)
    if chosen.size == 0:
        return np.empty((0, 2), np.int64)
    if chosen.ndim != 2 or chosen.shape[1] != 2 or chosen.dtype.kind not in "iu":
        raise TypeError(
            message(
                f"pairs of type {type(pairs).__name__} cannot be used",
                "a pair is the numbers of a source block and a destination block",
                "Pass [(source, destination), ...], or an array of two columns.",
            )
        )
    return chosen.astype(np.int64)


def are_dense(blocks: np.ndarray) -> bool:
    """Return whether a table of all block numbers is short enough to be made."""
    return int(blocks.max(initial=0)) <= SPARSE * len(blocks)


def _refuse_second_writes(blocks: np.ndarray) -> None:
    if are_dense(blocks) and np.bincount(blocks).max(initial=0) < 2:
        return
    order = np.argsort(blocks, kind="stable")
    twice = np.flatnonzero(np.diff(blocks[order]) == 0)
    if len(twice):
        first, second = sorted(order[twice[0] : twice[0] + 2].tolist())
        raise ValueError(
            message(
                f"pair {second}: block {blocks[second]} of the destination is written twice",
                f"pair {first} writes it, too",
                "Leave one of them out.",
            )
        )
