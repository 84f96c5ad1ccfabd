#!/usr/bin/env python3
"""Names the lines of prose in the given documents that are longer than 120 columns.

Tables, code blocks, pictures and lines that cannot be broken are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = 120
NOT_PROSE = ("|", "    ", "![", "<!--", "<")


def lines_of_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that people read one after another, with their numbers."""
    in_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith(NOT_PROSE) and " " in line:
            yield number, line


def main() -> int:
    """Print every line that is too long; return 1 if there is one."""
    found = False
    for name in sys.argv[1:]:
        for number, line in lines_of_prose(Path(name).read_text(encoding="utf-8")):
            if len(line) > COLUMNS:
                print(f"{name}:{number}: {len(line)} columns")
                found = True
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
