"""The addresses of blocks that are copied; neighbours at both ends as one piece."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polypath.block_checks import Blocks
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


def pieces_of(destination: Blocks, source: Blocks, pairs: np.ndarray) -> Pieces:
    """Return the copies of one layer. ValueError if one reads what another one writes."""
    ordered = pairs[np.argsort(pairs[:, 1], kind="stable")]  # neighbours are found in any order
    sources, targets = ordered[:, 0], ordered[:, 1]
    starts = _starts(destination, source, ordered)
    lengths = np.diff(np.append(starts, len(ordered)))
    pieces = Pieces(
        destination.memory.address + targets[starts] * destination.stride,
        source.memory.address + sources[starts] * source.stride,
        lengths * destination.nbytes,
    )
    _refuse_reads_of_written(pieces)
    return Pieces(*(column.astype(np.uint64) for column in pieces))


def _starts(destination: Blocks, source: Blocks, ordered: np.ndarray) -> np.ndarray:
    """Return which pairs begin a piece: all but those that continue the one before."""
    if {destination.stride, source.stride} != {destination.nbytes}:
        return np.arange(len(ordered))
    goes_on = np.all(np.diff(ordered, axis=0) == 1, axis=1)
    starts = np.flatnonzero(np.concatenate(([True], ~goes_on)))
    if len(ordered) * destination.nbytes > len(starts) * LARGEST_PIECE:
        return starts  # long runs, each of which is planned by itself
    most = max(LARGEST_PIECE // destination.nbytes, 1)
    run = np.cumsum(np.concatenate(([True], ~goes_on))) - 1
    return np.flatnonzero((np.arange(len(ordered)) - starts[run]) % most == 0)


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
