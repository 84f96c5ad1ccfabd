"""Times what a PyTorch user does, and writes it to stdout as JSON; knows nothing of Polypath.

Each line of the answer is [what, bytes, seconds]; bytes is null where no single copy is meant.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

import torch

SIZES = (256 << 20, 1 << 30)
REPEATS = 5
WARM_UP_SECONDS = 0.3  # first copies are torch_first_copies.py's

Timing = tuple[str, "int | None", float]


def seconds_of(action: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of an action with all GPUs idle before and after."""
    times: list[float] = []
    while sum(times) < WARM_UP_SECONDS or len(times) < 2:
        times.append(_once(action))
    return statistics.median(_once(action) for _ in range(repeats))


def _once(action: Callable[[], object]) -> float:
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)
    start = time.perf_counter()
    action()
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)
    return time.perf_counter() - start


def copies(size: int) -> list[Timing]:
    """Time the copies of one tensor; raise if one arrives changed."""
    on_gpu = torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda:0")
    pageable = on_gpu.cpu()
    pinned = pageable.pin_memory()
    back = torch.empty_like(pinned).pin_memory()
    ways: dict[str, Callable[[], object]] = {
        "to cuda:1": lambda: on_gpu.to("cuda:1"),
        "pinned to cuda": lambda: pinned.to("cuda", non_blocking=True),
        "pageable to cuda": lambda: pageable.to("cuda"),
        "cuda to pinned": lambda: back.copy_(on_gpu, non_blocking=True),
        "cpu()": on_gpu.cpu,
    }
    if torch.cuda.device_count() == 1:
        del ways["to cuda:1"]
    timings: list[Timing] = [(name, size, seconds_of(way)) for name, way in ways.items()]
    for moved in (on_gpu.to(f"cuda:{torch.cuda.device_count() - 1}"), pinned.to("cuda"), back):
        if not torch.equal(moved.cpu(), pageable):
            raise SystemExit("a tensor has arrived changed")
    return timings


def training_step() -> Timing:
    """Time a small network's step with its batch coming from pinned memory."""
    layers = [layer for _ in range(8) for layer in (torch.nn.Linear(2048, 2048), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).to("cuda")
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(8192, 2048).pin_memory()

    def step() -> None:
        optimiser.zero_grad()
        model(batch.to("cuda", non_blocking=True)).square().mean().backward()
        optimiser.step()

    return "training step", None, seconds_of(step, 30)


def captured_graph() -> Timing:
    """Time the replay of a captured graph with a copy in it."""
    source = torch.randn(8 << 20, device="cuda")
    destination = torch.empty_like(source)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        destination.copy_(source)
        destination.mul_(2)
    return "captured graph", None, seconds_of(graph.replay, 50)


def main() -> None:
    """Print every timing."""
    timings = [timing for size in SIZES for timing in copies(size)]
    timings += [training_step(), captured_graph()]
    print(json.dumps({"program": f"PyTorch {torch.__version__}", "timings": timings}))


if __name__ == "__main__":
    main()
