"""Blocks of a key-value cache between memories: gather and scatter in any order, as one call."""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import Any

import numpy as np

from polypath.block_checks import Layer, checked_layers, checked_pairs
from polypath.block_pieces import Pieces, pieces_of
from polypath.frameworks import PYTORCH
from polypath.process_context import process_context
from polypath.stream_order import StreamOrder, stream_order
from polypath.streams import StreamHandle, check_stream


def copy_blocks(
    destination: Any, source: Any, pairs: Any, stream: Any = None, *,
    block_bytes: int | None = None, bits: bool = False,
) -> dict[str, int]:  # fmt: skip
    """Copy block s of `source` to block d of `destination` for each (s, d) of `pairs`.

    Both are what copy takes, or lists of as many layers, all of which have the same pairs copied.
    The first dimension counts blocks; each block is contiguous, but blocks may lie apart, as those
    of `cache[:, 0]` do. `block_bytes` says the size in memory that has no such dimension, such as a
    Buffer. `pairs` are a list, or an array or tensor of the host with two columns of whole numbers,
    in any order. Neighbours at both ends become one copy; all of them start together, as those of
    copy_many do, and like there a kernel may make them. Return how many copies ran in which way:
    {"stream": 480}.

    Stream order: as copy, for each layer. Memory of the host should be pinned: else the call waits
    until each block has been read or written.

    Errors: as copy; IndexError for a block that there is not; ValueError for blocks of different
    sizes, a block that is written twice, and one that is read and written.
    """
    check_stream(stream)
    layers = checked_layers(destination, source, block_bytes, bits)
    if not layers:
        return {}
    counts = [(layer.destination.count, layer.source.count) for layer in layers]
    chosen = checked_pairs(pairs, counts)
    if not len(chosen) or layers[0].destination.nbytes == 0:
        return {}
    if any(layer.traced for layer in layers):
        for layer, count in zip(layers, counts):
            PYTORCH.copy_blocks_traced(layer.ends, count, chosen, stream)
        return {"native": len(layers)}
    return dict(_copied(layers, chosen, stream))


def _copied(layers: list[Layer], pairs: np.ndarray, stream: Any) -> Counter[str]:
    how: Counter[str] = Counter()
    together: dict[tuple[Any, ...], tuple[StreamOrder, list[Pieces]]] = {}
    pieces = pieces_of(layers, pairs)
    orders = [_order_of(layer, stream) for layer in layers]
    for order, each in zip(orders, pieces):
        if order is None:
            how["native"] += _copy_on_host(each)
        else:
            together.setdefault(_streams_of(order), (order, []))[1].append(each)
    for order, parts in together.values():
        how.update(_copy_together(order, Pieces.joined(parts)))
    for layer, order in zip(layers, orders):
        _note(layer, order, pairs, stream)
    return how


def _order_of(layer: Layer, stream: Any) -> StreamOrder | None:
    target, origin = layer.ends
    on_host = target.gpu is None and origin.gpu is None
    return None if on_host else stream_order(target, origin, stream)


def _copy_on_host(pieces: Pieces) -> int:
    for target, origin, nbytes in zip(*(array.tolist() for array in pieces)):
        ctypes.memmove(target, origin, nbytes)
    return len(pieces.sizes)


def _copy_together(order: StreamOrder, pieces: Pieces) -> dict[str, int]:
    used, *beside = _streams_of(order)
    return process_context().copy_pieces(*pieces, used, beside)


def _streams_of(order: StreamOrder) -> tuple[tuple[str, StreamHandle], ...]:
    return tuple((stream.place, stream.handle) for stream in (order.used, *order.beside))


def _note(layer: Layer, order: StreamOrder | None, pairs: np.ndarray, stream: Any) -> None:
    """Tell the frameworks what a copy tells them, of one block where they look at its bytes."""
    target = layer.destination.memory
    if order is not None:
        if stream is not None:
            for end in layer.ends:
                if end.gpu == order.used.gpu:
                    end.framework.note_use(end, order.used)
        _note_pinned(layer, order, pairs)
    target.framework.note_write(target.thing)


def _note_pinned(layer: Layer, order: StreamOrder, pairs: np.ndarray) -> None:
    """Let the note be of a block that was copied: a note copies the first byte once more."""
    target, origin = layer.ends
    on_host = target if target.gpu is None else origin
    of_gpu = order.of_source if target.gpu is None else order.of_destination
    if on_host.gpu is None and of_gpu is not None and on_host.framework is PYTORCH:
        first, second = pairs[0].tolist()
        ends = layer.destination.memory_of(second), layer.source.memory_of(first)
        PYTORCH.note_pinned(*ends, of_gpu)
