"""The command `polypath`: how it starts and how it ends. The commands are in commands/."""

from __future__ import annotations

import os
import sys

from polypath.cli.statuses import INTERRUPTED

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default the one of this process; return the exit status.

    It is minus a signal's number where that has ended the program that was run to its end.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    _stand_in_for_closed_streams()
    _tolerate_narrow_encodings()
    try:
        return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _forget_lost_messages()


def _run(words: list[str]) -> int:
    """Load no more than these words take: an interrupt meanwhile is one like any other."""
    if words[:1] == ["run"]:
        from polypath.cli.plain_run import become

        status = become(words[1:])
        if status is not None:
            return status
    from polypath.cli.running import run_words

    return run_words(words)


def _stand_in_for_closed_streams() -> None:
    """Open what was closed before the start: what is written to stdout fails, to stderr is lost."""
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.open(os.devnull, os.O_WRONLY), "w")  # noqa: PTH123, SIM115


def _forget_lost_messages() -> None:
    """Keep Python from ending with status 120 for messages that stderr does not take."""
    try:
        sys.stderr.flush()
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115


def _tolerate_narrow_encodings() -> None:
    """Let a terminal that cannot show a character show another one, or its code: never fail."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = "ascii" if _asks_for_ascii() else stream.encoding
            stream.reconfigure(encoding=encoding, errors=_errors_of(encoding))


def _asks_for_ascii() -> bool:
    """Return whether LC_ALL=C says so; Python takes that for UTF-8, as it does a locale unsaid."""
    said = any(name in os.environ for name in ("PYTHONUTF8", "PYTHONIOENCODING"))
    return os.environ.get("LC_ALL") in ("C", "POSIX") and not said


def _errors_of(encoding: str | None) -> str:
    if (encoding or "").lower().replace("-", "") == "utf8":
        return "backslashreplace"  # of names whose bytes are in another encoding
    from polypath.cli.narrow_text import register

    return register()
