"""Times the first copies of a PyTorch process; knows nothing of Polypath.

Usage: torch_first_copies.py WAY BYTES, WAY being "to cuda:1", "pinned to cuda", "pageable to cuda".

A state_dict of that many bytes, in tensors of 64 MiB, is copied five times. The last line on stdout
is JSON as of torch_copies.py: the first copy and the fifth.
"""

from __future__ import annotations

import json
import sys
import time

import torch

TENSOR_BYTES = 64 << 20
COPIES = 5


def state_dict(way: str, size: int) -> list[torch.Tensor]:
    """Return the tensors where the way starts."""
    count = max(1, size // TENSOR_BYTES)
    first = torch.randint(0, 255, (size // count,), dtype=torch.uint8)
    tensors = [first + number for number in range(count)]  # quicker than random ones, and different
    if way == "to cuda:1":
        return [tensor.to("cuda:0") for tensor in tensors]
    return [tensor.pin_memory() for tensor in tensors] if way == "pinned to cuda" else tensors


def seconds_of(tensors: list[torch.Tensor], target: str) -> float:
    """Return how long the tensors take to another device; raise if one arrives changed."""
    torch.cuda.synchronize(target)
    start = time.perf_counter()
    moved = [tensor.to(target, non_blocking=True) for tensor in tensors]
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(target)
    seconds = time.perf_counter() - start
    if not torch.equal(moved[-1].cpu(), tensors[-1].cpu()):
        raise SystemExit("a tensor has arrived changed")
    return seconds


def main(way: str, size: int) -> None:
    """Print both timings."""
    tensors = state_dict(way, size)
    target = "cuda:1" if way == "to cuda:1" else "cuda:0"
    torch.empty(1, device=target)  # its context is no part of a copy
    times = [seconds_of(tensors, target) for _ in range(COPIES)]
    timings = [(f"first {way}", size, times[0]), (f"fifth {way}", size, times[-1])]
    print(json.dumps({"program": f"PyTorch {torch.__version__}", "timings": timings}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
