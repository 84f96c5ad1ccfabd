"""What multi-path transfers gain on several simulated machines."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from polypath import reports
from polypath.cli.commands.bench import check_verified, run_bench
from polypath.cli.commands.plan import show_plan
from polypath.cli.output import Document
from polypath.cli.tables import WIDE, bench_table, new_table
from polypath.cli.units import factor_text, gigabytes, size_text

MIB = 1 << 20
SIZES = [8 * MIB, 64 * MIB, 512 * MIB]
EXECUTORS = ("stream", "graph")


@dataclass(frozen=True)
class Scene:
    """One transfer on one machine, and what it shows."""

    machine: str
    operation: str
    source: str
    destination: str
    point: str


SCENES = (
    Scene("beluga", "put", "gpu0", "gpu1", "Direct links: the other GPUs carry a share each."),
    Scene("narval", "put", "gpu0", "gpu1", "Faster links; the host path is weak and adds little."),
    Scene("mist", "put", "gpu0", "gpu1", "The host link is as wide as the one to the peer."),
    Scene("h200x4", "put", "gpu0", "gpu1", "Behind a switch other GPUs share the port: only the "
          "host helps."),
    Scene("h200x4", "h2d", "host", "gpu0", "From the host, the PCIe links of the other GPUs help."),
)  # fmt: skip


def show_machines(console: Console, reason: str) -> None:
    """Play all scenes; the reason is a sentence on why they are simulated, or empty."""
    console.print(
        f"{reason}Each transfer runs on a simulated machine: the time is virtual, the bytes are "
        "real and all of them are compared."
    )
    summary = [(scene, _play(console, scene)) for scene in SCENES]
    _conclude(console, summary)


def _play(console: Console, scene: Scene) -> list[Document]:
    """Show one scene; return its measurements."""
    console.print()
    console.print(Rule(Text(f"{scene.machine}: {scene.point}", style="bold"), align="left"))
    console.print()
    ends = (scene.source, scene.destination)
    show_plan(console, reports.plan(*ends, SIZES[-1], machine=scene.machine))
    console.print()
    results = _measure(scene)
    console.print(bench_table(results, wide=console.width >= WIDE))
    return results


def _measure(scene: Scene) -> list[Document]:
    """Return the measurements of all sizes with both executors, size by size."""
    results: list[Document] = []
    for executor in EXECUTORS:
        bench = run_bench(
            scene.operation,
            scene.source,
            scene.destination,
            SIZES,
            machine=scene.machine,
            executor=executor,
        )
        check_verified(bench, wanted=True)
        results += bench["results"]
    return sorted(results, key=lambda result: result["bytes"])


def _conclude(console: Console, summary: list[tuple[Scene, list[Document]]]) -> None:
    console.print()
    console.print(Rule(Text("Summary", style="bold"), align="left"))
    console.print()
    console.print(_summary_table(summary))
    results = [result for _, measured in summary for result in measured]
    checked = size_text(sum(result["bytes"] for result in results))
    console.print(f"\n{len(results)} transfers, {checked}: every byte verified.")
    console.print("\nTry next:")
    console.print(Padding(_NEXT, (0, 2)))


def _summary_table(summary: list[tuple[Scene, list[Document]]]) -> Table:
    numbers = ("size", "native GB/s", "best GB/s", "speed-up")
    table = new_table("machine", "transfer", *numbers, "runs as", right=numbers)
    for scene, results in summary:
        best = max(results, key=lambda result: float(result["speedup"]))
        table.add_row(
            scene.machine,
            f"{scene.operation} {scene.source} -> {scene.destination}",
            size_text(best["bytes"]),
            gigabytes(best["native_bytes_per_second"]),
            gigabytes(best["bytes_per_second"]),
            Text(factor_text(best["speedup"]), style="bold green"),
            best["executor"],
        )
    return table


_NEXT = """\
polypath machines
polypath info --machine beluga --plot beluga.png
polypath plan gpu0 gpu1 64M --machine beluga --plot plan.png
polypath bench h2d --machine h200x4 --sizes 1M:1G --plot h2d.png
polypath bench put --machine h200x4 --paths direct,gpu2,gpu3  # slower
polypath trace gpu0 gpu1 64M --machine beluga --output trace.json"""
