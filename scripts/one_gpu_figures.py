"""What one GPU gains by itself: copies of pageable memory, as Markdown, from one folder's files."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from figure_text import Document, factor, size_text, table
from program_figures import host_text, read

SMALLEST = 4 << 20  # bytes; smaller copies are the driver's


def one_gpu_block(folder: Path) -> str:
    """Return the table of copies, and what a whole program saw."""
    copies = read(folder, "pageable_h2d")
    if not all(result["verified"] for result in copies["results"]):
        raise SystemExit("pageable_h2d.json holds a result that is not verified")
    rows = [row(result) for result in copies["results"] if result["bytes"] >= SMALLEST]
    head = ["from memory that is not pinned", "native", "Polypath", "speed-up", "half of the runs"]
    return (
        f"**Measured** on {host_text(copies['host'])}; medians, beside "
        f"`{copies['native_call']}`; `{copies['command']}`:\n\n{table(head, rows)}\n\n"
        f"{program_text(read(folder, 'pageable_program'))}"
    )


def row(result: Document) -> list[str]:
    """Return one size: rates, speed-up, and where the middle half of the runs' speed-ups lies."""
    middle = result["spread"]["speedup"]
    return [
        size_text(result["bytes"]),
        f"{result['native_bytes_per_second'] / 1e9:.1f} GB/s",
        f"{result['bytes_per_second'] / 1e9:.1f} GB/s",
        factor(result),
        f"{middle['lower_quartile']:.2f} to {middle['upper_quartile']:.2f}",
    ]


def program_text(program: Document) -> str:
    """Return a sentence on an unchanged program's copies: their rates, and from when on."""
    native = median(copy["bytes_per_second"] for copy in program["native"])
    fast = [[c for c in run if c["bytes_per_second"] > 2 * native] for run in program["polypath"]]
    rates = [median(copy["bytes_per_second"] for copy in run) / 1e9 for run in fast]
    begun = [run[0]["start_seconds"] for run in fast]
    return (
        f"A PyTorch program that is not changed, which copies {size_text(program['bytes'])} of "
        f"such memory again and again: {native / 1e9:.1f} GB/s natively, {min(rates):.0f} to "
        f"{max(rates):.0f} GB/s under `polypath run`, from {max(begun):.2f} s after its first copy "
        f"on; until then Polypath prepares beside the native copies."
    )
