"""What went wrong, as one line: *problem (why it is one) what to do*."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable

from polypath import Error
from polypath.cli.statuses import REQUEST_ERROR, RUN_ERROR

LEAST_LIKENESS = 0.7  # of two names, where 1 is equal; below, a suggestion would be a guess

# The names at the end of what a message has in brackets: "the zoo has beluga, narval".
_LISTED = re.compile(r"(?:\b(?:has|have|is|are)|:) ((?:[\w-]+, )*[\w-]+)$")

# Of a stream that is closed or full; other files are named by the error.
_OF_STREAMS = (errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_REQUEST_CODES = ("invalid argument", "invalid machine", "invalid setting", "unsupported")


class UserError(Exception):
    """A request that cannot be carried out as it is written."""

    def __init__(self, problem: str, why: str, remedy: str) -> None:
        super().__init__(f"{problem} ({why}) {remedy}")


class UnknownPlaceError(UserError):
    """A place that the machine does not have."""

    def __init__(self, place: str, machine: str, places: Iterable[str]) -> None:
        why = f"machine '{machine}' has {', '.join(places)}"
        super().__init__(f"place '{place}' is unknown", why, "Name one of them.")


class WriteError(UserError):
    """A file that failed while it was written, after the work."""


def describe(error: Exception) -> tuple[str, int]:
    """Return the line to show for an error and the exit status; raise it again if it is a bug."""
    if isinstance(error, UserError):
        failed = isinstance(error, WriteError)
        text = str(error)
        text = with_suggestion(text) if isinstance(error, UnknownPlaceError) else text
        return _one_line(text), RUN_ERROR if failed else REQUEST_ERROR
    if isinstance(error, Error):
        status = REQUEST_ERROR if error.code in _REQUEST_CODES else RUN_ERROR
        return _one_line(with_suggestion(str(error))), status
    if hasattr(error, "format_message"):  # of the command line: typer's, or click's under it
        from polypath.cli.usage_errors import usage_line

        return _one_line(usage_line(error)), REQUEST_ERROR
    if isinstance(error, MemoryError):
        return "out of memory (buffers of all sizes are real) Ask for smaller sizes.", RUN_ERROR
    if isinstance(error, OSError):
        return _one_line(_system_line(error)), RUN_ERROR
    raise error


def _system_line(error: OSError) -> str:
    why = error.strerror or str(error)
    if error.filename is None and error.errno in _OF_STREAMS:
        return f"the output cannot be written ({why}) Send stdout to a file or pipe that takes it."
    return f"{why} ({error.filename or 'no file'})"


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


def _one_line(text: str) -> str:
    """Return the text without line breaks and control characters, which a name may contain."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
