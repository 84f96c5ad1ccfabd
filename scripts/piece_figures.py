"""The figures of many small copies that are asked for together, as Markdown."""

from __future__ import annotations

import json

from figure_text import GAINS, Document, size_text, table
from simulations import RESULTS, measure, results_of

MACHINES = ("h200x4", "beluga", "dgx-a100")
WAYS = (("host", "gpu0"), ("gpu0", "host"), ("gpu0", "gpu1"))
SIZES = (4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)
PIECES = 512
MEASURED = RESULTS.parent / "h200x2" / "many.json"


def _file(machine: str, source: str, destination: str) -> str:
    return f"{machine}-many-{source}-{destination}"


def simulate() -> None:
    """Copy all of them on simulated machines, and keep what came out."""
    sizes = ",".join(str(size) for size in SIZES)
    for machine in MACHINES:
        for source, destination in WAYS:
            measure(_file(machine, source, destination), "many", machine, source, destination,
                    "--pieces", str(PIECES), "--sizes", sizes)  # fmt: skip


def _row(first: list[str], results: list[Document]) -> list[str]:
    speedups = {result["bytes"]: result["speedup"] for result in results}
    shown = [speedups[size] for size in SIZES]
    return first + [f"**{gain:.2f}**" if gain >= GAINS else f"{gain:.2f}" for gain in shown]


def many_block() -> str:
    """Return what they gain beside a loop of native copies, on GPUs and simulated."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))["results"]
    ways = [f"{source} -> {destination}" for source, destination in WAYS]
    rows = [_row(["2 x H200, measured", way], measured[way]) for way in ways]
    for machine in MACHINES:
        for way, ends in zip(ways, WAYS):
            rows.append(_row([f"`{machine}`, simulated", way], results_of(_file(machine, *ends))))
    sizes = [f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB" for size in SIZES]
    return table(["machine", "way", *sizes], rows)


def batches_block() -> str:
    """Return what batches of an unmodified program gain, a size per column."""
    document = json.loads(MEASURED.read_text(encoding="utf-8"))
    ratios = {(each["way"], each["bytes"]): each["ratio"] for each in document["batches"]}
    sizes = sorted({size for _, size in ratios})
    rows = [
        [way, *(f"{ratios[way, size]:.2f}" for size in sizes)]
        for way in dict.fromkeys(way for way, _ in ratios)
    ]
    return table(["512 blocks in one batch", *map(size_text, sizes)], rows)
