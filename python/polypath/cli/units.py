"""Numbers as people read them: sizes in powers of 1024, bandwidths in GB/s of 1e9 bytes/s."""

from __future__ import annotations

import math
from typing import Any

_SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(count: float) -> str:
    """Return a number of bytes as "64 MiB", "1.5 KiB" or "123 B"."""
    value, unit = float(count), 0
    while value >= 1024 and unit + 1 < len(_SIZE_UNITS):
        value, unit = value / 1024, unit + 1
    return f"{value:.4g} {_SIZE_UNITS[unit]}"


def time_text(seconds: float) -> str:
    """Return a time in seconds as "12.3 us", "4.567 ms" or "1.234 s"."""
    if not math.isfinite(seconds):
        return "never"
    if abs(seconds) < 1e-3:
        return f"{significant(seconds * 1e6, 3)} us"
    if abs(seconds) < 1:
        return f"{significant(seconds * 1e3, 4)} ms"
    return f"{significant(seconds, 4)} s"


def significant(value: float, digits: int) -> str:
    """Return a number with that many significant digits, never in scientific notation."""
    before_point = math.floor(math.log10(abs(value))) + 1 if value else 1
    return f"{value:.{max(0, digits - before_point)}f}"


def gigabytes(bytes_per_second: float) -> str:
    """Return the number of GB/s (1e9 bytes/s), without the unit: "393", "55.1", "8.25"."""
    return significant(bytes_per_second / 1e9, 3)


def bandwidth_text(bytes_per_second: float) -> str:
    """Return a rate in bytes/s as "393 GB/s"."""
    return f"{gigabytes(bytes_per_second)} GB/s"


def factor_text(factor: float) -> str:
    """Return a speed-up as "2.95x"."""
    return f"{factor:.2f}x"


def percent_text(fraction: float, sign: bool = False) -> str:
    """Return a fraction as "89.7 %"; with its sign as "+0.3 %"."""
    percent = round(100 * fraction, 1) + 0.0  # no negative zero
    return f"{percent:+.1f} %" if sign else f"{percent:.1f} %"


# Operations of `bench` that copy by a pattern of `polypath plan`.
PATTERNS = ("ring", "pairs", "fan-out", "gather", "alltoall", "scatter", "collect")


def lanes_text(bench: dict[str, Any]) -> str:
    """Return what a benchmark copies: "put gpu0 -> gpu1", "bibw gpu0 <-> gpu1"."""
    operation, first = bench["operation"], bench["results"][0]
    if bench.get("all_pairs"):
        return f"{operation}, every pair by itself, window {first['window']}"
    if operation == "mbw":
        return "mbw, all GPUs in pairs"
    if operation in PATTERNS:
        return f"{operation}, all GPUs, asked for together"
    if operation == "many":
        count = first.get("pieces", 1)
        return f"many {first['source']} -> {first['destination']}, {count} asked for together"
    arrow = "<->" if operation in ("bibw", "latency") else "->"
    return f"{operation} {first['source']} {arrow} {first['destination']}"
