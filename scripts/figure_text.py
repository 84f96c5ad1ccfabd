"""Text that all figures of the documentation share: tables, sizes, shares."""

from __future__ import annotations

import re
from typing import Any

Document = dict[str, Any]

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
GAINS = 1.005  # rounds to more than 1.00


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines)


def size_text(count: int) -> str:
    """Return a size in the largest unit that divides it."""
    for unit, name in UNITS:
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"


def with_short_sizes(command: str) -> str:
    """Return a command whose sizes are as people write them: 64K, not 65536."""
    return re.sub(r"\b\d{4,}\b", lambda size: _option_text(int(size.group())), command)


def as_called_now(command: str) -> str:
    """Return a command that was run, by the name that it has now."""
    return re.sub(r"\bpolypath bench (mpi|weights)\b", r"polypath \1", command)


def _option_text(count: int) -> str:
    number, unit = size_text(count).split()
    return number if unit == "B" else f"{number}{unit[0]}"


def factor(result: Document) -> str:
    """Return a speed-up as text; bold where several paths gain."""
    text = f"{result['speedup']:.2f}"
    gains = result["speedup"] >= GAINS and result["executor"] != "native"
    return f"**{text}**" if gains else text


def shares_text(result: Document) -> str:
    """Return the shares of a result: "direct 68 %, gpu2 32 %"."""
    return ", ".join(f"{path['via']} {100 * path['share']:.0f} %" for path in result["paths"])


def percent(ratio: float) -> str:
    """Return a signed ratio: "+1.2 %"; zero is positive."""
    return f"{round(100 * ratio, 1) + 0.0:+.1f} %"
