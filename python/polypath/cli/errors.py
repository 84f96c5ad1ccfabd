"""What went wrong, as one line: *problem (why it is one) what to do*."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from typing import Any

from polypath import Error, reports
from polypath.cli.command_line import typed_words
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


class WriteError(UserError):
    """A file that failed while it was written, after the work."""


def describe(error: Exception) -> tuple[str, int]:
    """Return the line to show for an error and the exit status; raise it again if it is a bug."""
    if isinstance(error, UserError):
        failed = isinstance(error, WriteError)
        return _one_line(str(error)), RUN_ERROR if failed else REQUEST_ERROR
    if isinstance(error, Error):
        status = REQUEST_ERROR if error.code in _REQUEST_CODES else RUN_ERROR
        return _one_line(with_suggestion(str(error))), status
    if hasattr(error, "format_message"):  # of the command line: typer's, or click's under it
        return _usage_line(error), REQUEST_ERROR
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


def _usage_line(error: Any) -> str:
    message = _one_line(_usage_problem(error))
    message += "" if message.endswith((".", "?", ")")) else "."
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "polypath"
    if _negative_size(getattr(error, "option_name", None) or ""):
        return f"{message} Write for example 64M."
    return f"{message[:1].lower()}{message[1:]} '{command} --help' lists what there is."


def _usage_problem(error: Any) -> str:
    """Return what is wrong with a command line, where typer has clumsier words for it."""
    if size := _negative_size(getattr(error, "option_name", None) or ""):
        return f"size '{size}' cannot be used (a size is not negative)"
    possibilities = getattr(error, "possibilities", None)
    if possibilities is not None:  # of an option that there is not
        name = error.option_name
        return f"no such option: {name}.{did_you_mean(name, possibilities)}"
    text = str(error.format_message())
    extra = re.search(r"unexpected extra argument(?:\(s\)|s)? \((.*)\)$", text)
    if extra:
        return f"'{extra[1]}' is left over.{_as_machine(error, extra[1])}"
    return _bad_value(error) or text


def _negative_size(option: str) -> str:
    """Return the word that a line was refused for, if it is a negative number: -64M."""
    if not re.fullmatch(r"-\d", option):
        return ""
    return next((word for word in typed_words() if re.match(rf"{option}\w*$", word)), option)


def _as_machine(error: Any, word: str) -> str:
    """Return a suggestion where the word is a machine, and the command takes one as an option."""
    options = [option for each in error.ctx.command.params for option in each.opts]
    known = word.endswith(".json") or word in (each["name"] for each in reports.machines())
    return f" Did you mean --machine {word}?" if known and "--machine" in options else ""


def _bad_value(error: Any) -> str:
    """Return what is wrong with an option's value; nothing where only typer knows."""
    details = getattr(error.__cause__, "errors", None)  # pydantic's, under newer versions of typer
    if not callable(details) or not getattr(error, "param", None):
        return ""
    first = details()[0]
    bounds = first.get("ctx", {})
    takes = {
        "int_parsing": "it takes a whole number",
        "float_parsing": "it takes a number",
        "greater_than_equal": f"it is at least {bounds.get('ge')}",
        "less_than_equal": f"it is at most {bounds.get('le')}",
    }.get(first["type"])
    return f"{error.param.opts[0]} {first['input']} cannot be used ({takes})" if takes else ""


def _one_line(text: str) -> str:
    """Return the text without line breaks and control characters, which a name may contain."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
