"""Weights of a large model moved onto a GPU and back, by Polypath and by PyTorch itself."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Callable

import polypath

HIDDEN, MLP, KEYS, VOCABULARY = 8192, 28672, 1024, 128256  # as in dense models of 70e9 parameters
ITEM = 2  # bytes of a bfloat16
MEMORIES = ("pinned", "pageable")

Progress = Callable[[int, int], None]
Shape = tuple[int, ...]


def weight_shapes(total: int) -> dict[str, Shape]:
    """Return names and shapes of bfloat16 tensors that together have `total` bytes, an even number.

    They are the embedding and whole layers in order, leaving out what no longer fits; what then
    remains is one more tensor.
    """
    shapes: dict[str, Shape] = {}
    left = total // ITEM
    for name, shape in _model():
        count = math.prod(shape)
        if count <= left:
            shapes[name] = shape
            left -= count
        if left < KEYS * HIDDEN:
            break
    if left:
        shapes["rest"] = (left,)
    return shapes


def _model() -> Iterator[tuple[str, Shape]]:
    yield "embedding", (VOCABULARY, HIDDEN)
    layer = 0
    while True:
        yield f"{layer}.attention_norm", (HIDDEN,)
        yield f"{layer}.query", (HIDDEN, HIDDEN)
        yield f"{layer}.key", (KEYS, HIDDEN)
        yield f"{layer}.value", (KEYS, HIDDEN)
        yield f"{layer}.attention_output", (HIDDEN, HIDDEN)
        yield f"{layer}.mlp_norm", (HIDDEN,)
        yield f"{layer}.gate", (MLP, HIDDEN)
        yield f"{layer}.up", (MLP, HIDDEN)
        yield f"{layer}.down", (HIDDEN, MLP)
        layer += 1


@dataclass
class Weights:
    """The same tensors in memory of the host and on a GPU."""

    torch: Any
    gpu: int
    shapes: dict[str, Shape]

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors together."""
        return sum(ITEM * math.prod(shape) for shape in self.shapes.values())

    def allocate(self, memory: str) -> dict[str, Any]:
        """Return uninitialised tensors in "pinned" or "pageable" memory, or on the "gpu"."""
        place = {"device": f"cuda:{self.gpu}"} if memory == "gpu" else {"device": "cpu"}
        pinned = {"pin_memory": True} if memory == "pinned" else {}
        kind = self.torch.bfloat16
        return {
            name: self.torch.empty(shape, dtype=kind, **place, **pinned)
            for name, shape in self.shapes.items()
        }

    def expected(self, index: int, shape: Shape) -> Any:
        """Return the bits of one tensor, the same ones every time, on the GPU."""
        device = f"cuda:{self.gpu}"
        generator = self.torch.Generator(device=device).manual_seed(index)
        bits = (-(2**15), 2**15)
        kind = self.torch.int16
        return self.torch.randint(*bits, shape, generator=generator, dtype=kind, device=device)

    def fill(self, tensors: dict[str, Any]) -> None:
        """Give every tensor its bits."""
        for index, (name, shape) in enumerate(self.shapes.items()):
            tensors[name].view(self.torch.int16).copy_(self.expected(index, shape))

    def holds(self, tensors: dict[str, Any]) -> bool:
        """Return whether every bit of every tensor is as it should be."""
        for index, (name, shape) in enumerate(self.shapes.items()):
            expected, got = self.expected(index, shape), tensors[name].view(self.torch.int16)
            if not self.torch.equal(got, expected.to(got.device)):
                return False
        return True

    def clear(self, tensors: dict[str, Any]) -> None:
        """Overwrite every tensor, so that what is not copied is found."""
        for tensor in tensors.values():
            tensor.zero_()

    def seconds(self, move: Callable[[], None]) -> float:
        """Return how long it takes until everything has been moved."""
        self.torch.cuda.synchronize(self.gpu)
        start = time.perf_counter()
        move()
        self.torch.cuda.synchronize(self.gpu)
        return time.perf_counter() - start


def measure_weights(
    torch: Any, gpu: int, total: int, repeats: int, progress: Progress
) -> list[dict[str, Any]]:
    """Return one result per kind of memory and direction; docs/cli.md has the fields.

    Both sides copy into the same memory, allocated and touched before, and take turns. `.to()` of
    PyTorch is measured as the copy_() that it makes into the memory that it allocates.
    """
    weights = Weights(torch, gpu, weight_shapes(total))
    turns = repeats + 1  # the first one warms up
    steps = len(MEMORIES) * 2 * turns
    results: list[dict[str, Any]] = []
    for memory in MEMORIES:
        on_host, on_gpu = weights.allocate(memory), weights.allocate("gpu")
        for source, destination in ((on_host, on_gpu), (on_gpu, on_host)):
            weights.fill(source)
            move = Move(weights, source, destination, memory)
            for turn in range(turns):
                move.take_turn(verify=turn in (0, repeats))
                progress(len(results) * turns + turn + 1, steps)
            results.append(move.result())
        del on_host, on_gpu, source, destination, move
    return results


@dataclass
class Move:
    """One way that tensors are moved, by Polypath and by PyTorch in turn."""

    weights: Weights
    source: dict[str, Any]
    destination: dict[str, Any]
    memory: str  # the host's kind
    seconds: list[float] = field(default_factory=list)
    native_seconds: list[float] = field(default_factory=list)
    verified: bool = True

    def ours(self) -> None:
        """Copy every tensor by Polypath."""
        for name, tensor in self.source.items():
            polypath.copy(self.destination[name], tensor)

    def native(self) -> None:
        """Copy every tensor by PyTorch."""
        for name, tensor in self.source.items():
            self.destination[name].copy_(tensor, non_blocking=self.memory == "pinned")

    def take_turn(self, verify: bool) -> None:
        """Time both once; compare what Polypath has copied if asked to."""
        self.native_seconds.append(self.weights.seconds(self.native))
        self.weights.clear(self.destination)
        self.seconds.append(self.weights.seconds(self.ours))
        if verify:
            self.verified = self.verified and self.weights.holds(self.destination)

    def result(self) -> dict[str, Any]:
        """Return the medians, without the turn that warmed up."""
        seconds = statistics.median(self.seconds[1:])
        native_seconds = statistics.median(self.native_seconds[1:])
        nbytes = self.weights.nbytes
        return {
            **self._places(),
            "memory": self.memory,
            "tensors": len(self.weights.shapes),
            "bytes": nbytes,
            "repeats": len(self.seconds) - 1,
            "seconds": seconds,
            "native_seconds": native_seconds,
            "bytes_per_second": nbytes / seconds,
            "native_bytes_per_second": nbytes / native_seconds,
            "speedup": native_seconds / seconds,
            "verified": self.verified,
        }

    def _places(self) -> dict[str, str]:
        host, gpu = "host0", f"gpu{self.weights.gpu}"
        if next(iter(self.source.values())).device.type == "cpu":
            return {"source": host, "destination": gpu}
        return {"source": gpu, "destination": host}
