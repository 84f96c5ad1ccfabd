"""Times how a PyTorch program loads weights and puts them to sleep; knows nothing of Polypath.

Usage: torch_weights.py WAY BYTES FOLDER; WAY is one of

    sleep pinned, sleep pageable    weights in expandable segments (memory of cuMemCreate) to the
                                    host and back, as engines do that sleep; two timings
    safetensors                     safetensors.torch.load_file(..., device="cuda:0")
    safetensors all                 the same for all GPUs at once, a thread for each
    torch.load, torch.load mmap     torch.load(..., map_location="cuda:0")
    checkpoint                      torch.distributed.checkpoint.load into tensors that are there

FOLDER keeps the file, which is written if it is not there; it is read once before anything is
timed, so that its pages are in memory. The last line on stdout is JSON as of torch_copies.py: the
first pass and the median of the others. Exit status 1 if bytes arrive changed.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

PASSES = 4
TENSOR_BYTES = 64 << 20
SLEEPS = "sleep "
if len(sys.argv) > 1 and sys.argv[1].startswith(SLEEPS):
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import torch  # noqa: E402  it reads that variable

GPU = "cuda:0"
Tensors = dict[str, torch.Tensor]
Timings = dict[str, list[float]]


def weights(total: int) -> Tensors:
    """Return tensors that differ, in memory of the host."""
    count = max(1, total // TENSOR_BYTES)
    first = torch.arange(total // count // 4, dtype=torch.int32)
    return {f"layers.{number}.weight": first + number for number in range(count)}


def check(found: Tensors, expected: Tensors) -> None:
    """Raise if one tensor has arrived changed."""
    for name, tensor in expected.items():
        if not torch.equal(found[name], tensor.to(found[name].device)):
            raise SystemExit(f"{name} has arrived changed")


def seconds_of(act: Callable[[], object]) -> float:
    """Return how long it takes, up to the end on all GPUs."""
    synchronize()
    start = time.perf_counter()
    act()
    synchronize()
    return time.perf_counter() - start


def synchronize() -> None:
    """Wait for all GPUs."""
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)


def sleep(total: int, pinned: bool) -> Timings:
    """Time both ways between memory of the host that is kept and the GPU."""
    expected = weights(total)
    on_gpu = {name: tensor.to(GPU) for name, tensor in expected.items()}
    host = {name: torch.zeros_like(tensor, pin_memory=pinned) for name, tensor in expected.items()}
    times: Timings = {"sleep": [], "wake": []}
    for _ in range(PASSES):
        times["sleep"].append(seconds_of(lambda: [host[n].copy_(t) for n, t in on_gpu.items()]))
        for tensor in on_gpu.values():
            tensor.zero_()
        times["wake"].append(seconds_of(lambda: [t.copy_(host[n]) for n, t in on_gpu.items()]))
        check(on_gpu, expected)
    return times


def loads(way: str, total: int, folder: Path) -> Timings:
    """Time what loads a file in that way."""
    expected = weights(total)
    load = LOADERS[way](expected, folder)
    synchronize()
    times = []
    found: list[Tensors] = []
    for _ in range(PASSES):
        found.clear()
        times.append(seconds_of(lambda: found.extend(load())))
        for tensors in found:
            check(tensors, expected)
    return {way: times}


def read(path: Path) -> None:
    """Bring a file into memory."""
    with path.open("rb", buffering=0) as file:
        block = bytearray(16 << 20)
        while file.readinto(block):
            pass


def safetensors_file(expected: Tensors, folder: Path) -> Path:
    """Return the file, written if it is not there."""
    from safetensors.torch import save_file

    path = folder / "model.safetensors"
    if not path.exists():
        save_file(expected, path)
    read(path)
    return path


def of_safetensors(expected: Tensors, folder: Path) -> Callable[[], list[Tensors]]:
    """Return the loader for one GPU."""
    from safetensors.torch import load_file

    path = safetensors_file(expected, folder)
    return lambda: [load_file(path, device=GPU)]


def of_safetensors_for_all(expected: Tensors, folder: Path) -> Callable[[], list[Tensors]]:
    """Return the loader for all GPUs."""
    from safetensors.torch import load_file

    path = safetensors_file(expected, folder)

    def load() -> list[Tensors]:
        found: dict[int, Tensors] = {}

        def one(gpu: int) -> None:
            found[gpu] = load_file(path, device=f"cuda:{gpu}")

        threads = [
            threading.Thread(target=one, args=(gpu,)) for gpu in range(torch.cuda.device_count())
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return list(found.values())

    return load


def of_torch(mapped: bool) -> Callable[[Tensors, Path], Callable[[], list[Tensors]]]:
    """Return what makes the loader of a file of torch.save."""

    def make(expected: Tensors, folder: Path) -> Callable[[], list[Tensors]]:
        path = folder / "model.pt"
        if not path.exists():
            torch.save(expected, path)
        read(path)
        return lambda: [torch.load(path, map_location=GPU, mmap=mapped)]

    return make


def of_checkpoint(expected: Tensors, folder: Path) -> Callable[[], list[Tensors]]:
    """Return the loader of a checkpoint into tensors that are there."""
    from torch.distributed import checkpoint

    path = folder / "checkpoint"
    if not path.exists():
        checkpoint.save(dict(expected), checkpoint_id=path, no_dist=True)
    for file in path.iterdir():
        read(file)
    there = {name: torch.zeros_like(tensor, device=GPU) for name, tensor in expected.items()}

    def load() -> list[Tensors]:
        checkpoint.load(there, checkpoint_id=path, no_dist=True)
        return [there]

    return load


LOADERS = {
    "safetensors": of_safetensors,
    "safetensors all": of_safetensors_for_all,
    "torch.load": of_torch(mapped=False),
    "torch.load mmap": of_torch(mapped=True),
    "checkpoint": of_checkpoint,
}


def main(way: str, total: int, folder: Path) -> None:
    """Print the timings of one way."""
    for gpu in range(torch.cuda.device_count() if way.endswith("all") else 1):
        torch.empty(1, device=f"cuda:{gpu}")  # its context is no part of a load
    if way.startswith(SLEEPS):
        kind = way.removeprefix(SLEEPS)
        times = {f"{name} {kind}": each for name, each in sleep(total, kind == "pinned").items()}
    else:
        times = loads(way, total, folder)
    timings = [
        row
        for name, each in times.items()
        for row in (
            (f"first {name}", total, each[0]),
            (f"later {name}", total, statistics.median(each[1:])),
        )
    ]
    print(json.dumps({"program": f"PyTorch {torch.__version__}", "timings": timings}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
