"""Names that were meant: what a message adds about a name that is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable

LEAST_LIKENESS = 0.7  # of two names, where 1 is equal; below, a suggestion would be a guess

# The names at the end of what a message has in brackets: "the zoo has beluga, narval".
_LISTED = re.compile(r"(?:\b(?:has|have|is|are)|:) ((?:[\w-]+, )*[\w-]+)$")


def with_suggestion(message: str) -> str:
    """Add the nearest of the names that a message lists in brackets to the one it quotes."""
    quoted = re.search(r"'([^']+)'|^(POLYPATH_\w*)", message)
    bracketed = re.search(r"\((.*)\)", message, re.DOTALL)
    listed = _LISTED.search(bracketed[1]) if bracketed else None
    if not quoted or not listed:
        return message
    names = listed[1].split(", ")
    name = quoted[1] or quoted[2]
    if message.startswith("place ") and meant_place(name) in {*names, "host"} - {name}:
        return f"{message} Did you mean {meant_place(name)}?"
    return message + did_you_mean(name, names)


def meant_place(name: str) -> str:
    """Return the place that other programs call by that name, such as gpu0 for "cuda:0".

    Empty for any other name.
    """
    found = re.fullmatch(r"(cuda|gpu|device|host|cpu|numa)?[:_ -]?(\d*)", name.lower())
    if not found or not name:
        return ""
    kind, number = found.groups()
    if kind in ("host", "cpu", "numa"):
        return f"host{number}"
    return f"gpu{number or 0}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return " Did you mean NAME?" for the one of the names that is closest, if there is one."""
    import difflib

    def likeness(other: str) -> float:
        return difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()

    ranked = sorted({*names} - {name}, key=lambda other: (-likeness(other), other))
    if not ranked or likeness(ranked[0]) < LEAST_LIKENESS:
        return ""
    ambiguous = len(ranked) > 1 and likeness(ranked[1]) == likeness(ranked[0])
    return "" if ambiguous else f" Did you mean {ranked[0]}?"
