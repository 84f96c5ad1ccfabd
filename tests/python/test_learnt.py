"""What transfers have taught, as `polypath info` shows it."""

from __future__ import annotations

import io

from polypath.cli.learnt_table import learnt_table
from rich.console import Console


def shown(**kind: object) -> str:
    """Return the table of one kind of transfer as text."""
    usual = {
        "source": "gpu0",
        "destination": "gpu1",
        "bytes": 64 << 20,
        "natively": False,
        "shares": {},
        "chunks": 1.0,
        "paths_seconds": 0.0005,
        "native_seconds": 0.0,
        "transfers": 60,
    }
    target = io.StringIO()
    Console(file=target, width=120).print(learnt_table([usual | kind]))
    return target.getvalue()


def test_times_and_places_are_shown() -> None:
    text = shown()

    for part in ("gpu0", "gpu1", "64 MiB", "500 us", "60", "as planned", "-"):
        assert part in text


def test_a_native_copy_is_named() -> None:
    assert "one native copy" in shown(natively=True, native_seconds=0.0004)


def test_shares_are_shown_in_per_cent() -> None:
    assert "direct 75.0 %, host0 25.0 %" in shown(shares={"direct": 0.75, "host0": 0.25})


def test_other_chunks_are_shown() -> None:
    assert "1.5 x the chunks" in shown(chunks=1.5)
