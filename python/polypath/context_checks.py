"""What a context takes and refuses: sizes, places, buffers and streams of its calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from polypath._core import Buffer, Error, Stream
from polypath.messages import message
from polypath.whole_numbers import whole_number

MOST_BYTES = (1 << 63) - 1  # of one buffer or copy; more are a mistake


def invalid(problem: str, why: str, remedy: str) -> Error:
    """Return the error for an argument that has the right type and cannot be used."""
    error = Error(message(problem, why, remedy))
    error.code = "invalid argument"
    return error


def bytes_of(what: str, count: Any, least: int = 0) -> int:
    """Return a number of bytes. TypeError for what is no whole number, Error for one out of range.

    `what` is its name where it stands: "size", "source_offset".
    """
    number = whole_number(what, count)
    if not least <= number <= MOST_BYTES:
        why = f"it is at least {least}" if number < least else "no memory has as many bytes"
        raise invalid(f"{what} of {number} bytes cannot be used", why, "Correct it.")
    return number


def share_of(share: Any) -> float:
    """Return a path's share. TypeError for what is no number."""
    try:
        if not isinstance(share, str):
            return float(share)
    except (TypeError, ValueError):
        pass
    raise TypeError(message(f"share {share!r} cannot be used", "it is no number", "Pass one."))


def check_name(what: str, name: Any, example: str) -> None:
    """Raise TypeError for a name that is no text."""
    if not isinstance(name, str):
        raise TypeError(
            message(f"{what} {name!r} cannot be used", "it is no name", f"Name one: {example!r}.")
        )


def check_buffer(what: str, buffer: Any) -> None:
    """Raise TypeError for one end of a copy that is no buffer."""
    if not isinstance(buffer, Buffer):
        raise TypeError(
            message(
                f"{what} of type {type(buffer).__name__} cannot be copied",
                "a context copies buffers that its allocate has made",
                "Pass one; polypath.copy copies tensors and arrays on real GPUs.",
            )
        )


def check_stream(stream: Any) -> None:
    """Raise TypeError for what is no stream of a context."""
    if stream is not None and not isinstance(stream, Stream):
        raise TypeError(
            message(
                f"stream of type {type(stream).__name__} cannot be used",
                "a context's copies run on streams that its stream() has made",
                "Pass one, or None to wait for the copy.",
            )
        )


def check_equal(destination: int, source: int, remedy: str) -> None:
    """Raise Error unless both ends have as many bytes."""
    if destination != source:
        raise invalid(
            f"source of {source} bytes does not fill {destination} bytes",
            "a copy has as many bytes at both ends",
            remedy,
        )


def buffer_pairs(pairs: Any) -> list[tuple[Buffer, Buffer]]:
    """Return pairs of a destination and its source, each of equal sizes; the error names the pair.

    TypeError for what are no pairs of buffers, Error for unequal sizes.
    """
    checked = []
    for number, each in enumerate(listed_pairs(pairs)):
        with named_pair(number):
            check_buffer("destination", each[0])
            check_buffer("source", each[1])
            check_equal(each[0].nbytes, each[1].nbytes, "Copy the part that is meant by copy().")
        checked.append(each)
    return checked


def listed_pairs(pairs: Any) -> list[tuple[Any, Any]]:
    """Return a list of pairs. TypeError for what is no pair."""
    if not isinstance(pairs, Iterable) or isinstance(pairs, (str, bytes)):
        raise TypeError(
            message(
                f"{type(pairs).__name__} cannot be copied",
                "it is no list of pairs",
                "Pass [(destination, source), ...].",
            )
        )
    listed = list(pairs)
    for number, each in enumerate(listed):
        if not isinstance(each, (tuple, list)) or len(each) != 2:
            size = f" of {len(each)}" if isinstance(each, (tuple, list)) else ""
            raise TypeError(
                message(
                    f"pair {number}: {type(each).__name__}{size} cannot be copied",
                    "a pair is a destination and its source",
                    "Pass (destination, source).",
                )
            )
    return [(target, origin) for target, origin in listed]


def named_pair(number: int) -> contextlib.AbstractContextManager[None]:
    """Have errors say which pair they are of; the first one is pair 0."""
    return named(f"pair {number}")


@contextlib.contextmanager
def named(what: str) -> Iterator[None]:
    """Have errors say what they are of; with an empty name they stay as they are."""
    try:
        yield
    except (Error, TypeError, ValueError) as error:
        if not what:
            raise
        told = type(error)(f"{what}: {error}")
        if isinstance(error, Error) and isinstance(told, Error):
            told.code = error.code
        raise told from None
