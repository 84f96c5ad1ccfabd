"""What the words of a command mean to the library."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Callable, TypeVar

from polypath.cli.errors import UserError
from polypath.cli.suggestions import did_you_mean

EXECUTORS = ("auto", "native", "stream", "graph")
ISSUERS = ("one-thread", "threads", "processes")
ALL_PAIRS = "all"


def overrides(
    executor: str, paths: str | None, shares: str | None, chunks: str | None
) -> dict[str, Any]:
    """Return the part of a request that fixes what is otherwise chosen."""
    request: dict[str, Any] = {"executor": choice("executor", executor, EXECUTORS)}
    if paths is not None:
        request["paths"] = names("paths", paths)
    if shares is not None:
        form = "each is PATH=NUMBER, from 0 to 1"
        request["shares"] = _pairs("share", shares, _share, form, "direct=0.9,host=0.1")
    if chunks is not None:
        form = "each is PATH=NUMBER, a count from 1 on"
        request["chunks"] = _pairs("chunk count", chunks, _count, form, "host=8,gpu2=4")
    _refuse_native_parts(request)
    _refuse_other_paths(request)
    return request


def _refuse_native_parts(request: dict[str, Any]) -> None:
    """Refuse what a native copy has not: it is one copy over the direct path."""
    if request["executor"] != "native":
        return
    for name in ("paths", "shares", "chunks"):
        if name in request and [*request[name]] != ["direct"]:
            raise UserError(
                f"option --{name} cannot be used with --executor native",
                "a native copy is one copy, over no other path",
                "Leave one of them out.",
            )


def _refuse_other_paths(request: dict[str, Any]) -> None:
    """Refuse shares and chunk counts of a path that --paths or --shares leave out."""
    for among, what in (("paths", "shares"), ("paths", "chunks"), ("shares", "chunks")):
        others = [via for via in request.get(what, ()) if not _is_among(via, request.get(among))]
        if others:
            raise UserError(
                f"--{what} of path '{others[0]}' cannot be used",
                f"--{among} has {', '.join(request[among])}",
                "Add it there, or leave it out here.",
            )


def _is_among(via: str, paths: Iterable[str] | None) -> bool:
    """Return whether a path is one of these, if there are any; `host` may be any host's."""
    if paths is None or via in paths:
        return True
    return via.startswith("host") and any(
        other.startswith("host") and "host" in (via, other) for other in paths
    )


def joint_choices(executor: str, issuers: str | None) -> dict[str, str]:
    """Return the part of a request for several transfers that fixes what is otherwise chosen."""
    return {
        "executor": choice("executor", executor, EXECUTORS),
        "issuers": ISSUERS[0] if issuers is None else choice("issuer", issuers, ISSUERS),
    }


def executors(text: str) -> list[str]:
    """Return the executors of a comma list such as "stream,graph"."""
    return [choice("executor", name, ("stream", "graph")) for name in names("executors", text)]


def pair(source: str | None, destination: str | None) -> tuple[str, str] | None:
    """Return the two places, or nothing where none is named; one alone is an error."""
    if source is None:
        return None
    if destination is None:
        raise UserError(f"'{source}' has no destination", "a pair is two places", "Add DST.")
    return source, destination


def pair_or_all(source: str | None, destination: str | None) -> tuple[str, str] | None:
    """Return the two places, or what stands for all pairs: `all` by itself, or twice."""
    if ALL_PAIRS not in (source, destination):
        return pair(source, destination)
    if source == ALL_PAIRS and destination in (None, ALL_PAIRS):
        return ALL_PAIRS, ALL_PAIRS
    raise UserError(
        f"{source} {destination} cannot be measured",
        "'all' stands for all pairs of places",
        "Name 'all' alone, or two places.",
    )


def choice(what: str, name: str, names: tuple[str, ...]) -> str:
    """Return the name if it is one of the names."""
    if name in names:
        return name
    raise UserError(
        f"{what} '{name}' is unknown",
        f"the {what}s are {', '.join(names)}",
        f"Name one of them.{did_you_mean(name, names)}",
    )


def names(what: str, text: str) -> list[str]:
    """Return the names of a comma list."""
    listed = [name.strip() for name in text.split(",")]
    if all(listed):
        return listed
    raise UserError(f"{what} '{text}' have an empty name", "commas separate them", "Remove it.")


def check_range(option: str, number: int | None, least: int, most: int) -> None:
    """Refuse an option's number, if there is one, outside of this range."""
    if number is not None and not least <= number <= most:
        raise UserError(
            f"{option} {number} cannot be used", f"it is {least} to {most}", "Correct the number."
        )


def whole_numbers(what: str, text: str) -> list[int]:
    """Return the whole numbers, 0 and more, of a comma list."""
    listed = names(what, text)
    for number in listed:
        if not (number.isascii() and number.isdigit()):
            raise UserError(
                f"{what} '{number}' is no whole number", "0 is the least", "Correct it."
            )
    return [int(number) for number in listed]


_Number = TypeVar("_Number", int, float)


def _pairs(
    what: str, text: str, read: Callable[[str], _Number], form: str, example: str
) -> dict[str, _Number]:
    pairs: dict[str, _Number] = {}
    for part in text.split(","):
        name, _, digits = (piece.strip() for piece in part.partition("="))
        try:
            number = read(digits)
        except ValueError:
            number = None
        if not name or number is None:
            raise UserError(
                f"{what} '{part}' cannot be read",
                form,
                f"Write for example {example}.",
            )
        if name in pairs:
            raise UserError(
                f"{what} '{part}' names a path twice", "a path has one", "Remove one of them."
            )
        pairs[name] = number
    return pairs


def _share(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number < 2**31:
        raise ValueError
    return number
