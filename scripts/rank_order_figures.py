"""What rank order costs an all-reduce, predicted on each machine, as Markdown."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from figure_text import size_text, table
from simulations import RESULTS, polypath

MACHINES = (
    "beluga", "cedar", "narval", "mist", "h200x4", "h200x8", "dgx-a100", "nop2p4", "pcie4",
)  # fmt: skip
SIZES = (64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20)
FILE = RESULTS / "plans" / "rank_order.json"
CLEARLY = 1.005  # rounds to more than 1.00


def simulate() -> None:
    """Predict the fastest algorithm in rank order, and in any, for each machine and size."""
    found = [
        {"machine": machine, "bytes": size, **fastest(machine, size)}
        for machine in MACHINES
        for size in SIZES
    ]
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def fastest(machine: str, size: int) -> dict[str, Any]:
    """Return the fastest algorithm in rank order, and in any order."""
    words = ("allreduce", str(size), "--machine", machine, "--paths", "direct")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        for name, option in (("in_rank_order", ()), ("in_any_order", ("--any-order",))):
            polypath("plan", *words, *option, "--json", str(path))
            best = json.loads(path.read_text(encoding="utf-8"))["algorithms"][0]
            found[name] = {key: best[key] for key in ("algorithm", "predicted_seconds")}
    return found


def rank_order_block() -> str:
    """Return the table: a machine per row, a size per column."""
    entries = json.loads(FILE.read_text(encoding="utf-8"))
    cells = {(each["machine"], each["bytes"]): cell(each) for each in entries}
    rows = [[f"`{machine}`", *(cells[machine, size] for size in SIZES)] for machine in MACHINES]
    return table(["machine", *map(size_text, SIZES)], rows)


def cell(entry: dict[str, Any]) -> str:
    """Return an algorithm and its time, and by how much one in any order is faster, if it is."""
    fixed, free = entry["in_rank_order"], entry["in_any_order"]
    text = f"{fixed['algorithm']} {1e6 * fixed['predicted_seconds']:.0f} us"
    gain = fixed["predicted_seconds"] / free["predicted_seconds"]
    return f"{text} ({gain:.2f}, {free['algorithm']})" if gain >= CLEARLY else text
