#!/usr/bin/env python3
"""Writes the figures of the documentation into it, and measures the simulated ones.

scripts/figures.py           writes the tables of README.md and docs/performance.md, and docs/images
scripts/figures.py --run     first simulates everything anew with the installed `polypath`; minutes

What was measured on real GPUs is read from results/h200x4 (scripts/measure_gpus.py) and
results/h200x2 (scripts/measure_programs.py). Run it with
the Python beside which the package is installed: .venv/bin/python after `make package`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gpu_figures
import pictures
import program_figures
from figure_text import Document, factor, shares_text, size_text, table

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 120  # of a line of prose
RESULTS = ROOT / "results" / "simulated"
MEASURED = gpu_figures.Measurements(ROOT / "results" / "h200x4")
PROGRAMS = ROOT / "results" / "h200x2"

MACHINES = ("beluga", "narval", "mist", "cedar", "h200x4", "dgx-a100")
PLACES = {
    "put": ("gpu0", "gpu1"),
    "bibw": ("gpu0", "gpu1"),
    "h2d": ("host", "gpu0"),
    "d2h": ("gpu0", "host"),
}
SIZES = "2M,8M,32M,128M,512M"
PAPER_SIZES = "32M:512M"


@dataclass(frozen=True)
class Claim:
    """A speed-up that a paper states for one GPU-to-GPU put."""

    machine: str
    paths: str
    executor: str
    stated: str
    source: str

    @property
    def file(self) -> str:
        """The name of its measurement."""
        return f"{self.machine}-put-as-in-paper-{self.executor}"


ALL_PATHS, HOST_PATH = "direct,gpu2,gpu3,host", "direct,host"
CLAIMS = (
    Claim("beluga", ALL_PATHS, "stream", "2.85", "2024, 2026"),
    Claim("beluga", ALL_PATHS, "graph", "2.95", "2026"),
    Claim("narval", ALL_PATHS, "stream", "2.75", "2024, 2026"),
    Claim("narval", ALL_PATHS, "graph", "2.85", "2026"),
    Claim("mist", HOST_PATH, "stream", "1.67", "2021"),
    Claim("cedar", HOST_PATH, "stream", "1.18", "2021"),
)


def polypath(*arguments: str) -> None:
    """Run the command that is installed beside this Python."""
    command = Path(sys.executable).parent / "polypath"
    print("polypath", *arguments, flush=True)
    subprocess.run([str(command), *arguments], check=True, stdout=subprocess.DEVNULL)


def measure(file: str, operation: str, machine: str, *options: str) -> None:
    """Run one benchmark and keep its JSON, without what depends on the host it ran on."""
    path = RESULTS / f"{file}.json"
    polypath(
        "bench", operation, *PLACES[operation], "--machine", machine, *options, "--json", str(path)
    )
    document = json.loads(path.read_text(encoding="utf-8"))
    document["host"] = {"simulated": True}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def run() -> None:
    """Simulate everything that the documentation shows."""
    plans = RESULTS / "plans"
    plans.mkdir(parents=True, exist_ok=True)
    for machine in MACHINES:
        for operation in PLACES:
            measure(f"{machine}-{operation}", operation, machine, "--sizes", SIZES)
    for claim in CLAIMS:
        options = ("--sizes", PAPER_SIZES, "--paths", claim.paths, "--executor", claim.executor)
        measure(claim.file, "put", claim.machine, *options)
    polypath(
        "plan", "gpu0", "gpu1", "64M", "--machine", "beluga", "--executor", "stream",
        "--json", str(plans / "beluga-64M.json"),
    )  # fmt: skip


def results_of(file: str) -> list[Document]:
    """Return the results of one measurement; refuse unverified ones."""
    document = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))
    results: list[Document] = document["results"]
    if not all(result["verified"] for result in results):
        raise SystemExit(f"{file}.json holds a result that is not verified")
    return results


def summary_table() -> str:
    """Return the speed-ups of automatic plans at two sizes, a machine per row."""
    sizes = (32 << 20, 512 << 20)
    rows = []
    for machine in MACHINES:
        row = [f"`{machine}`"]
        for operation in PLACES:
            by_size = {result["bytes"]: result for result in results_of(f"{machine}-{operation}")}
            row.append(" / ".join(factor(by_size[size]) for size in sizes))
        rows.append(row)
    return table(["machine", *(f"`{operation}`" for operation in PLACES)], rows)


def claims_table() -> str:
    """Return the papers' stated speed-ups beside ours under the same paths."""
    rows = []
    for claim in CLAIMS:
        best = max(results_of(claim.file), key=lambda result: float(result["speedup"]))
        rows.append([
            f"`{claim.machine}`", claim.paths.replace(",", ", "), claim.executor, claim.stated,
            claim.source, f"{best['speedup']:.2f}", size_text(best["bytes"]),
        ])  # fmt: skip
    head = ["machine", "paths", "executor", "paper, measured", "paper", "ours, simulated", "at"]
    return table(head, rows)


def full_table(machine: str) -> str:
    """Return every automatic result of one machine."""
    rows = []
    for operation in PLACES:
        for result in results_of(f"{machine}-{operation}"):
            rows.append([
                f"`{operation}`", size_text(result["bytes"]),
                f"{result['native_bytes_per_second'] / 1e9:.1f}",
                f"{result['bytes_per_second'] / 1e9:.1f}", factor(result), result["executor"],
                shares_text(result),
            ])  # fmt: skip
    head = ["operation", "size", "native GB/s", "GB/s", "speed-up", "runs as", "shares"]
    return table(head, rows)


def readme_block() -> str:
    """Return what stands between the markers of README.md."""
    return f"""\
Simulated speed-up over one native copy, at 32 MiB / 512 MiB, as planned automatically, every byte
verified:

{summary_table()}

Beside the speed-ups that the papers state, under the paths that they used (the best of 32 to
512 MiB):

{claims_table()}"""


def performance_block() -> str:
    """Return what stands between the markers of docs/performance.md."""
    return "\n\n".join(f"#### {machine}\n\n{full_table(machine)}" for machine in MACHINES)


# What stands between which markers of which document.
BLOCKS: dict[tuple[str, str], Callable[[], str]] = {
    ("README.md", "measured"): lambda: gpu_figures.readme_block(MEASURED),
    ("README.md", "figures"): readme_block,
    ("docs/performance.md", "measured"): lambda: gpu_figures.performance_block(MEASURED),
    ("docs/performance.md", "figures"): performance_block,
    ("docs/mpi.md", "measured"): lambda: program_figures.mpi_block(PROGRAMS),
    ("docs/pytorch.md", "measured"): lambda: program_figures.torch_block(PROGRAMS),
    ("docs/preload.md", "measured"): lambda: program_figures.calls_block(PROGRAMS),
}


def with_block(text: str, block: str, marker: str = "figures") -> str:
    """Return a document with another text between its markers."""
    begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"the markers {begin} and {end} are missing")
    return f"{before}{begin}\n{wrapped(block)}\n{end}{after}"


def wrapped(block: str) -> str:
    """Return a block whose sentences fit into 120 columns; tables and pictures stay as they are."""
    return "\n".join(
        line
        if line.startswith(("|", "!", "<")) or len(line) <= COLUMNS
        else textwrap.fill(line, COLUMNS, break_long_words=False, break_on_hyphens=False)
        for line in block.split("\n")
    )


def render() -> None:
    """Write the tables into the documents, and draw the pictures."""
    for (name, marker), block in BLOCKS.items():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        path.write_text(with_block(text, block(), marker), encoding="utf-8")
    pictures.write()


def main() -> None:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--run", action="store_true", help="simulate everything anew first")
    if parser.parse_args().run:
        run()
    render()


if __name__ == "__main__":
    main()
