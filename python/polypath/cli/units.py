"""Numbers as people read them: sizes in powers of 1024, bandwidths in GB/s of 1e9 bytes/s.

Sizes, times and bandwidths are written by the library (src/core/text.h), which has them in its own
sentences, so that a number looks the same wherever it stands.
"""

from __future__ import annotations

from typing import Any

from polypath import _core


def size_text(count: float) -> str:
    """Return a number of bytes as "64 MiB", "1.5 KiB" or "123 B"."""
    return _core.describe_bytes(int(count))


def time_text(seconds: float) -> str:
    """Return a time in seconds as "12.3 us", "4.567 ms" or "1.234 s"."""
    return _core.describe_seconds(seconds)


def bandwidth_text(bytes_per_second: float) -> str:
    """Return a rate in bytes/s as "393 GB/s"."""
    return _core.describe_bandwidth(bytes_per_second)


def gigabytes(bytes_per_second: float) -> str:
    """Return the number of GB/s (1e9 bytes/s), without the unit: "393", "55.1", "8.25"."""
    return bandwidth_text(bytes_per_second).removesuffix(" GB/s")


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
