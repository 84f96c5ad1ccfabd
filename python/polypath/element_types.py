"""The types of elements that can be reduced, and how large they are."""

from __future__ import annotations

from polypath.messages import message

SIZES = {
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
    "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip


def size_of(dtype: str) -> int:
    """Return the bytes of an element. ValueError for a type that there is not."""
    size = SIZES.get(dtype)
    if size is not None:
        return size
    raise ValueError(
        message(
            f"elements of type {dtype} cannot be used",
            f"the types are {', '.join(SIZES)}",
            "Convert them, or view their bytes as another type.",
        )
    )
