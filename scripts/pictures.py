"""The pictures of the documentation: what each shows, how it is drawn, and whether it is current.

docs/images/sources.json holds, for every picture, a digest of the data that it was drawn from and
one of the file. A test compares both, so that no picture outlives its data; it compares no pixels.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import gpu_pictures
import matplotlib
from figure_text import Document
from gpu_figures import Measurements
from polypath import reports
from polypath.cli.plots import calibration, curves, machine, timeline

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SOURCES = IMAGES / "sources.json"
SIMULATED = ROOT / "results" / "simulated"
MEASURED = Measurements(ROOT / "results" / "h100x4")


@dataclass(frozen=True)
class Picture:
    """One file of docs/images."""

    name: str
    data: Callable[[], Document]  # all that is drawn; empty if it is not stored
    draw: Callable[[Document, str], bytes]

    def digest(self) -> str:
        """Return what changes with the data."""
        return digest_of(json.dumps(self.data(), sort_keys=True).encode())

    def render(self) -> bytes:
        """Return the file's content."""
        return self.draw(self.data(), Path(self.name).suffix[1:])


def stored(name: str) -> Callable[[], Document]:
    """Return what reads one file of the simulated results."""

    def read() -> Document:
        document: Document = json.loads((SIMULATED / name).read_text(encoding="utf-8"))
        return document

    return read


def zoo_machine(name: str) -> Callable[[], Document]:
    """Return what reads a machine that comes along."""

    def read() -> Document:
        document: Document = reports.machine(name)
        return document

    return read


PICTURES = (
    Picture("machine-h200x4.png", zoo_machine("h200x4"), machine.draw),
    Picture("plan-beluga.png", stored("plans/beluga-64M.json"), timeline.draw),
    Picture("bench-beluga.png", stored("beluga-put.json"), curves.draw),
    Picture(
        "measured-speedup.svg",
        lambda: gpu_pictures.speedup_data(MEASURED),
        gpu_pictures.draw_speedups,
    ),
    Picture(
        "measured-bandwidth.svg",
        lambda: gpu_pictures.bandwidth_data(MEASURED),
        gpu_pictures.draw_bandwidths,
    ),
    Picture(
        "calibrated.svg",
        lambda: gpu_pictures.calibration_data(MEASURED),
        calibration.draw,
    ),
)


def digest_of(content: bytes) -> str:
    """Return a digest of bytes, long enough that no two contents share one."""
    return hashlib.sha256(content).hexdigest()[:32]


def recorded() -> dict[str, dict[str, str]]:
    """Return both digests of every picture as they were when it was drawn."""
    found: dict[str, dict[str, str]] = json.loads(SOURCES.read_text(encoding="utf-8"))
    return found


def write() -> None:
    """Draw those pictures whose data are stored, and note what they were drawn from."""
    matplotlib.rc("svg", fonttype="none")  # text as text: a quarter of the size, and it can be read
    notes = {}
    for picture in PICTURES:
        if not picture.data():
            continue
        content = picture.render()
        (IMAGES / picture.name).write_bytes(content)
        notes[picture.name] = {"data": picture.digest(), "picture": digest_of(content)}
    SOURCES.write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")
