"""The GPUs that names of devices stand for."""

from __future__ import annotations

import re
from typing import Any

from polypath.messages import message

CURRENT = -1  # the GPU that a framework uses where none is named

_DEVICE = re.compile(r"(?:cuda|gpu)(?::?(\d+))?")


def gpu_of_device(device: Any) -> int | None:
    """Return the GPU that a device names, or CURRENT; None for the host.

    It may be a number, "cpu", "cuda", "cuda:1", "gpu1", or a device of PyTorch or CuPy.
    """
    if isinstance(device, int) and not isinstance(device, bool) and device >= 0:
        return device
    if hasattr(device, "id"):  # CuPy's
        return int(device.id)
    return _gpu_of_name(str(device))  # PyTorch's read like "cuda:1"


def _gpu_of_name(name: str) -> int | None:
    if name in ("cpu", "host"):
        return None
    if match := _DEVICE.fullmatch(name):
        return CURRENT if match[1] is None else int(match[1])
    raise ValueError(
        message(
            f"device '{name}' cannot be used",
            "a device is 'cpu', 'cuda', 'cuda:N', 'gpuN' or a GPU's number",
            "Name one of them.",
        )
    )
