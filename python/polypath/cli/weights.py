"""Weights of a large model moved onto a GPU and back, by Polypath and by PyTorch itself."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
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
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
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
    steps = len(MEMORIES) * 2 * (repeats + 1)
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        progress(done, steps)

    results = []
    for memory in MEMORIES:
        on_host, on_gpu = weights.allocate(memory), weights.allocate("gpu")
        weights.fill(on_host)
        results.append(_measure(weights, on_gpu, on_host, memory, repeats, advance))
        weights.fill(on_gpu)
        results.append(_measure(weights, on_host, on_gpu, memory, repeats, advance))
        del on_host, on_gpu
    return results


def _measure(
    weights: Weights,
    destination: dict[str, Any],
    source: dict[str, Any],
    memory: str,
    repeats: int,
    advance: Callable[[], None],
) -> dict[str, Any]:
    def ours() -> None:
        for name, tensor in source.items():
            polypath.copy(destination[name], tensor)

    def native() -> None:
        for name, tensor in source.items():
            destination[name].copy_(tensor, non_blocking=memory == "pinned")

    verified = True
    seconds: list[float] = []
    native_seconds: list[float] = []
    for repeat in range(repeats + 1):  # the first one warms up
        native_seconds.append(weights.seconds(native))
        weights.clear(destination)
        seconds.append(weights.seconds(ours))
        if repeat in (0, repeats):
            verified = verified and weights.holds(destination)
        advance()
    inward = next(iter(source.values())).device.type == "cpu"
    places = ("host0", f"gpu{weights.gpu}")
    return _result(places if inward else places[::-1], memory, weights.shapes,
                   seconds[1:], native_seconds[1:], verified)  # fmt: skip


def _result(
    places: tuple[str, str],
    memory: str,
    shapes: dict[str, Shape],
    seconds: list[float],
    native_seconds: list[float],
    verified: bool,
) -> dict[str, Any]:
    nbytes = sum(ITEM * shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in shapes.values())
    took, native_took = statistics.median(seconds), statistics.median(native_seconds)
    return {
        "source": places[0],
        "destination": places[1],
        "memory": memory,
        "tensors": len(shapes),
        "bytes": nbytes,
        "repeats": len(seconds),
        "seconds": took,
        "native_seconds": native_took,
        "bytes_per_second": nbytes / took,
        "native_bytes_per_second": nbytes / native_took,
        "speedup": native_took / took,
        "verified": verified,
    }
