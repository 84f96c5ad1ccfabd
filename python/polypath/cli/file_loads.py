"""Loads of files of weights that are in memory: polypath.load, and what else brings them."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import polypath
from polypath import process_context
from polypath.cli.driver_batches import Driver
from polypath.cli.errors import UserError
from polypath.cli.units import size_text
from polypath.cli.weight_copies import ITEM, weight_shapes

WARM_UP, ROUNDS = 1, 3
TILE = (8 << 20) + 14  # bytes; no tensor is a multiple of it
IN_MEMORY = Path("/dev/shm")

Progress = Callable[[int, int], None]


class Loader(Protocol):
    """Two ways of one file onto one GPU."""

    native_is: str

    def ours(self) -> None:
        """Load it by Polypath."""

    def native(self) -> None:
        """Load it without."""

    def synchronize(self) -> None:
        """Wait for the GPU."""

    def is_right(self) -> bool:
        """Return whether what Polypath has loaded is what is in the file."""


class Tensors:
    """Tensors of PyTorch; without Polypath each is moved from the mapped file by `.to`."""

    native_is = "PyTorch"

    def __init__(self, torch: Any, path: Path, gpu: int) -> None:
        self._torch, self._path, self._device = torch, path, f"cuda:{gpu}"
        self._mapped = polypath.load(path, "cpu")
        self._loaded: dict[str, Any] = {}

    def ours(self) -> None:
        """Load it by Polypath, in place of the tensors of the last time."""
        self._loaded = {}
        self._loaded = polypath.load(self._path, self._device)

    def native(self) -> None:
        """Move each tensor, in place of those of the last time."""
        self._loaded = {}
        self._loaded = {name: each.to(self._device) for name, each in self._mapped.items()}

    def synchronize(self) -> None:
        """Wait for the GPU."""
        self._torch.cuda.synchronize(self._device)

    def is_right(self) -> bool:
        """Compare the bits of every tensor, of one more load onto memory that was cleared."""
        for tensor in self._loaded.values():
            tensor.zero_()
        self.ours()
        self.synchronize()
        bits = self._torch.int16
        return all(
            self._torch.equal(self._loaded[name].cpu().view(bits), each.view(bits))
            for name, each in self._mapped.items()
        )


class Buffers:
    """Plain memory of the GPU; without Polypath each tensor is one copy by the driver."""

    native_is = "driver"

    def __init__(self, path: Path, gpu: int) -> None:
        self._path, self._driver = path, Driver(gpu)
        self._mapped = np.memmap(path, np.uint8, "r")
        self._spans = spans_of(path)
        context = process_context.process_context()
        self._memory = {
            name: context.allocate(f"gpu{gpu}", end - begin)
            for name, (begin, end) in self._spans.items()
        }

    def ours(self) -> None:
        """Load it by Polypath; other bytes lie there before."""
        polypath.load(self._path, into=self._memory)

    def native(self) -> None:
        """Copy each tensor."""
        start = self._mapped.ctypes.data
        for name, (begin, end) in self._spans.items():
            self._driver.copy_in(self._memory[name].address, start + begin, end - begin)

    def synchronize(self) -> None:
        """Wait for the GPU."""
        self._driver.synchronize()

    def clear(self) -> None:
        """Set all to 0."""
        for memory in self._memory.values():
            self._driver.clear(memory.address, memory.nbytes)

    def is_right(self) -> bool:
        """Compare every byte, of one more load onto memory that was cleared."""
        self.clear()
        self.ours()
        self.synchronize()
        return all(self._holds(name) for name in self._spans)

    def _holds(self, name: str) -> bool:
        begin, end = self._spans[name]
        found = np.empty(end - begin, np.uint8)
        self._driver.copy_out(found.ctypes.data, self._memory[name].address, end - begin)
        return bool(np.array_equal(found, self._mapped[begin:end]))


def measure_loads(
    torch: Any, gpu: int, sizes: list[int], progress: Progress
) -> list[dict[str, Any]]:
    """Return one result per size of a file; docs/json.md has the fields."""
    results = []
    for size in sizes:
        with weights_file(size) as path:
            loader = Buffers(path, gpu) if torch is None else Tensors(torch, path, gpu)
            results.append(measured(loader, size, gpu))
            del loader
        progress(len(results), len(sizes))
    return results


def measured(loader: Loader, size: int, gpu: int) -> dict[str, Any]:
    """Return what both come to, in turn; the first turn is kept by itself."""
    ours: list[float] = []
    native: list[float] = []
    for _ in range(WARM_UP + ROUNDS):
        native.append(_seconds(loader, loader.native))
        ours.append(_seconds(loader, loader.ours))
    seconds, native_seconds = statistics.median(ours[WARM_UP:]), statistics.median(native[WARM_UP:])
    return {
        "bytes": size,
        "tensors": len(weight_shapes(size)),
        "source": "file",
        "destination": f"gpu{gpu}",
        "repeats": ROUNDS,
        "first_seconds": ours[0],
        "first_native_seconds": native[0],
        "seconds": seconds,
        "bytes_per_second": size / seconds,
        "native": loader.native_is,
        "native_seconds": native_seconds,
        "native_bytes_per_second": size / native_seconds,
        "speedup": native_seconds / seconds,
        "verified": loader.is_right(),
    }


def _seconds(loader: Loader, action: Callable[[], None]) -> float:
    loader.synchronize()
    start = time.perf_counter()
    action()
    loader.synchronize()
    return time.perf_counter() - start


# --- the file ---


@contextmanager
def weights_file(nbytes: int) -> Iterator[Path]:
    """Write a file of safetensors with that many bytes of a model's weights, in memory if it fits.

    UserError where no folder has room.
    """
    folders = [IN_MEMORY, Path(tempfile.gettempdir())]
    fitting = [each for each in folders if each.is_dir() and shutil.disk_usage(each).free > nbytes]
    if not fitting:
        raise UserError(
            f"a file of {size_text(nbytes)} cannot be written",
            f"there is no room in {' or '.join(map(str, folders))}",
            "Ask for less with --sizes, or name a folder by TMPDIR.",
        )
    with tempfile.TemporaryDirectory(dir=fitting[0]) as folder:
        path = Path(folder, "model.safetensors")
        _write(path, nbytes)
        yield path


def _write(path: Path, nbytes: int) -> None:
    header: dict[str, Any] = {}
    end = 0
    for name, shape in weight_shapes(nbytes).items():
        begin, end = end, end + ITEM * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    tile = np.random.default_rng(1).integers(0, 256, TILE, dtype=np.uint8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for start in range(0, nbytes, TILE):
            file.write(tile[: nbytes - start].data)


def spans_of(path: Path) -> dict[str, tuple[int, int]]:
    """Return where each tensor begins and ends in the file."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(ctypes.sizeof(ctypes.c_uint64)), "little")
        header = json.loads(file.read(length))
    first = ctypes.sizeof(ctypes.c_uint64) + length
    return {
        name: (first + entry["data_offsets"][0], first + entry["data_offsets"][1])
        for name, entry in header.items()
    }
