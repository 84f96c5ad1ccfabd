"""Requests as the JSON that the library reads, and what it returns as dictionaries."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from typing import Any, Callable

from polypath import _core, messages

Report = dict[str, Any]
Progress = Callable[[int, int], None]


def numbers(sizes: Sequence[int]) -> list[int]:
    """Return whole numbers of any kind as those that JSON has."""
    return [operator.index(size) for size in sizes]


def request_text(request: Report) -> str:
    """Return the request as JSON; Error (invalid argument) for a text that UTF-8 does not have."""
    text = json.dumps(request, ensure_ascii=False)
    if messages.is_utf8(text):
        return text
    error = _core.Error(
        messages.message(
            f"{ascii(text)[1:-1]} cannot be asked for",
            "a name in it has bytes that are not UTF-8",
            "Correct the name.",
        )
    )
    error.code = "invalid argument"
    raise error


def dictionary(text: str) -> Report:
    """Return a report of the library, which is JSON, as a dictionary."""
    report: Report = json.loads(text)
    return report
