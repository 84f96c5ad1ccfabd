"""What unmodified programs gained on real GPUs, as Markdown, from the files of one folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figure_text import Document, as_called_now, size_text, table

FEWEST = 2  # a range wants several rounds


def read(folder: Path, name: str) -> Any:
    """Return one file of results."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def host_text(host: Document) -> str:
    """Return what it was measured on, and when."""
    return f"{host['gpus']} \u00d7 {host['gpu']}, driver {host['driver_version']}; {host['date']}"


def speedup_text(result: Document) -> str:
    """Return the median speed-up, and the range over the rounds where there are enough."""
    rounds = result.get("speedups", [])
    if len(rounds) < FEWEST:
        return f"{result['speedup']:.2f}"
    return f"{result['speedup']:.2f} ({min(rounds):.2f} to {max(rounds):.2f})"


def mpi_section(documents: list[Document]) -> str:
    """Return the MPI program with and without Polypath, a size per row."""
    head = ["operation", "window", "size", "without, GB/s", "with, GB/s", "speed-up (rounds)"]
    parts = []
    for document in documents:
        mpi = document["mpi"]
        said = (
            f"`{as_called_now(document['command'])}`: {mpi['library']}, UCX {mpi['ucx']}, "
            f"unmodified; the same program with and without Polypath in turn, every byte checked. "
            f"{host_text(document['host'])}."
        )
        parts.append(f"{said}\n\n{table(head, mpi_rows(document))}")
    return "\n\n".join(parts)


def mpi_rows(document: Document) -> list[list[str]]:
    """Return the messages of one run; refuse unverified ones."""
    if not all(r["verified"] and r["native_verified"] for r in document["results"]):
        raise SystemExit("mpi.json holds a result that is not verified")
    return [
        [
            f"`{r['operation']}`", str(r["window"]), size_text(r["bytes"]),
            f"{r['native_bytes_per_second'] / 1e9:.1f}", f"{r['bytes_per_second'] / 1e9:.1f}",
            speedup_text(r),
        ]
        for r in document["results"]
    ]  # fmt: skip


def timed_rows(document: Document, last: Callable[[Document], str]) -> list[list[str]]:
    """Return what was timed, its size, microseconds without and with, and a last column."""
    return [
        [
            f"`{r['operation']}`", size_text(r["bytes"]), f"{1e6 * r['native_seconds']:.2f}",
            f"{1e6 * r['seconds']:.2f}", last(r),
        ]
        for r in document["results"]
    ]  # fmt: skip


def perftest_section(document: Document) -> str:
    """Return UCX's own benchmark with and without Polypath."""
    rows = timed_rows(document, speedup_text)
    rounds = len(document["results"][0]["runs"])
    said = (
        f"`{document['command']}`, and the same without `polypath run`, FILE being the tests "
        f"and sizes: microseconds a message, "
        f"{document['program']}, medians of {rounds} runs each in turn (it checks no bytes). "
        f"{host_text(document['host'])}."
    )
    head = ["test", "size", "without", "with", "speed-up (rounds)"]
    return f"{said}\n\n{table(head, rows)}"


def calls_block(folder: Path) -> str:
    """Return how long calls keep the thread, natively and with Polypath, for docs/preload.md."""
    document = read(folder, "calls")
    rows = timed_rows(document, lambda r: f"{1e6 * r['added_seconds']:+.2f}")
    rounds = len(document["results"][0]["runs"])
    said = (
        f"`{document['command']}` (tests/api/preload/programs/calls.cc), and the same without: "
        f"microseconds that the calling thread is busy, medians of {rounds} runs each; added is "
        f"the median of the differences. {host_text(document['host'])}."
    )
    return f"{said}\n\n{table(['copy', 'size', 'without', 'with', 'added'], rows)}"


def coverage_block(folder: Path) -> str:
    """Return how much of programs' copies is accelerated, for docs/preload.md."""
    document = read(folder, "coverage")
    rows = [
        [
            r["name"], f"{r['large_bytes'] / 1e9:.1f}",
            f"{r['accelerated_large_bytes'] / max(r['large_bytes'], 1):.0%}",
            f"{1e3 * r['missed_seconds']:.1f}", r["left"][0]["text"] if r["left"] else "-",
            f"{r['native_seconds']:.2f}", f"{r['seconds']:.2f}",
        ]
        for r in document["results"]
    ]  # fmt: skip
    rounds = min(len(r["runs"]) for r in document["results"])
    said = (
        f"`scripts/program_coverage.py`, medians of {rounds} rounds in turn; whole programs, start "
        f"and end included. {host_text(document['host'])}."
    )
    head = ["program", "GB in copies of 2 MiB and more", "accelerated", "missed, ms", "mostly"]
    return f"{said}\n\n{table([*head, 'without, s', 'with, s'], rows)}"


def torch_block(folder: Path) -> str:
    """Return what stands between the measured markers of docs/pytorch.md."""
    document = read(folder, "torch")
    rows = [
        [
            r["operation"], size_text(r["bytes"]) if r["bytes"] else "",
            f"{1e3 * r['native_seconds']:.2f}", f"{1e3 * r['seconds']:.2f}", speedup_text(r),
        ]
        for r in document["results"]
    ]  # fmt: skip
    said = (
        f"`{document['command']}`, and the same without `polypath run`: {document['program']}. "
        f"{host_text(document['host'])}."
    )
    return (
        f"{said}\n\n{table(['what', 'size', 'without, ms', 'with, ms', 'speed-up (rounds)'], rows)}"
    )


def weight_programs_block(folder: Path) -> str:
    """Return what unmodified programs with weights gain, for docs/weights.md."""
    documents = read(folder, "torch_weights")
    rows = [
        [
            f"`{r['operation']}`", size_text(r["bytes"]), f"{1e3 * r['native_seconds']:.0f}",
            f"{1e3 * r['seconds']:.0f}", speedup_text(r), document["host"]["date"],
        ]
        for document in documents
        for r in document["results"]
    ]  # fmt: skip
    said = (
        f"`{documents[0]['command']}` and the same without: {documents[0]['program']}. `first` and "
        f"`later` are passes of one process. {host_text(documents[0]['host'])}, or as the row says."
    )
    head = ["what", "size", "without, ms", "with, ms", "speed-up", "date"]
    return f"{said}\n\n{table(head, rows)}"


def weight_judges_block(folder: Path) -> str:
    """Return what other libraries' loads and caches gain, for docs/weights.md."""
    document = read(folder, "weight_judges")
    rows = [
        [
            f"`{r['operation']}`", size_text(r["bytes"]), f"{1e3 * r['native_seconds']:.2f}",
            f"{1e3 * r['seconds']:.2f}", speedup_text(r),
        ]
        for r in document["results"]
        if "seconds" in r
    ]  # fmt: skip
    said = (
        f"`{document['command']}` and the same without. {document['program']}; "
        f"{host_text(document['host'])}."
    )
    return f"{said}\n\n{table(['what', 'size', 'without, ms', 'with, ms', 'speed-up'], rows)}"


def blocks_beside_batch_block(folder: Path) -> str:
    """Return what blocks gain before the driver's batch call, for docs/weights.md."""
    document = read(folder, "blocks_beside_batch")
    rows = [
        [
            f"{r['source']} to {r['destination']}", f"{r['blocks']} x {size_text(r['bytes'])}",
            f"{1e3 * r['native_seconds']:.2f}", f"{1e3 * r['seconds']:.2f}",
            f"{r['bytes_per_second'] / 1e9:.1f}", f"{r['speedup']:.2f}",
        ]
        for r in document["results"]
    ]  # fmt: skip
    said = f"`{document['commands'][0]}` and so on. {host_text(document['host'])}."
    head = ["from, to", "blocks", "batch call, ms", "Polypath, ms", "GB/s", "speed-up"]
    return f"{said}\n\n{table(head, rows)}"


def own_calls_block(folder: Path) -> str:
    """Return what Polypath's calls gain before PyTorch's, for docs/weights.md."""
    document = read(folder, "weights_and_blocks")
    if not all(r["verified"] for r in document["results"]):
        raise SystemExit("weights_and_blocks.json holds a result that is not verified")
    rows = [
        [
            r["way"], size_text(r["bytes"]), f"{1e3 * r['native_seconds']:.2f}",
            f"{1e3 * r['seconds']:.2f}", f"{r['bytes_per_second'] / 1e9:.1f}",
            f"{r['speedup']:.2f}",
        ]
        for r in document["results"]
    ]  # fmt: skip
    said = f"`{document['command']}`. {document['program']}; {host_text(document['host'])}."
    head = ["what", "size", "PyTorch, ms", "Polypath, ms", "GB/s", "speed-up"]
    return f"{said}\n\n{table(head, rows)}"


def mpi_block(folder: Path) -> str:
    """Return what stands between the measured markers of docs/mpi.md."""
    perftest = perftest_section(read(folder, "perftest"))
    return f"{mpi_section(read(folder, 'mpi'))}\n\n{perftest}"
