"""The same bytes of the host for several GPUs, which cross a link of the host once.

Each GPU gets a part of every chunk over its own link, and gives it to the others over the links
between GPUs. Two lanes, of a stream per GPU each, take the chunks in turn: while the parts of one
are handed on, those of the next one come from the host.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import NamedTuple

from polypath._core import Context, Stream
from polypath.memory import Memory
from polypath.process_context import kept, process_context
from polypath.stream_order import StreamOrder
from polypath.streams import GpuStream, StreamHandle

PART = 8 << 20  # bytes of a chunk that one GPU gets from the host
SMALLEST = 1 << 20  # less for a GPU is not worth its calls
PAGE = 4096
LANES = 2

Ends = tuple[Memory, Memory]  # a destination and its source
Replicas = tuple[int, ...]  # the numbers of copies that have one source, one for each GPU
Named = tuple[str, StreamHandle]
Copy = tuple[int, int, int, Named, list[Named]]


class Slice(NamedTuple):
    """A piece of the host's memory, and where it goes on each GPU."""

    source: int
    nbytes: int
    targets: tuple[int, ...]


def find_replicas(ends: Sequence[Ends]) -> list[Replicas]:
    """Return the groups that go faster this way; none if other copies could depend on them."""
    sources: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for number, (target, origin) in enumerate(ends):
        if target.gpu is None or origin.gpu is not None:
            return []
        if origin.plain and target.plain:
            sources[origin.address, origin.nbytes].setdefault(target.gpu, number)
    groups = []
    for (_, nbytes), numbers in sources.items():
        gpus = tuple(sorted(numbers))
        if len(gpus) > 1 and nbytes >= SMALLEST * len(gpus) and _is_faster(gpus):
            groups.append(tuple(numbers[gpu] for gpu in gpus))
    return groups if groups and not _overlap([target for target, _ in ends]) else []


def is_pageable(origin: Memory) -> bool:
    """Return whether CUDA does not know that memory of the host.

    It goes to one GPU, at the rate at which CPUs read it, and from there to the others: by parts of
    chunks each GPU would wait for what CPUs read for the others.
    """
    return process_context().is_pageable(origin.address)


def _overlap(targets: Sequence[Memory]) -> bool:
    """Return whether two of the destinations do: then the last one counts."""
    ranges = sorted((target.address, target.address + target.nbytes) for target in targets)
    return any(first[1] > second[0] for first, second in zip(ranges, ranges[1:]))


def _is_faster(gpus: tuple[int, ...]) -> bool:
    """Return whether the model says so, of one chunk; no if all copies are to be native."""

    def predict(context: Context) -> bool:
        if context.executor == "native":
            return False
        names = [f"gpu{gpu}" for gpu in gpus]
        each = context.predict_native([("host", name, len(gpus) * PART) for name in names])
        parts = context.predict_native([("host", name, PART) for name in names])
        spread = context.predict_native([(*pair, PART) for pair in permutations(names, 2)])
        return parts + spread < each

    return bool(kept(("replicas", gpus), predict))


def copy_replicas(
    ends: Sequence[Ends], groups: Sequence[Replicas], orders: Mapping[int, StreamOrder]
) -> None:
    """Enqueue them, in order with the streams that they would be in order with by themselves."""
    by_gpus: dict[tuple[int, ...], list[Replicas]] = defaultdict(list)
    for group in groups:
        by_gpus[tuple(ends[number][0].gpu or 0 for number in group)].append(group)
    for gpus, alike in by_gpus.items():
        own = _streams_of_program(alike, orders)
        slices = [each for group in alike for each in _slices(ends, group)]
        lanes = kept(("lanes", gpus), partial(_open_lanes, gpus=gpus))
        try:
            _Pipeline(gpus, lanes, own).copy(_chunks(slices, len(gpus) * PART))
        except BaseException:
            for stream in (stream for lane in lanes for stream in lane):
                stream.synchronize()  # the program's streams are not in order with it
            raise


def _streams_of_program(
    groups: Sequence[Replicas], orders: Mapping[int, StreamOrder]
) -> list[list[Named]]:
    """Return by GPU the streams of all copies to it."""
    own: list[list[Named]] = []
    for numbers in zip(*groups):
        streams: list[GpuStream] = []
        for number in numbers:
            for stream in (orders[number].used, *orders[number].beside):
                if not any(stream.is_same(known) for known in streams):
                    streams.append(stream)
        own.append([(stream.place, stream.handle) for stream in streams])
    return own


def _open_lanes(context: Context, gpus: tuple[int, ...]) -> list[list[Stream]]:
    return [[context.stream(f"gpu{gpu}") for gpu in gpus] for _ in range(LANES)]


def _slices(ends: Sequence[Ends], group: Replicas) -> Iterator[Slice]:
    """Yield the source of a group in pieces of a chunk at most."""
    origin = ends[group[0]][1]
    most = len(group) * PART
    for begin in range(0, origin.nbytes, most):
        targets = tuple(ends[number][0].address + begin for number in group)
        yield Slice(origin.address + begin, min(most, origin.nbytes - begin), targets)


def _chunks(slices: Sequence[Slice], most: int) -> list[list[Slice]]:
    """Return them in chunks of at most so many bytes, so that short ones go together."""
    chunks: list[list[Slice]] = []
    left = 0
    for each in slices:
        if each.nbytes > left:
            chunks.append([])
            left = most
        chunks[-1].append(each)
        left -= each.nbytes
    return chunks


class _Pipeline:
    """The chunks of replicas for the same GPUs."""

    def __init__(
        self, gpus: Sequence[int], lanes: list[list[Stream]], own: list[list[Named]]
    ) -> None:
        self._gpus, self._own = range(len(gpus)), own
        self._lanes: list[list[Named]] = [
            [(f"gpu{g}", stream) for g, stream in zip(gpus, lane)] for lane in lanes
        ]

    def copy(self, chunks: Sequence[list[Slice]]) -> None:
        """Enqueue all; a lane begins after the program's streams, and ends before what follows."""
        context = process_context()
        for number, chunk in enumerate(chunks):
            lane = self._lanes[number % LANES]
            is_first, is_last = number < LANES, number >= len(chunks) - LANES
            parts = [part for each in chunk for part in self._parts(each)]
            context.copy_many_addresses([self._load(lane, *part, is_first) for part in parts])
            loaded = {gpu for _, gpu in parts}
            context.copy_many_addresses(
                [
                    self._hand_on(lane, *part, to, is_last or (is_first and to not in loaded))
                    for part in parts
                    for to in self._gpus
                    if to != part[1]
                ]
            )

    def _parts(self, each: Slice) -> Iterator[tuple[Slice, int]]:
        """Yield the part of each GPU, and its number here."""
        nbytes = -(-each.nbytes // len(self._gpus) // PAGE) * PAGE
        for gpu in self._gpus:
            begin = gpu * nbytes
            left = min(nbytes, each.nbytes - begin)
            if left > 0:
                targets = tuple(target + begin for target in each.targets)
                yield Slice(each.source + begin, left, targets), gpu

    def _load(self, lane: list[Named], part: Slice, gpu: int, is_first: bool) -> Copy:
        beside = self._own[gpu] if is_first else []
        return (part.targets[gpu], part.source, part.nbytes, lane[gpu], beside)

    def _hand_on(self, lane: list[Named], part: Slice, gpu: int, to: int, joins: bool) -> Copy:
        beside = [lane[to], *(self._own[gpu] + self._own[to] if joins else [])]
        return (part.targets[to], part.targets[gpu], part.nbytes, lane[gpu], beside)
