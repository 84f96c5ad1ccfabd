"""Copies of blocks in no order: polypath.copy_blocks, and what else copies them."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any, Callable, Protocol

import numpy as np

import polypath
from polypath import process_context
from polypath.block_checks import checked_layers
from polypath.block_pieces import pieces_of
from polypath.cli.driver_batches import Driver

WARM_UP, ROUNDS = 2, 5
COMPARED = 64 << 20  # bytes at a time

Action = Callable[[], Any]
Progress = Callable[[int, int], None]


class Setting(Protocol):
    """The GPUs, or a simulated machine: memory, one stream, and its clock."""

    context: Any
    native_is: str

    def seconds(self, action: Action) -> float:
        """Return how long it takes until the stream has come to its end."""

    def copy_blocks(self, blocks: Blocks) -> dict[str, int]:
        """Copy all blocks by Polypath; return how many copies ran in which way."""

    def copy(self, blocks: Blocks) -> None:
        """Copy all blocks as a program without Polypath does."""

    def clear(self, memory: Any) -> None:
        """Set memory to 0."""

    def bytes_of(self, memory: Any) -> np.ndarray:
        """Return what is in memory."""

    def write(self, memory: Any, content: np.ndarray) -> None:
        """Put it into memory."""


@dataclass
class Blocks:
    """Two memories of as many blocks, and which block goes to which."""

    destination: Any
    source: Any
    nbytes: int  # of a block
    pairs: np.ndarray

    @property
    def total(self) -> int:
        """Bytes of all of them."""
        return self.nbytes * len(self.pairs)

    def addresses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return destinations, sources and sizes."""
        sizes = np.full(len(self.pairs), self.nbytes, np.uint64)
        offsets = self.pairs.astype(np.uint64) * np.uint64(self.nbytes)
        starts = np.array([self.source.address, self.destination.address], np.uint64)
        sources, destinations = (offsets + starts).T
        return np.ascontiguousarray(destinations), np.ascontiguousarray(sources), sizes


class Simulated:
    """A simulated machine: native copies of single blocks, in virtual time."""

    native_is = "single copies"

    def __init__(self, machine: str, gpu: str) -> None:
        self.context = polypath.Context(machine)
        self._gpu, self._stream = gpu, self.context.stream(gpu)

    def seconds(self, action: Action) -> float:
        """Return the virtual seconds until the stream has come to its end."""
        start = self.context.now()
        action()
        self._stream.synchronize()
        return float(self.context.now() - start)

    def copy_blocks(self, blocks: Blocks) -> dict[str, int]:
        """Copy all as polypath.copy_blocks does, whose own memory is never simulated."""
        ends = blocks.destination, blocks.source
        (layer,) = checked_layers(*ends, block_bytes=blocks.nbytes, bits=False)
        (pieces,) = pieces_of([layer], blocks.pairs)
        return dict(self.context.copy_pieces(*pieces, (self._gpu, self._stream)))

    def copy(self, blocks: Blocks) -> None:
        """Copy each block natively."""
        for source, destination in (blocks.pairs * blocks.nbytes).tolist():
            self.context.copy(
                *(blocks.destination, blocks.source, blocks.nbytes),
                destination_offset=destination, source_offset=source,
                stream=self._stream, executor="native",
            )  # fmt: skip

    def clear(self, memory: Any) -> None:
        """Set memory to 0."""
        memory.numpy()[:] = 0

    def bytes_of(self, memory: Any) -> np.ndarray:
        """Return what is in memory."""
        return np.asarray(memory.numpy())

    def write(self, memory: Any, content: np.ndarray) -> None:
        """Put it into memory."""
        memory.numpy()[:] = content


class OnGpus:
    """This computer's GPUs: the driver's batch call, in real time."""

    def __init__(self, gpu: int) -> None:
        self.context = process_context.process_context()
        self.driver = Driver(gpu)
        self.native_is = self.driver.many

    def seconds(self, action: Action) -> float:
        """Return the seconds until the GPU has come to its end."""
        self.driver.synchronize()
        start = time.perf_counter()
        action()
        self.driver.synchronize()
        return time.perf_counter() - start

    def copy_blocks(self, blocks: Blocks) -> dict[str, int]:
        """Copy all by Polypath."""
        return polypath.copy_blocks(
            *(blocks.destination, blocks.source, blocks.pairs),
            stream=self.driver.stream,
            block_bytes=blocks.nbytes,
        )

    def copy(self, blocks: Blocks) -> None:
        """Copy all blocks by one call of the driver, where it has one."""
        self.driver.copy_many(*blocks.addresses())

    def clear(self, memory: Any) -> None:
        """Set memory of either kind to 0."""
        if memory.place.startswith("gpu"):
            self.driver.clear(memory.address, memory.nbytes)
        else:
            memory.numpy()[:] = 0

    def bytes_of(self, memory: Any) -> np.ndarray:
        """Return a copy of what is in memory."""
        found = np.empty(memory.nbytes, np.uint8)
        self.driver.copy_out(found.ctypes.data, memory.address, memory.nbytes)
        return found

    def write(self, memory: Any, content: np.ndarray) -> None:
        """Put it into memory."""
        self.driver.copy_in(memory.address, content.ctypes.data, content.nbytes)


def measure_blocks(
    setting: Setting, places: tuple[str, str], sizes: list[int], count: int, progress: Progress
) -> list[dict[str, Any]]:
    """Return one result per size of a block; docs/json.md has the fields."""
    results = []
    for size in sizes:
        results.append(_measured(setting, _blocks(setting, places, size, count)))
        progress(len(results), len(sizes))
    return results


def _blocks(setting: Setting, places: tuple[str, str], size: int, count: int) -> Blocks:
    """Return memories with different contents, and all blocks in no order."""
    numbers = np.random.default_rng(size)
    source, destination = (setting.context.allocate(place, size * count) for place in places)
    setting.write(source, numbers.integers(0, 256, size * count, dtype=np.uint8))
    pairs = np.stack([numbers.permutation(count), numbers.permutation(count)], axis=1)
    return Blocks(destination, source, size, pairs)


def _measured(setting: Setting, blocks: Blocks) -> dict[str, Any]:
    ours: list[float] = []
    native: list[float] = []
    how: dict[str, int] = {}

    def copy() -> None:
        how.clear()
        how.update(setting.copy_blocks(blocks))

    for _ in range(WARM_UP + ROUNDS):
        native.append(setting.seconds(lambda: setting.copy(blocks)))
        setting.clear(blocks.destination)
        ours.append(setting.seconds(copy))
    return _result(setting, blocks, ours[WARM_UP:], native[WARM_UP:], how)


def _result(
    setting: Setting, blocks: Blocks, ours: list[float], native: list[float], how: dict[str, int]
) -> dict[str, Any]:
    seconds, native_seconds = statistics.median(ours), statistics.median(native)
    return {
        "bytes": blocks.nbytes,
        "blocks": len(blocks.pairs),
        "source": blocks.source.place,
        "destination": blocks.destination.place,
        "repeats": len(ours),
        "seconds": seconds,
        "bytes_per_second": blocks.total / seconds,
        "native": setting.native_is,
        "native_seconds": native_seconds,
        "native_bytes_per_second": blocks.total / native_seconds,
        "speedup": native_seconds / seconds,
        "how": how,
        "verified": is_right(setting, blocks),
    }


def is_right(setting: Setting, blocks: Blocks) -> bool:
    """Return whether every block is where it belongs, after Polypath's last turn."""
    found, sent = (
        setting.bytes_of(memory).reshape(-1, blocks.nbytes)
        for memory in (blocks.destination, blocks.source)
    )
    at_once = max(1, COMPARED // blocks.nbytes)  # they are gathered before they are compared
    parts = (blocks.pairs[first : first + at_once].T for first in range(0, len(sent), at_once))
    return all(np.array_equal(found[to], sent[from_]) for from_, to in parts)
