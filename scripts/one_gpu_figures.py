"""What one GPU gains by itself: copies of pageable memory on some machines, as Markdown.

Of each machine there are several rounds: pageable_h2d.json, pageable_h2d_2.json and so on.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from figure_text import GAINS, Document, size_text, table
from program_figures import host_text, read

SMALLEST = 4 << 20  # bytes; smaller copies are the driver's
Rounds = list[Document]


def one_gpu_block(folders: list[Path]) -> str:
    """Return the table of copies on each machine, and what a whole program saw there."""
    machines = [rounds_of(folder) for folder in folders]
    newest = machines[-1][-1]
    sizes = [each["bytes"] for each in newest["results"] if each["bytes"] >= SMALLEST]
    rows = [
        [size_text(size), *(cell for rounds in machines for cell in cells(rounds, size))]
        for size in sizes
    ]
    head = ["from memory that is not pinned"]
    for rounds in machines:
        gpu = rounds[0]["host"]["gpu"].removeprefix("NVIDIA ").split()[0]
        head += [f"{gpu}: native", "Polypath", "speed-up"]
    measured = "; ".join(host_text(rounds[-1]["host"]) for rounds in machines)
    programs = [read(folder, "pageable_program") for folder in folders]
    return (
        f"**Measured** on {measured}; medians of each round, against `{newest['native_call']}`; "
        f"`{newest['command']}`:\n\n{table(head, rows)}\n\n{programs_text(programs)}"
    )


def rounds_of(folder: Path) -> Rounds:
    """Return the rounds of one machine; refuse what is not verified."""
    rounds = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("pageable_h2d*.json"))
    ]
    for each in rounds:
        if not all(result["verified"] for result in each["results"]):
            raise SystemExit(f"{folder} holds a result of pageable_h2d that is not verified")
    return rounds


def cells(rounds: Rounds, size: int) -> list[str]:
    """Return one size on one machine: rates, and from where to where the speed-ups go."""
    found = [result for each in rounds for result in each["results"] if result["bytes"] == size]
    native = median(result["native_bytes_per_second"] for result in found)
    ours = median(result["bytes_per_second"] for result in found)
    speedups = sorted(result["speedup"] for result in found)
    text = f"{speedups[0]:.2f} to {speedups[-1]:.2f}" if len(found) > 1 else f"{speedups[0]:.2f}"
    gained = f"**{text}**" if speedups[0] >= GAINS else text
    return [f"{native / 1e9:.1f} GB/s", f"{ours / 1e9:.1f} GB/s", gained]


def programs_text(programs: Rounds) -> str:
    """Return a sentence on an unchanged program's copies: rates, and from when on."""
    measured = "; ".join(program_text(each) for each in programs)
    return (
        f"An unmodified PyTorch program copies {size_text(programs[0]['bytes'])} of such memory "
        f"again and again, natively and under `polypath run`, two runs: {measured}. Before the "
        "first fast copy Polypath prepares in the background, and copies are native. The slow "
        "ones after it were native copies, made to compare."
    )


def program_text(program: Document) -> str:
    """Return the rates on one machine, and how long after its first copy the program gained."""
    native = median(copy["bytes_per_second"] for copy in program["native"])
    begun = [first_fast(run, 2 * native) for run in program["polypath"]]
    later = [
        [copy["bytes_per_second"] / 1e9 for copy in run if copy["start_seconds"] >= start]
        for run, start in zip(program["polypath"], begun)
    ]
    rates = [median(run) for run in later]
    slow = sorted(rate for run in later for rate in run if rate <= 2 * native / 1e9)
    gpu = program["host"]["gpu"].removeprefix("NVIDIA ").split()[0]
    return (
        f"{gpu} {native / 1e9:.1f} and {range_text(rates, 0)} GB/s, the first fast copy "
        f"{max(begun):.2f} s after the first one, {slow_text(slow, sum(map(len, later)))}"
    )


def first_fast(run: list[Document], rate: float) -> float:
    """Return when the first copy at more than this rate began."""
    return float(next(c["start_seconds"] for c in run if c["bytes_per_second"] > rate))


def slow_text(slow: list[float], later: int) -> str:
    """Return how many of the later copies were as slow as natively."""
    if not slow:
        return f"all {later} later ones as fast"
    return f"{len(slow)} of {later} later ones at {range_text(slow, 1)} GB/s"


def range_text(values: list[float], digits: int) -> str:
    """Return the least and the greatest value, once if they read alike."""
    return " to ".join(dict.fromkeys(f"{v:.{digits}f}" for v in (min(values), max(values))))
