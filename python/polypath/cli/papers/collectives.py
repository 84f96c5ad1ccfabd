"""All-reduce and all-to-all: several paths against one (2025), algorithms and libraries (2021)."""

from __future__ import annotations

from dataclasses import dataclass

from polypath.cli.papers.findings import MIB, Bench, Outcome, Row
from polypath.cli.papers.rings import gain_of_all_links
from polypath.cli.papers.sources import INTERCONNECT, MODEL

GIB = 1 << 30


def run(bench: Bench) -> Outcome:
    """Reproduce the collectives."""
    outcome = Outcome()
    for machine in ("beluga", "narval"):
        for collective in STEPS:
            outcome.rows += [_several_paths(bench, machine, collective)]
            outcome.rows += [_by_the_mpi_layer(bench, machine, collective)]
    outcome.rows += [_compare(bench, case) for case in CASES]
    for size, figure in ((64 * MIB, 14.33), (GIB, 15.63)):
        outcome.rows.append(_against_open_mpi(bench, size, figure))
    return outcome


@dataclass(frozen=True)
class Case:
    """One algorithm against another one, or against the one that stands for a library."""

    machine: str
    size: int
    ours: str
    other: str
    library: str
    figure: float
    sentence: str


NCCL = (
    "NCCL is no algorithm of ours: `ring` over one path stands for it, by copies instead of "
    "kernels, and as much faster as rings over all direct links together are ({gain:.2f} times "
    "here), of which no latency or kernel is told: NCCL's own are slower."
)
CASES = (
    Case("cedar", 64 * MIB, "flat", "hierarchical", "", 2.77,
         "Both are programs here; the paper's hierarchical one is not pipelined over the links "
         "that it leaves idle."),
    Case("cedar", 64 * MIB, "flat", "ring", "NCCL", 1.06, NCCL),
    Case("mist", 64 * MIB, "hierarchical", "ring", "NCCL", 1.25, NCCL),
    Case("mist", GIB, "hierarchical", "ring", "NCCL", 1.38, NCCL),
)  # fmt: skip


def _size(size: int) -> str:
    return "1G" if size == GIB else f"{size // MIB}M"


def _compare(bench: Bench, case: Case) -> Row:
    ours, other = (
        bench.collective("allreduce", case.machine, case.size, algorithm, "one")
        for algorithm in (case.ours, case.other)
    )
    gain = gain_of_all_links(case.machine) if case.library == "NCCL" else 1.0
    other /= gain
    return Row(
        (INTERCONNECT,),
        f"{case.ours} all-reduce against {case.library or case.other}, {_size(case.size)}",
        case.machine,
        f"{case.figure}x",
        other / ours,
        f"{other / ours:.2f}x",
        case.sentence.format(gain=gain),
        f"polypath bench allreduce --machine {case.machine} --sizes {_size(case.size)} "
        f"--algorithms {case.ours},{case.other} --paths direct",
        paper=case.figure,
    )


# Of 64 MiB per rank, one step after another as MPI libraries run them: the pattern of each step's
# messages, and how large they are. Scatter-reduce and all-gather halve and double; Bruck's steps
# move half of the message, to the next rank and to the one after it.
STEPS = {
    "allreduce (k-nomial to the base 2)": (
        ("pairs", 32), ("pairs", 16), ("pairs", 16), ("pairs", 32),
    ),
    "alltoall (Bruck)": (("ring", 32), ("pairs", 32)),
}  # fmt: skip


# Of float32 on four ranks, in memory of the host, by Open MPI 5.0.11: medians of three rounds on
# the processors of an H200 server (results/h200x1/mpi_host_allreduce.json).
OPEN_MPI_ON_HOST_SECONDS = {64 * MIB: 0.0682, GIB: 0.959}


def _steps(bench: Bench, machine: str, collective: str) -> tuple[float, float]:
    """Return the seconds of an MPI's steps over one path, and over several."""
    results = [bench.copies(pattern, machine, [n * MIB])[0] for pattern, n in STEPS[collective]]
    native = sum(result["seconds"] * result["speedup"] for result in results)
    return native, sum(result["seconds"] for result in results)


def _by_the_mpi_layer(bench: Bench, machine: str, collective: str) -> Row:
    name, algorithm = collective.rstrip(")").split(" (")
    ours = bench.collective(name, machine, 64 * MIB, "auto", "auto")
    gain = _steps(bench, machine, collective)[0] / ours
    return Row(
        (MODEL,),
        f"MPI_{name.capitalize()} under Polypath against one path ({algorithm}), 64M",
        machine,
        "up to 1.4x",
        gain,
        f"{gain:.2f}x",
        "What a preloaded MPI program gets: the ranks' own algorithm with all its pieces under way "
        "at once, reductions included, where the paper keeps MPI's steps and speeds up each.",
        f"polypath bench {name} --machine {machine} --sizes 64M",
        paper=1.4,
    )


def _several_paths(bench: Bench, machine: str, collective: str) -> Row:
    native, several = _steps(bench, machine, collective)
    return Row(
        (MODEL,),
        f"{collective}, several paths against one, 64M",
        machine,
        "up to 1.4x",
        native / several,
        f"{native / several:.2f}x",
        "The steps' messages one step after another, as MPI libraries send them; reductions, "
        "which take the same with both, are left out. Our own algorithms have pieces of all steps "
        "under way at once and use all links over one path already.",
        f"polypath bench pairs --machine {machine} --sizes 16M,32M",
        paper=1.4,
    )


def _against_open_mpi(bench: Bench, size: int, figure: float) -> Row:
    ours = bench.collective("allreduce", "mist", size, "hierarchical", "one")
    host = OPEN_MPI_ON_HOST_SECONDS[size] + sum(
        bench.copies(pattern, "mist", [size], executor="native")[0]["seconds"]
        for pattern in ("collect", "scatter")
    )
    return Row(
        (INTERCONNECT,),
        f"hierarchical all-reduce against Open MPI + UCX, {_size(size)}",
        "mist",
        f"{figure}x",
        host / ours,
        f"{host / ours:.2f}x",
        "Open MPI reduces on the CPU. Its copies to the host and back are simulated, all GPUs at "
        "once. Nearly all of its time is its all-reduce in the host's memory, which was measured "
        "on processors of another kind than Mist's.",
        f"polypath bench collect --machine mist --sizes {_size(size)} --executor native",
        paper=figure,
    )
