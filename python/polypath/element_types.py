"""The types of elements that collectives move and reduce, and how large they are."""

from __future__ import annotations

from typing import Any

from polypath import _core
from polypath.messages import message

_TYPES = _core.element_types()
REDUCED = tuple(name for name, (_, reduced) in _TYPES.items() if reduced)


def type_name(dtype: Any) -> str:
    """Return what a type is called here: "float32" of np.float32, torch.float32, "fp32", "<f4".

    ValueError for one that cannot be moved.
    """
    said = _said(dtype)
    found = said if said in _TYPES else _core.find_element_type(said)
    if found is not None:
        return found
    raise ValueError(
        message(
            f"elements of type {said} cannot be used",
            f"the types are {', '.join(_TYPES)}",
            "Convert them, or view their bytes as another type.",
        )
    )


def _said(dtype: Any) -> str:
    """Return the name that a type has where it comes from: of PyTorch, NumPy, JAX."""
    if isinstance(dtype, str):
        return dtype
    text = str(dtype)
    if text.startswith("torch."):
        return text
    import numpy as np

    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        return text


def size_of(dtype: Any) -> int:
    """Return the bytes of an element. ValueError for a type that there is not."""
    return _TYPES[type_name(dtype)][0]


def check_reduced(dtype: str) -> None:
    """Raise ValueError for a type that is moved only."""
    if dtype not in REDUCED:
        raise ValueError(
            message(
                f"elements of type {dtype} cannot be reduced",
                "they are only moved as they are",
                "Convert them, or view their bytes as another type.",
            )
        )
