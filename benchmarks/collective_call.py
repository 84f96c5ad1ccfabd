#!/usr/bin/env python3
"""What one all_reduce costs in Python where PyTorch is older than 2.10 and the tensor is known.

Tensors are stand-ins for PyTorch's, whose methods are functions of Python and answer in about the
same time; the rank below does nothing. Run it with the Python beside which the package is
installed: .venv/bin/python after `make package`.
"""

from __future__ import annotations

import sys
import timeit
import types
from typing import Any

from polypath import Collectives

CALLS, REPETITIONS = 100_000, 9
MICROSECONDS = 1e6


class Device:
    """As torch.device."""

    type, index = "cuda", 0


class Type:
    """As torch.dtype."""

    def __str__(self) -> str:
        return "torch.float32"


class Tensor:
    """As torch.Tensor: 8 KiB on a GPU."""

    device, dtype, layout, requires_grad = Device(), Type(), "strided", False

    def data_ptr(self) -> int:
        """Return where it is."""
        return 0x7F0000000000

    def numel(self) -> int:
        """Return how many elements it has."""
        return 2048

    def is_contiguous(self) -> bool:
        """Return true."""
        return True

    def is_neg(self) -> bool:
        """Return false, as those below."""
        return False

    is_conj = is_inference = is_neg


class Torch(types.ModuleType):
    """As much of torch as a call uses."""

    Tensor, strided = Tensor, Tensor.layout
    is_grad_enabled = staticmethod(lambda: True)
    _C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda _gpu: 0)
    autograd = types.SimpleNamespace(
        graph=types.SimpleNamespace(increment_version=lambda _tensor: None)
    )


class NoRank:
    """As polypath._core.CollectiveRank, one of eight; nothing comes of its calls."""

    rank, size, gpu = 0, 8, "gpu0"

    def run(self, call: Any, stream: Any) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def main() -> None:
    """Print the best of some repetitions: others have the computer, too."""
    sys.modules["torch"] = Torch("torch")
    collectives = Collectives(NoRank(), types.SimpleNamespace(simulated=False))
    tensor = Tensor()
    best = min(
        timeit.repeat(lambda: collectives.all_reduce(tensor), number=CALLS, repeat=REPETITIONS)
    )
    print(f"all_reduce in Python: {best / CALLS * MICROSECONDS:.2f} us")


if __name__ == "__main__":
    main()
