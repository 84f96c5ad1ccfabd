"""What went wrong, as one line: *problem (why it is one) what to do*."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable

from polypath import Error
from polypath.cli.statuses import REQUEST_ERROR, RUN_ERROR
from polypath.cli.suggestions import with_suggestion

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


def _one_line(text: str) -> str:
    """Return the text without line breaks and control characters, which a name may contain."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
