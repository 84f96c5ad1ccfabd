"""The text of errors."""

from __future__ import annotations


def is_utf8(text: str) -> bool:
    """Return whether the text can be written as UTF-8, which bytes of other encodings cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def message(problem: str, why: str, remedy: str) -> str:
    """Return an error's text in the form of this library: *problem (why it is one) what to do*."""
    return f"{problem} ({why}) {remedy}"
