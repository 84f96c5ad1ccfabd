"""Message sizes on the command line: "64K,1M,4M:16M"."""

from __future__ import annotations

from polypath import parse_bytes
from polypath.cli.errors import UserError


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
    first = parse_bytes(first_text)
    if not colon:
        return [first]
    last = parse_bytes(last_text)
    if not 1 <= first <= last:
        raise UserError(
            f"sizes '{item}' are no range",
            "FIRST:LAST doubles FIRST, at least 1 byte, until LAST",
            "Write for example 1M:512M.",
        )
    return [first << shift for shift in range((last // first).bit_length())]
