"""The figures of joint plans on simulated machines, as Markdown."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from figure_text import GAINS, Document, table
from simulations import RESULTS, measure, polypath, results_of

# What is planned: its words, the machine, and how `polypath plan` is told of it.
PLANNED = (
    ("ring of four, 256 MiB each", "beluga", ("ring", "256M")),
    ("gpu0 -> gpu1 and gpu2 -> gpu3, 256 MiB each", "beluga", ("gpu0:gpu1:256M", "gpu2:gpu3:256M")),
    ("the same both ways (`pairs`)", "beluga", ("pairs", "256M")),
    ("gpu0 -> gpu1 and gpu2, 256 MiB each", "beluga", ("fan-out", "256M", "--gpus", "3")),
    ("gpu0 <-> gpu1, 256 and 64 MiB", "beluga", ("gpu0:gpu1:256M", "gpu1:gpu0:64M")),
    ("ring of four, 16 MiB each", "beluga", ("ring", "16M")),
    ("ring of four, 256 MiB each", "narval", ("ring", "256M")),
    ("host -> gpu0 and gpu1, 64 MiB each", "h200x4", ("scatter", "64M", "--gpus", "2")),
)
ISSUERS = ("one-thread", "processes")
PLANS = RESULTS / "plans" / "joint.json"

# What is run: the patterns, by machine, at all sizes.
MACHINES = ("beluga", "narval", "mist", "h200x4", "dgx-a100")
PATTERNS = ("ring", "pairs", "fan-out", "gather", "scatter", "collect")
SIZES = (16 << 20, 256 << 20)


def simulate() -> None:
    """Plan and run all of it, and keep what came out."""
    plans = [_planned(*row) for row in PLANNED]
    PLANS.parent.mkdir(parents=True, exist_ok=True)
    PLANS.write_text(json.dumps(plans, indent=1) + "\n", encoding="utf-8")
    for machine in MACHINES:
        for pattern in PATTERNS:
            sizes = ",".join(str(size) for size in SIZES)
            measure(f"{machine}-{pattern}", pattern, machine, "--sizes", sizes)


def _planned(what: str, machine: str, words: tuple[str, ...]) -> Document:
    row: Document = {"what": what, "machine": machine, "plan": list(words), "gains": {}}
    with tempfile.TemporaryDirectory() as folder:
        for issuers in ISSUERS:
            path = Path(folder) / "plan.json"
            polypath(
                "plan", *words, "--machine", machine, "--issuers", issuers, "--json", str(path)
            )  # fmt: skip
            plan = json.loads(path.read_text(encoding="utf-8"))
            row["gains"][issuers] = plan["native_seconds"] / plan["predicted_seconds"]
            if issuers == "processes":  # native calls that wait for nobody, as the bound has none
                row["bound"] = plan["native_seconds"] / plan["flow_bound_seconds"]
    return row


def planned_table() -> str:
    """Return what joint plans are predicted to gain, and could at most."""
    rows = [
        [f"`{row['machine']}`", row["what"]]
        + [f"{row['gains'][issuers]:.2f}" for issuers in ISSUERS]
        + [f"{row['bound']:.2f}"]
        for row in json.loads(PLANS.read_text(encoding="utf-8"))
    ]
    return table(["machine", "transfers", "one thread issues", "each its own", "bound"], rows)


def _gain(speedup: float) -> str:
    return f"**{speedup:.2f}**" if speedup >= GAINS else f"{speedup:.2f}"


def together_block() -> str:
    """Return what the patterns gain when one thread asks for them together."""
    rows = []
    for machine in MACHINES:
        row = [f"`{machine}`"]
        for pattern in PATTERNS:
            by_size = {result["bytes"]: result for result in results_of(f"{machine}-{pattern}")}
            row.append(" / ".join(_gain(by_size[size]["speedup"]) for size in SIZES))
        rows.append(row)
    return table(["machine", *(f"`{pattern}`" for pattern in PATTERNS)], rows)
