"""What a copy refuses: ends whose bytes cannot become one another's."""

from __future__ import annotations

from typing import Any

from polypath.memory import UNTYPED, Memory
from polypath.messages import message


def check_ends(target: Memory, origin: Memory, bits: bool) -> None:
    """Raise ValueError unless the bytes of the origin can become those of the target.

    With `bits` elements of another type may, if they are as large.
    """
    _check_writable(target)
    _check_sizes(target, origin)
    _check_elements(target, origin)
    if not bits:
        _check_types(target, origin)
    _check_layout(target, origin)
    _check_gradients(target, origin)


def check_contents(target: Memory, origin: Memory, bits: bool) -> None:
    """Raise ValueError as check_ends does, but for sizes and layouts: for parts of both."""
    _check_writable(target)
    _check_elements(target, origin)
    if not bits:
        _check_types(target, origin)
    _check_gradients(target, origin)


def _check_gradients(target: Memory, origin: Memory) -> None:
    target.framework.check_gradient(target.thing)
    origin.framework.check_gradient(origin.thing)


def _check_writable(target: Memory) -> None:
    if not target.writable:
        raise ValueError(
            message("destination is read-only", "its owner says so", "Pass one to write to.")
        )


def _check_sizes(target: Memory, origin: Memory) -> None:
    if target.nbytes != origin.nbytes:
        raise ValueError(
            message(
                f"source of {origin.nbytes} bytes does not fill {target.nbytes} bytes",
                "a copy has as many bytes at both ends",
                "Slice one of them.",
            )
        )


def _check_elements(target: Memory, origin: Memory) -> None:
    if UNTYPED not in (target.item_size, origin.item_size) and target.item_size != origin.item_size:
        raise ValueError(
            message(
                f"elements of {origin.item_size} bytes do not become ones of {target.item_size}",
                "a copy does not convert",
                "Convert the source to the destination's type first.",
            )
        )


def _check_types(target: Memory, origin: Memory) -> None:
    known = UNTYPED not in (target.item_size, origin.item_size)
    if known and "" not in (target.element, origin.element) and target.element != origin.element:
        raise ValueError(
            message(
                f"elements of type {origin.element} do not become {target.element}",
                "a copy does not convert",
                "Convert the source first, or pass bits=True to copy its bits as they are.",
            )
        )


def _check_layout(target: Memory, origin: Memory) -> None:
    if not target.plain and not target.has_layout_of(origin):
        raise ValueError(
            message(
                "destination is not contiguous",
                "only bytes that lie together can be written",
                "Copy to a contiguous one and assign from that.",
            )
        )


def refuse_dtype(dtype: Any, why: str) -> None:
    """Raise ValueError for a type that elements should be converted to."""
    if dtype is not None:
        remedy = "Convert before or after, on the device where that is faster."
        raise ValueError(message(f"dtype {dtype} cannot be used", why, remedy))
