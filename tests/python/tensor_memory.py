"""Memory with known contents for the tests of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import polypath


def pattern(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


def host_array(context: polypath.Context, count: int) -> np.ndarray:
    """An array of the host that the simulated machine knows; it counts as pinned."""
    return context.allocate("host0", count).numpy()


def wait(*streams: Any) -> None:
    for stream in streams:
        stream.synchronize()
