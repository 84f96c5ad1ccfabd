"""All-reduce among nodes of Mist (2021): with nodes in mind, and without."""

from __future__ import annotations

import math
from dataclasses import dataclass

from polypath.cli.papers.findings import MIB, TOLERANCE, Bench, Outcome, Row
from polypath.cli.papers.sources import INTERCONNECT

FASTER = (1.0, math.inf)
SLOWER = (0.0, 1.0)
COMPARABLE = (1 - TOLERANCE, 1 + TOLERANCE)
SIZE = 64 * MIB
MACHINE = "mist"


def run(bench: Bench) -> Outcome:
    """Reproduce what the paper says of two and four nodes at 64 MiB."""
    seconds = {
        (nodes, algorithm): bench.collective("allreduce", MACHINE, SIZE, algorithm, "one", nodes)
        for nodes in (2, 4)
        for algorithm in ("nodes", "flat", "knomial", "ring")
    }
    return Outcome(rows=[row(seconds, case) for case in CASES])


@dataclass(frozen=True)
class Case:
    """`nodes` against the algorithm that stands for a library."""

    nodes: int
    other: str
    library: str
    stated: str
    sentence: str
    between: tuple[float, float]  # where the library's time over ours is what the paper observed
    figure: float | None = None


FLAT = "Open MPI + UCX uses a flat algorithm across nodes: the paper's own reason."
MVAPICH = (
    "MVAPICH2-GDR is closed and its choice unknown; `knomial` over all ranks stands for it. Ours "
    "is pipelined over node and network, the paper's is not, as it says itself."
)
NCCL = (
    "The paper's design ends one step before it begins the next, NCCL does not; nor does ours. "
    "`ring` over all ranks stands for NCCL."
)
CASES = (
    Case(2, "flat", "Open MPI + UCX", "it is faster", FLAT, FASTER),
    Case(4, "flat", "Open MPI + UCX", "it is faster", FLAT, FASTER),
    Case(2, "knomial", "MVAPICH2-GDR", "1.18x", MVAPICH, FASTER, figure=1.18),
    Case(4, "knomial", "MVAPICH2-GDR", "it is comparable", MVAPICH, COMPARABLE),
    Case(2, "ring", "NCCL", "NCCL is faster", NCCL, SLOWER),
    Case(4, "ring", "NCCL", "NCCL is faster", NCCL, SLOWER),
)


def row(seconds: dict[tuple[int, str], float], case: Case) -> Row:
    """Return the row of a case, from the seconds by number of nodes and algorithm."""
    ratio = seconds[case.nodes, case.other] / seconds[case.nodes, "nodes"]
    return Row(
        (INTERCONNECT,),
        f"all-reduce of {case.nodes} nodes against {case.library}, 64M",
        MACHINE,
        case.stated,
        ratio,
        f"{ratio:.2f}x",
        case.sentence,
        f"polypath bench allreduce --machine {MACHINE} --nodes {case.nodes} --sizes 64M "
        f"--algorithms nodes,{case.other} --paths direct",
        paper=case.figure,
        holds=case.between[0] <= ratio <= case.between[1],
    )
