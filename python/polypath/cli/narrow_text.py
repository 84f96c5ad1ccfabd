"""Characters for terminals that have few: those that look most like what they stand for."""

from __future__ import annotations

import codecs

NAME = "polypath"  # of the error handler

_ALIKE = {
    "\N{HORIZONTAL ELLIPSIS}": ".",  # one letter, as wide as it was
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MICRO SIGN}": "u",
}


def register() -> str:
    """Make the error handler known to codecs; return its name."""
    codecs.register_error(NAME, _replaced)
    return NAME


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    return "".join(map(plain, letters)), error.end


def plain(letter: str) -> str:
    """Return what stands for a letter in ASCII; its code where nothing is like it."""
    import unicodedata

    alike = _ALIKE.get(letter) or unicodedata.normalize("NFKD", letter)
    kept = alike.encode("ascii", "ignore").decode()
    return kept or letter.encode("ascii", "backslashreplace").decode()
