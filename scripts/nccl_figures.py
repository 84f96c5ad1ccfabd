"""What Polypath gains before NCCL, as Markdown, from results/MACHINE/nccl.json."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

from figure_text import Document, size_text, table
from program_figures import host_text, read

C_SIZES = [1 << power for power in (12, 18, 22, 26, 28, 30)]


def nccl_tests_block(folder: Path) -> str:
    """Return the programs of nccl-tests, a size per row."""
    document = read(folder, "nccl")
    rows = []
    for result in document["results"]:
        for row in result["times"]:
            found = re.fullmatch(r"\w+ \w+ out of place (\d+)", row["call"])
            if found:
                rows.append([f"`{result['program']}`", size_text(int(found[1])), *compared(row)])
    return block(document, ["program", "size"], rows)


def nccl_torch_block(folder: Path) -> str:
    """Return PyTorch's collectives, a kind and size per row."""
    document = read(folder, "nccl")
    times = {
        row["call"]: row
        for result in document["results"]
        for row in result["times"]
        if result["program"] == "torch"
    }
    rows = []
    for call, row in times.items():
        found = re.fullmatch(r"(\w+ \w+) eager (\d+)", call)
        if found:
            graph = compared(times[f"{found[1]} graph {found[2]}"])
            rows.append([f"`{found[1]}`", size_text(int(found[2])), *compared(row), *graph])
    heads = ["call", "size", *columns("eager")]
    return block(document, heads, rows, "graph: ")


def nccl_programs_block(folder: Path) -> str:
    """Return programs that print what a step takes."""
    document = read(folder, "nccl")
    rows = [
        [f"`{result['command']}`", *compared(row)]
        for result in document["results"]
        for row in result["times"]
        if row["call"] == "step"
    ]
    return block(document, ["program"], rows)


def one_thread_block(folder: Path) -> str:
    """Return what calls of one thread for two GPUs take, in all processes."""
    document = read(folder, "nccl_one_thread")
    rows = [
        [f"`{row['program']}`", size_text(row["bytes"]), spread(row["without_seconds"]),
         spread(row["with_seconds"])]
        for row in document["programs"]
    ]  # fmt: skip
    found = document["broadcast_seconds"]
    rows.append(
        ["`broadcast_perf -b 4096 -e 4096 -g 2 -c 0 -n 1000`", "4 KiB", spread(found["native"]),
         spread(found["ours"])]
    )  # fmt: skip
    heads = ["program", "size", "without, us: median (all)", "with"]
    return f"{host_text(document['host'])}; one lease.\n\n{table(heads, rows)}"


def spread(seconds: list[float]) -> str:
    """Return the median and the range in microseconds."""
    median, least, most = (
        1e6 * value for value in (statistics.median(seconds), min(seconds), max(seconds))
    )
    return f"{median:.1f} ({least:.1f} to {most:.1f})"


def c_block(folder: Path) -> str:
    """Return the collectives of the C interface."""
    document = read(folder, "c_collectives")
    if any(row["wrong"] for row in document["results"]):
        raise SystemExit("c_collectives.json holds wrong results")
    rows = [
        [
            f"`{row['function']}`",
            size_text(row["bytes"]),
            *(f"{1e6 * row[f'{way}_seconds']:.1f}" for way in ("function", "again", "nccl")),
        ]
        for row in document["results"]
        if row["bytes"] in C_SIZES
    ]
    heads = ["function", "bytes", "function, us", "`polypath_call_start`", "PyTorch's NCCL"]
    said = (
        "`scripts/c_collectives.py`: a call in a row of 20, medians of five rounds, no wrong "
        "result; the bytes are of the larger memory. Measured before addresses were looked at. "
        f"{host_text(document['host'])}; one lease."
    )
    return f"{said}\n\n{table(heads, rows)}"


def columns(before: str) -> list[str]:
    """Return what the columns of times are called."""
    return [f"{before}: without, us", "with", "gain (rounds)"]


def block(document: Document, heads: list[str], rows: list[list[str]], last: str = "") -> str:
    """Return a table below what was measured, where, and when."""
    if any(result["wrong"] for result in document["results"]):
        raise SystemExit("nccl.json holds wrong results")
    rounds = max(len(result["with_program_seconds"]) for result in document["results"])
    said = (
        f"`scripts/nccl_programs.py`, medians of {rounds} rounds in turn, no wrong result. "
        f"{host_text(document['host'])}."
    )
    more = [f"{last}{name}" for name in ("without, us", "with", "gain (rounds)")]
    return f"{said}\n\n{table([*heads, *more], rows)}"


def compared(row: Document) -> list[str]:
    """Return the medians of both in microseconds, and the gain with its range."""
    real, ours = row["without_seconds"], row["with_seconds"]
    gains = [without / beside for without, beside in zip(real, ours, strict=False)]
    gain = statistics.median(real) / statistics.median(ours)
    return [
        f"{1e6 * statistics.median(real):.1f}",
        f"{1e6 * statistics.median(ours):.1f}",
        f"{gain:.2f} ({min(gains):.2f} to {max(gains):.2f})",
    ]
