"""Requests as the JSON that the library reads, and what it returns as dictionaries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Callable

from polypath import _core, messages
from polypath.whole_numbers import whole_number

Report = dict[str, Any]
Progress = Callable[[int, int], None]


def numbers(sizes: Sequence[int]) -> list[int]:
    """Return whole numbers of any kind as those that JSON has."""
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        why = "a list of whole numbers belongs here"
        raise TypeError(messages.message(f"sizes {sizes!r} are no list", why, "Put them in one."))
    return [whole_number("size", size) for size in sizes]


def names(what: str, listed: Sequence[str] | None) -> list[str] | None:
    """Return a list of names, if there is one; a text would be taken for a list of its letters."""
    if isinstance(listed, str):
        why = "a text is one name"
        raise TypeError(messages.message(f"{what} {listed!r} is no list", why, "Put it in one."))
    return None if listed is None else list(listed)


def rows(what: str, fields: tuple[str, ...], things: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return each of the things as a tuple of these fields; raise TypeError where one is none.

    The message says which: Python's own "not enough values to unpack" does not.
    """
    checked = []
    for number, thing in enumerate(things):
        if isinstance(thing, str) or not isinstance(thing, Sequence) or len(thing) != len(fields):
            raise TypeError(
                messages.message(
                    f"{what} {number} is {thing!r}",
                    f"each is ({', '.join(fields)})",
                    "Correct it.",
                )
            )
        checked.append(tuple(thing))
    return checked


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
