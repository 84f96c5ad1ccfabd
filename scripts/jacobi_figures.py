"""Jacobi on real GPUs, as Markdown, from the file of one machine."""

from __future__ import annotations

import json
from pathlib import Path

from figure_text import Document, size_text, table
from program_figures import host_text
from simulations import RESULTS, measure

WAYS = ("stream", "graph", "program")
MACHINES = ("beluga", "narval", "h200x4")
OPTIONS = ("--sizes", "1M,16M,256M", "--paths", "two,auto")
COLUMNS = (("stream", "two"), ("graph", "two"), ("stream", "auto"), ("program", None))


def simulate() -> None:
    """Solve on simulated machines, and keep what came out."""
    (RESULTS / "jacobi").mkdir(exist_ok=True)
    for machine in MACHINES:
        measure(f"jacobi/{machine}", "jacobi", machine, *OPTIONS)


def simulated_block() -> str:
    """Return each way's ratio to native halos on simulated machines."""
    rows = [row for machine in MACHINES for row in simulated_rows(machine)]
    head = ["machine", "halo", "`stream`, two", "`graph`, two", "`stream`, auto", "`program`"]
    command = f"polypath bench jacobi --machine NAME {' '.join(OPTIONS)}"
    return f"`{command}`, 8 rows for each GPU, all four GPUs:\n\n{table(head, rows)}"


def simulated_rows(machine: str) -> list[list[str]]:
    """Return the rows of one machine, a halo each."""
    results = verified(RESULTS / "jacobi" / f"{machine}.json")["results"]
    ratios = {(r["bytes"], *way_of(r)): r["speedup"] for r in results}
    sizes = sorted({r["bytes"] for r in results})
    return [
        [f"`{machine}`", size_text(size), *(f"{ratios[(size, *column)]:.2f}" for column in COLUMNS)]
        for size in sizes
    ]


def way_of(result: Document) -> tuple[str, str | None]:
    """Return the executor, and by which paths unless it chooses them itself."""
    executor = result["executor"]
    return executor, None if executor == "program" else result["paths"]


def verified(path: Path) -> Document:
    """Return one file of results; refuse what is not verified."""
    document: Document = json.loads(path.read_text(encoding="utf-8"))
    if not all(each["verified"] for each in document["results"]):
        raise SystemExit(f"{path.name} holds a result that is not verified")
    return document


def jacobi_block(folder: Path) -> str:
    """Return each way's ratio to native halos, by the halo's size."""
    document = verified(folder / "jacobi.json")
    ratios = {(each["bytes"], each["executor"]): each["speedup"] for each in document["results"]}
    times = {each["bytes"]: each["native_seconds"] for each in document["results"]}
    rows = [
        [size_text(size), f"{seconds * 1e6:.1f} us", *(f"{ratios[size, way]:.2f}" for way in WAYS)]
        for size, seconds in times.items()
    ]
    head = ["halo", "native", *(f"`{way}`" for way in WAYS)]
    return f"{host_text(document['host'])}; `{document['command']}`:\n\n{table(head, rows)}"
