"""PyTorch, CuPy, NumPy and whatever else shows where its bytes are.

None of them is imported for its own sake: tensors of a framework exist only where it is loaded.
NumPy reads plain buffers and DLPack.
"""

from __future__ import annotations

from typing import Any

from polypath.frameworks.anything import ANYTHING
from polypath.frameworks.arrays import CUPY, NUMPY
from polypath.frameworks.pytorch import PYTORCH
from polypath.memory import Framework

__all__ = ["ANYTHING", "CUPY", "FRAMEWORKS", "NUMPY", "PYTORCH", "framework_of"]

FRAMEWORKS: tuple[Framework, ...] = (PYTORCH, CUPY, NUMPY, ANYTHING)


def framework_of(thing: Any) -> Framework:
    """Return the framework whose tensor this is, or the one for anything else."""
    # PyTorch is asked first, because its calls are the most frequent.
    if type(thing) is PYTORCH.exact or PYTORCH.owns(thing):
        return PYTORCH
    return next(framework for framework in FRAMEWORKS if framework.owns(thing))
