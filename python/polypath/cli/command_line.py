"""The words of the run that is under way, for documents that say how to make them again."""

from __future__ import annotations

RESULTS = ("--json", "--plot", "--csv")  # where results go is not part of what is measured
_words: list[str] = []

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    from typing import Any


def remember(words: list[str]) -> None:
    """Keep a command line as it was typed."""
    _words[:] = words


def typed_words() -> tuple[str, ...]:
    """Return the command line as it was typed."""
    return tuple(_words)


def program_words() -> list[str] | None:
    """Return what follows "--", if there is one: a program, whatever it looks like."""
    return _words[_words.index("--") + 1 :] if "--" in _words else None


def add_command(document: dict[str, Any]) -> None:
    """Put the command that runs into a document: its field `command`."""
    import shlex

    document["command"] = shlex.join(["polypath", *_what_is_measured(_words)])


def _what_is_measured(arguments: list[str]) -> list[str]:
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in RESULTS:
            next(words, None)  # its value
        elif not word.startswith(tuple(f"{name}=" for name in RESULTS)):
            kept.append(word)
    return kept
