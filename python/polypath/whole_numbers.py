"""Whole numbers among the arguments of calls: sizes, counts, offsets."""

from __future__ import annotations

import operator
from typing import Any

from polypath.messages import message


def whole_number(what: str, value: Any) -> int:
    """Return a whole number of any kind; TypeError that says which of the arguments is none."""
    if isinstance(value, str):
        remedy = f"Pass polypath.parse_bytes({value!r}) for a size with a unit."
        raise TypeError(message(f"{what} {value!r} cannot be used", "it is a text", remedy))
    try:
        return operator.index(value)
    except TypeError:
        why = "it is no whole number"
        raise TypeError(message(f"{what} {value!r} cannot be used", why, "Pass one.")) from None
