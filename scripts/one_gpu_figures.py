"""What one GPU gains by itself: copies of pageable memory on some machines, as Markdown.

Of each machine there are several rounds: pageable_h2d.json, pageable_h2d_2.json and so on.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from figure_text import Document, size_text, table
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
        f"**Measured** on {measured}; medians of each round, beside `{newest['native_call']}`; "
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
    return [f"{native / 1e9:.1f} GB/s", f"{ours / 1e9:.1f} GB/s", f"**{text}**"]


def programs_text(programs: Rounds) -> str:
    """Return a sentence on an unchanged program's copies: rates, and from when on."""
    measured = "; ".join(program_text(each) for each in programs)
    return (
        f"A PyTorch program that is not changed, which copies {size_text(programs[0]['bytes'])} of "
        f"such memory again and again, natively and under `polypath run`: {measured}. Until then "
        "Polypath prepares beside the native copies."
    )


def program_text(program: Document) -> str:
    """Return the rates on one machine, and how long after its first copy the program gained."""
    native = median(copy["bytes_per_second"] for copy in program["native"])
    fast = [[c for c in run if c["bytes_per_second"] > 2 * native] for run in program["polypath"]]
    rates = [median(copy["bytes_per_second"] for copy in run) / 1e9 for run in fast]
    begun = [run[0]["start_seconds"] for run in fast]
    gpu = program["host"]["gpu"].removeprefix("NVIDIA ").split()[0]
    ours = " to ".join(dict.fromkeys(f"{rate:.0f}" for rate in (min(rates), max(rates))))
    return (
        f"{gpu} {native / 1e9:.1f} and {ours} GB/s, from {max(begun):.2f} s after its first copy on"
    )
