"""The Jacobi solver of 2024 and 2026: halos over one path and over several, and as one graph.

What they ran, as far as their texts say: 8 GiB on four GPUs with halos of 256 MiB, so 8 rows of
256 MiB for each GPU; a ring of MPI ranks that send up and then down; no path through the host.
"""

from __future__ import annotations

from dataclasses import dataclass

from polypath.cli.papers.findings import MIB, Bench, Curve, Outcome, Plot, Row
from polypath.cli.papers.sources import FRAMEWORK, GRAPHS, Paper

LARGEST = 256 * MIB
SIZES = tuple(size * MIB for size in (2, 8, 32, 256))
# Assumed: what 8 rows would use of blocks of 32 x 32 threads. The papers do not say.
QUARTER = 0.25


@dataclass(frozen=True)
class Case:
    """A figure of the papers."""

    machine: str
    executor: str
    paths: str
    figure: float
    papers: tuple[Paper, ...]


CASES = (
    Case("beluga", "stream", "two", 1.26, (FRAMEWORK, GRAPHS)),
    Case("beluga", "stream", "three", 1.20, (FRAMEWORK, GRAPHS)),
    Case("narval", "stream", "two", 1.15, (FRAMEWORK, GRAPHS)),
    Case("narval", "stream", "three", 1.08, (FRAMEWORK, GRAPHS)),
    Case("beluga", "graph", "two", 1.28, (GRAPHS,)),
    Case("narval", "graph", "two", 1.16, (GRAPHS,)),
)


def run(bench: Bench) -> Outcome:
    """Reproduce the gains of the solver, and show what a whole iteration as one graph gains."""
    outcome = Outcome(rows=[_row(bench, case) for case in CASES])
    for machine in ("beluga", "narval"):
        outcome.rows.append(_whole_iterations(bench, machine))
        outcome.plots.append(_plot(bench, machine))
    return outcome


def _command(machine: str, executor: str, paths: str) -> str:
    words = f"--machine {machine} --sizes 256M --executor {executor} --paths {paths}"
    return f"polypath bench jacobi {words} --no-verify"


def _row(bench: Bench, case: Case) -> Row:
    full = bench.jacobi(case.machine, LARGEST, case.executor, case.paths)
    slow = bench.jacobi(case.machine, LARGEST, case.executor, case.paths, QUARTER)
    automatic = bench.jacobi(case.machine, LARGEST, "stream")
    share = full["kernel_seconds"] / full["native_seconds"]
    return Row(
        case.papers,
        f"Jacobi, {case.paths} paths per halo of 256 MiB, {case.executor}s",
        case.machine,
        f"up to {case.figure}x",
        full["speedup"],
        f"{full['speedup']:.2f}x",
        f"How much of an iteration halos are, is the kernel's matter: at its memory's nominal "
        f"bandwidth it is {share:.0%} of the native one. With a quarter of that "
        f"(--kernel-efficiency 0.25), assumed here, the gain is "
        f"{slow['speedup']:.2f}x. One thread makes all calls here, the papers have a process per "
        f"GPU. The automatic plan gains {automatic['speedup']:.2f}x.",
        _command(case.machine, case.executor, case.paths),
        paper=case.figure,
    )


def _whole_iterations(bench: Bench, machine: str) -> Row:
    program = bench.jacobi(machine, LARGEST, "program")
    graph = bench.jacobi(machine, LARGEST, "graph", "two")
    return Row(
        (GRAPHS,),
        "Jacobi, kernels and halos of all GPUs in one graph: more than graphs of halos alone",
        machine,
        "named as the next step",
        None,
        f"{program['speedup']:.2f}x, halos alone {graph['speedup']:.2f}x",
        "Both ways go at the same time, and while the rows are made that no neighbour waits for.",
        _command(machine, "program", "auto"),
        holds=program["speedup"] > graph["speedup"],
    )


def _plot(bench: Bench, machine: str) -> Plot:
    kinds = (("stream", "two"), ("graph", "two"), ("stream", "auto"), ("program", "auto"))
    return Plot(
        f"Jacobi on {machine}: speed-up over native halos",
        "speed-up",
        tuple(_curve(bench, machine, executor, paths) for executor, paths in kinds),
    )


def _curve(bench: Bench, machine: str, executor: str, paths: str) -> Curve:
    name = executor if executor == "program" else f"{executor}, paths {paths}"
    speedups = (bench.jacobi(machine, size, executor, paths)["speedup"] for size in SIZES)
    return Curve(name, tuple((size, round(gain, 4)) for size, gain in zip(SIZES, speedups)))
