"""Message sizes on the command line: "64K,1M,4M:16M"."""

from __future__ import annotations

import re

from polypath import parse_bytes
from polypath.cli.errors import UserError
from polypath.cli.notices import notice
from polypath.cli.units import size_text

# Others mean powers of 1000 by it, or leave open what they mean.
_DOUBTFUL = re.compile(r"\d+\s*(?:[KMGTkmgt][Bb]|[kmgt])")


def parse_size(text: str) -> int:
    """Return the bytes of one size; say what is meant where others mean something else."""
    if text.strip().startswith("-"):
        raise UserError(
            f"size '{text}' cannot be used",
            "a size is not negative",
            f"Write for example {text.strip().lstrip('-') or '64M'}.",
        )
    nbytes = parse_bytes(text)
    if _DOUBTFUL.fullmatch(text.strip()):
        notice(f"{text.strip()} is {size_text(nbytes)}: K, M, G and T are powers of 1024")
    return nbytes


def parse_sizes(text: str) -> list[int]:
    """Return the sizes, in bytes, of a comma list whose items are SIZE or FIRST:LAST.

    FIRST:LAST stands for FIRST, twice that, and so on up to LAST. K, M and G are powers of 1024.
    The order is kept; a size that comes twice counts once.
    """
    sizes: dict[int, None] = {}
    for item in text.split(","):
        sizes.update(dict.fromkeys(_item_sizes(item.strip())))
    return list(sizes)


def _item_sizes(item: str) -> list[int]:
    first_text, colon, last_text = item.partition(":")
    first = parse_size(first_text)
    if not colon:
        return [first]
    last = parse_size(last_text)
    if not 1 <= first <= last:
        raise UserError(
            f"sizes '{item}' are no range",
            "FIRST:LAST doubles FIRST, at least 1 byte, until LAST",
            "Write for example 1M:512M.",
        )
    return [first << shift for shift in range((last // first).bit_length())]
