"""How fast a PyTorch program copies 256 MiB of memory that is not pinned to its GPU, for 2 s.

Usage: torch_pageable.py, and again by `polypath run -- python scripts/torch_pageable.py`. Prints
for the first twelve copies, and then for every tenth, when it began in seconds and its GB/s:
results/h200x1/pageable_program.json holds what it printed on an H200.
"""

from __future__ import annotations

import time

import torch

SIZE = 256 << 20
SECONDS = 2.0


def main() -> None:
    """Copy, check the bytes, and print."""
    plain = torch.randint(0, 255, (SIZE,), dtype=torch.uint8)
    gpu = torch.empty(SIZE, dtype=torch.uint8, device="cuda:0")
    torch.cuda.synchronize()
    start = time.perf_counter()
    copies = []
    while time.perf_counter() - start < SECONDS:
        begun = time.perf_counter()
        gpu.copy_(plain)
        torch.cuda.synchronize()
        copies.append((begun - start, SIZE / (time.perf_counter() - begun) / 1e9))
    assert torch.equal(gpu.cpu(), plain)
    print(" ".join(f"{begun:.2f}:{rate:.1f}" for begun, rate in copies[:12] + copies[12::10]))


if __name__ == "__main__":
    main()
