"""What multi-path transfers gain on this computer's GPUs: what it found, and a few copies."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from polypath import reports
from polypath.cli.commands.bench import PLACES, check_verified, run_bench
from polypath.cli.machine_tables import bandwidth_table, places_table
from polypath.cli.output import Document
from polypath.cli.stand_in import stand_in_text
from polypath.cli.tables import WIDE, bench_table, heading, shares_text
from polypath.cli.units import size_text

MIB = 1 << 20
SIZES = [4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB]


@dataclass(frozen=True)
class Scene:
    """One operation between its default places, and how many GPUs it takes."""

    operation: str
    title: str
    gpus: int
    simulates: bool = True


SCENES = (
    Scene("put", "From GPU to GPU", 2),
    Scene("h2d", "From pinned host memory to a GPU", 1),
    Scene("d2h", "From a GPU to pinned host memory", 1),
    Scene("pageable", "From memory that is not pinned to a GPU", 1, simulates=False),
)


def show_gpus(console: Console, advice: str) -> None:
    """Show this computer, and copies between its memories next to native ones.

    The advice is one line on what would make plans better; empty where there is nothing to advise.
    """
    machine = reports.machine()
    gpus = sum(place["kind"] == "gpu" for place in machine["places"])
    heading(console, f"This computer: {machine['name']}, {gpus} GPU{'s' if gpus > 1 else ''}")
    for table in (places_table, bandwidth_table):
        console.print(table(machine))
        console.print()
    for line in (stand_in_text(), advice or _calibration_text()):
        if line:
            console.print(f"{line[:1].upper()}{line[1:]}", soft_wrap=True)
    scenes = [scene for scene in SCENES if scene.gpus <= gpus]
    results: list[Document] = []
    simulated = False  # if a machine file stands for the GPUs
    for scene in scenes:
        if scene.simulates or not simulated:
            bench = _play(console, scene)
            results += bench["results"]
            simulated = bench["host"]["simulated"]
    _conclude(console, results, _next_commands(scenes[0], advice))


def _calibration_text() -> str:
    """Return where the measured numbers are from."""
    kept = reports.calibration()
    return f"Calibrated; the numbers are from {kept['file']}" if kept else "Calibrated."


def _play(console: Console, scene: Scene) -> Document:
    """Measure and show one operation; return the measurement."""
    source, destination = PLACES[scene.operation]
    console.print()
    title = f"{scene.title}: {scene.operation} {source} -> {destination}"
    console.print(Rule(Text(title, style="bold"), align="left"))
    console.print()
    bench = run_bench(scene.operation, source, destination, SIZES)
    _show(console, bench["results"])
    check_verified(bench, wanted=True)
    return bench


def _show(console: Console, results: list[Document]) -> None:
    wide = console.width >= WIDE
    console.print(bench_table(results, wide))
    if not wide:
        last = results[-1]
        console.print(f"\nShares at {size_text(last['bytes'])}: {shares_text(last['paths'])}.")


def _conclude(console: Console, results: list[Document], commands: list[str]) -> None:
    checked = size_text(sum(result["bytes"] for result in results))
    console.print(f"\n{len(results)} transfers, {checked}: every byte verified.")
    if any(result["executor"] == "native" for result in results):
        console.print("What runs as native would gain nothing from other paths: it is one copy.")
    console.print("\nTry next:")
    console.print(Padding("\n".join(commands), (0, 2)))


def _next_commands(scene: Scene, advice: str) -> list[str]:
    source, destination = PLACES[scene.operation]
    return [
        *(["polypath calibrate"] if advice else []),
        "polypath info",
        f"polypath plan {source} {destination} 256M  # why each path is in or out",
        "polypath run -- python train.py  # your program, unchanged",
        "polypath weights  # a model's tensors, next to PyTorch's own copies",
        "polypath demo --simulated  # other machines",
    ]
