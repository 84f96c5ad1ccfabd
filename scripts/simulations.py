"""Benchmarks on simulated machines: run by the installed `polypath`, kept in results/simulated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from figure_text import Document

RESULTS = Path(__file__).resolve().parents[1] / "results" / "simulated"
PLACES = {
    "put": ("gpu0", "gpu1"),
    "bibw": ("gpu0", "gpu1"),
    "h2d": ("host", "gpu0"),
    "d2h": ("gpu0", "host"),
}


def polypath(*arguments: str) -> None:
    """Run the command that is installed beside this Python."""
    command = Path(sys.executable).parent / "polypath"
    print("polypath", *arguments, flush=True)
    subprocess.run([str(command), *arguments], check=True, stdout=subprocess.DEVNULL)


def measure(file: str, operation: str, machine: str, *options: str) -> None:
    """Run one benchmark and keep its JSON, without what depends on the host it ran on."""
    path = RESULTS / f"{file}.json"
    places = PLACES.get(operation, ())  # a pattern has its own
    polypath("bench", operation, *places, "--machine", machine, *options, "--json", str(path))
    document = json.loads(path.read_text(encoding="utf-8"))
    document["host"] = {"simulated": True}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def results_of(file: str) -> list[Document]:
    """Return the results of one measurement; refuse unverified ones."""
    document = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))
    results: list[Document] = document["results"]
    if not all(result["verified"] for result in results):
        raise SystemExit(f"{file}.json holds a result that is not verified")
    return results
