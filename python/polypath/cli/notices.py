"""One line at a time to stderr, beside the results."""

from __future__ import annotations

import sys


def notice(text: str) -> None:
    """Print one line about the run to stderr, if that takes it."""
    try:
        print(f"polypath: {text}", file=sys.stderr, flush=True)
    except OSError:
        return
