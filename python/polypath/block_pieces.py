"""The addresses of blocks that are copied; neighbours at both ends as one piece."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polypath.block_checks import Layer, are_dense
from polypath.messages import message

# The library plans pieces of up to so many bytes together (engine/call/piece_set.h).
LARGEST_PIECE = 2 << 20


class Pieces(NamedTuple):
    """Destinations, sources and sizes of many copies."""

    destinations: np.ndarray
    sources: np.ndarray
    sizes: np.ndarray

    @classmethod
    def joined(cls, parts: list[Pieces]) -> Pieces:
        """Return those of all parts, in their order."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts)))


class Strides(NamedTuple):
    """Bytes from block to block at both ends of a layer, and of a block."""

    destination: int
    source: int
    nbytes: int


def pieces_of(layers: list[Layer], pairs: np.ndarray) -> list[Pieces]:
    """Return the copies of each layer. ValueError if one reads what another one writes."""
    known: dict[Strides, Pieces] = {}  # layers of a cache are mostly alike
    found = []
    for destination, source in ((layer.destination, layer.source) for layer in layers):
        strides = Strides(destination.stride, source.stride, destination.nbytes)
        if strides not in known:
            known[strides] = _offsets(strides, pairs)
        offsets = known[strides]
        pieces = Pieces(
            destination.memory.address + offsets.destinations,
            source.memory.address + offsets.sources,
            offsets.sizes,
        )
        _refuse_reads_of_written(pieces)
        found.append(Pieces(*(column.view(np.uint64) for column in pieces)))
    return found


def _offsets(strides: Strides, pairs: np.ndarray) -> Pieces:
    """Return the copies from the begin of both memories on, in the order of the destination."""
    order = _order_of(pairs[:, 1])  # neighbours are found in any order
    sources, targets = pairs[:, 0][order], pairs[:, 1][order]
    starts = _starts(strides, sources, targets)
    lengths = np.diff(np.append(starts, len(order)))
    return Pieces(
        targets[starts] * strides.destination,
        sources[starts] * strides.source,
        lengths * strides.nbytes,
    )


def _order_of(blocks: np.ndarray) -> np.ndarray:
    """Return the places of the blocks, none of which is there twice, in the order of numbers."""
    if not are_dense(blocks):
        return np.argsort(blocks)
    places = np.full(int(blocks.max(initial=0)) + 1, -1)
    places[blocks] = np.arange(len(blocks))
    return places[places >= 0]


def _starts(strides: Strides, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return which pairs begin a piece: all but those that continue the one before."""
    if {strides.destination, strides.source} != {strides.nbytes}:
        return np.arange(len(targets))
    goes_on = (np.diff(sources) == 1) & (np.diff(targets) == 1)
    starts = np.flatnonzero(np.concatenate(([True], ~goes_on)))
    if len(targets) * strides.nbytes > len(starts) * LARGEST_PIECE:
        return starts  # long runs, each of which is planned by itself
    most = max(LARGEST_PIECE // strides.nbytes, 1)
    run = np.cumsum(np.concatenate(([True], ~goes_on))) - 1
    return np.flatnonzero((np.arange(len(targets)) - starts[run]) % most == 0)


def _refuse_reads_of_written(pieces: Pieces) -> None:
    """Raise ValueError if a piece is read that another one writes; destinations are in order."""
    ends = pieces.destinations + pieces.sizes
    last_read = (pieces.sources + pieces.sizes).max()
    if pieces.sources.min() >= ends[-1] or last_read <= pieces.destinations[0]:
        return
    first = np.searchsorted(ends, pieces.sources, side="right")
    found = first < len(ends)
    starts = pieces.destinations[np.minimum(first, len(ends) - 1)]
    if (found & (starts < pieces.sources + pieces.sizes)).any():
        raise ValueError(
            message(
                "a block is read and written by one call",
                "its bytes would depend on the order of the pairs",
                "Copy in two calls.",
            )
        )
