"""The text of errors."""

from __future__ import annotations


def message(problem: str, why: str, remedy: str) -> str:
    """Return an error's text in the form of this library: *problem (why it is one) what to do*."""
    return f"{problem} ({why}) {remedy}"
