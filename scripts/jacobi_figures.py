"""Jacobi on real GPUs, as Markdown, from the file of one machine."""

from __future__ import annotations

import json
from pathlib import Path

from figure_text import size_text, table
from program_figures import host_text

WAYS = ("stream", "graph", "program")


def jacobi_block(folder: Path) -> str:
    """Return each way's ratio to native halos, by the halo's size."""
    document = json.loads((folder / "jacobi.json").read_text(encoding="utf-8"))
    if not all(each["verified"] for each in document["results"]):
        raise SystemExit("jacobi.json holds a result that is not verified")
    ratios = {(each["bytes"], each["executor"]): each["speedup"] for each in document["results"]}
    times = {each["bytes"]: each["native_seconds"] for each in document["results"]}
    rows = [
        [size_text(size), f"{seconds * 1e6:.1f} us", *(f"{ratios[size, way]:.2f}" for way in WAYS)]
        for size, seconds in times.items()
    ]
    head = ["halo", "native", *(f"`{way}`" for way in WAYS)]
    return f"{host_text(document['host'])}; `{document['command']}`:\n\n{table(head, rows)}"
