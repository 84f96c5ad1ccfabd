"""What the checks of tensors on GPUs share: known values, comparison, GPUs kept busy."""

from __future__ import annotations

import torch

MIB = 1 << 20
LARGE = 96 * MIB + 13  # takes several paths, and ends between chunks
SIZES = (1, 3, 511, 4097, MIB - 1, MIB, 7 * MIB + 5, LARGE)
BUSY = 1 << 27  # clock cycles that a kernel waits: tens of milliseconds


class NotHereError(Exception):
    """The check cannot be made on this computer."""


def need_gpus(count: int) -> None:
    if torch.cuda.device_count() < count:
        raise NotHereError(f"needs {count} GPUs")


def values(size: int, seed: int, device: str = "cpu") -> torch.Tensor:
    """Return bytes that differ everywhere and with the seed."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.randint(0, 256, (size,), dtype=torch.uint8, generator=generator)
    return made.to(device)


def same(got: torch.Tensor, expected: torch.Tensor) -> None:
    got, expected = got.cpu(), expected.cpu()
    if torch.equal(got, expected):
        return
    wrong = (got != expected).nonzero().flatten()
    raise AssertionError(
        f"{len(wrong)} of {len(got)} elements wrong, first {wrong[0]}, last {wrong[-1]}"
    )


def keep_busy(device: int = 0) -> None:
    """Let the current stream of the GPU wait, so that what ignores its order comes too early."""
    with torch.cuda.device(device):
        torch.cuda._sleep(BUSY)


def synchronize() -> None:
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)
