#!/usr/bin/env python3
"""Writes the figures of the documentation into it, and measures the simulated ones.

scripts/figures.py           writes the tables of README.md and of docs, and docs/images
scripts/figures.py --run     first simulates everything anew with the installed `polypath`; minutes

What was measured on real GPUs is read from the folders of results that are named after them: by
scripts/measure_gpus.py, scripts/measure_programs.py, scripts/collective_rivals.py and
scripts/weights_at_once.py. Run it with the Python beside which the package is installed:
.venv/bin/python after `make package`.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from pathlib import Path

import at_once_figures
import bound_figures
import collective_figures
import collective_simulations
import gpu_figures
import jacobi_figures
import joint_figures
import mpi_collective_figures
import nccl_figures
import one_gpu_figures
import pictures
import piece_figures
import program_figures
import rank_order_figures
import readme_figures
import simulated_figures
import version_figures
from paper import claims, pages

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 120  # of a line of prose
MEASURED = gpu_figures.Measurements(ROOT / "results" / "h200x4")
TWO = gpu_figures.Measurements(ROOT / "results" / "h200x2")
ONE_GPU = [ROOT / "results" / name for name in ("h200x1", "h100x1")]
PROGRAMS = ROOT / "results" / "h200x2"
OTHER_PROGRAMS = ROOT / "results" / "h100x2"
FOUR_H100 = ROOT / "results" / "h100x4"
FOUR_H200 = ROOT / "results" / "h200x4"
NEWEST = gpu_figures.Measurements(FOUR_H100)


def simulated_block() -> str:
    """Return what automatic plans gain on simulated machines, in a table."""
    return f"""\
Simulated speed-up over one native copy, at 32 MiB / 512 MiB, as planned automatically, every byte
verified:

{simulated_figures.summary_table()}"""


def claims_block() -> str:
    """Return the papers' speed-ups and ours, in a table."""
    return f"""\
The speed-ups that the papers state and ours, over the same paths (the best of 32 to 512 MiB):

{claims.claims_table()}"""


# What stands between which markers of which document.
BLOCKS: dict[tuple[str, str], Callable[[], str]] = {
    ("README.md", "measured"): lambda: readme_figures.readme_table(FOUR_H100, ONE_GPU),
    ("docs/performance.md", "one"): lambda: one_gpu_figures.one_gpu_block(ONE_GPU),
    ("docs/performance.md", "summary"): simulated_block,
    ("docs/papers/README.md", "claims"): claims_block,
    ("docs/performance.md", "two"): lambda: gpu_figures.summary_block(TWO),
    ("docs/performance.md", "four"): lambda: gpu_figures.summary_block(NEWEST),
    ("docs/performance.md", "at once"): lambda: at_once_figures.at_once_block(FOUR_H100),
    ("docs/performance.md", "measured"): lambda: gpu_figures.performance_block(MEASURED),
    ("docs/performance.md", "figures"): simulated_figures.performance_block,
    ("docs/performance.md", "together"): joint_figures.together_block,
    ("docs/performance.md", "many"): piece_figures.many_block,
    ("docs/performance.md", "batches"): piece_figures.batches_block,
    ("docs/model.md", "joint"): joint_figures.planned_table,
    ("docs/collectives_figures.md", "algorithms"): collective_simulations.algorithms_block,
    ("docs/collectives_figures.md", "pieces"): collective_simulations.pieces_block,
    ("docs/collectives_design.md", "nodes"): collective_simulations.nodes_block,
    ("docs/collectives_design.md", "order"): collective_simulations.order_block,
    ("docs/collectives_design.md", "rank order"): rank_order_figures.rank_order_block,
    ("docs/testing.md", "bounds"): bound_figures.bounds_block,
    ("docs/testing.md", "sets"): bound_figures.sets_block,
    ("docs/collectives.md", "nccl"): lambda: collective_figures.guide_block(
        [PROGRAMS / "collectives.json", FOUR_H100 / "collectives_chosen.json"]
    ),
    ("docs/collectives_figures.md", "measured"): lambda: collective_figures.collectives_block(
        PROGRAMS
    ),
    ("docs/collectives_figures.md", "h100"): lambda: collective_figures.collectives_block(
        OTHER_PROGRAMS, "allreduce float32 sum"
    ),
    ("docs/collectives_figures.md", "unreached"): lambda: collective_figures.collectives_block(
        PROGRAMS, name="collectives_without_peer_access.json"
    ),
    ("docs/collectives_figures.md", "product"): lambda: collective_figures.product_block(PROGRAMS),
    ("docs/collectives_figures.md", "four"): lambda: collective_figures.collectives_block(
        FOUR_H100
    ),
    ("docs/collectives_figures.md", "four chosen"): lambda: collective_figures.collectives_block(
        FOUR_H100, name="collectives_chosen.json"
    ),
    ("docs/collectives_figures.md", "product of four"): lambda: collective_figures.product_block(
        FOUR_H100
    ),
    ("docs/collectives_figures.md", "four h200"): lambda: collective_figures.collectives_block(
        FOUR_H200
    ),
    ("docs/collectives_figures.md", "four h200 128"): lambda: collective_figures.collectives_block(
        FOUR_H200, name="collectives_128.json"
    ),
    ("docs/collectives_figures.md", "product of four h200"): lambda: (
        collective_figures.product_block(FOUR_H200)
    ),
    ("docs/collectives_figures.md", "product of four h200 128"): lambda: (
        collective_figures.product_block(FOUR_H200, "beside_product_128.json")
    ),
    ("docs/jacobi.md", "simulated"): jacobi_figures.simulated_block,
    ("docs/jacobi.md", "measured"): lambda: jacobi_figures.jacobi_block(PROGRAMS),
    ("docs/jacobi.md", "four"): lambda: jacobi_figures.jacobi_block(FOUR_H100),
    ("docs/mpi.md", "measured"): lambda: program_figures.mpi_block(PROGRAMS),
    ("docs/pytorch.md", "measured"): lambda: program_figures.torch_block(PROGRAMS),
    ("docs/pytorch.md", "four"): lambda: program_figures.torch_block(FOUR_H100),
    ("docs/mpi_collectives.md", "measured"): lambda: mpi_collective_figures.mpi_collectives_block(
        PROGRAMS
    ),
    ("docs/nccl.md", "nccl-tests"): lambda: nccl_figures.nccl_tests_block(PROGRAMS),
    ("docs/nccl.md", "torch"): lambda: nccl_figures.nccl_torch_block(PROGRAMS),
    ("docs/nccl.md", "programs"): lambda: nccl_figures.nccl_programs_block(PROGRAMS),
    ("docs/nccl.md", "one thread"): lambda: nccl_figures.one_thread_block(PROGRAMS),
    ("docs/cluster.md", "versions"): lambda: version_figures.versions_block(
        ROOT / "results", ROOT / "requirements"
    ),
    ("docs/c.md", "collectives"): lambda: nccl_figures.c_block(PROGRAMS),
    ("docs/papers/README.md", "papers"): pages.citations,
    ("docs/papers/2021-interconnect.md", "rows"): lambda: pages.rows_of("2021"),
    ("docs/papers/2024-framework.md", "rows"): lambda: pages.rows_of("2024"),
    ("docs/papers/2025-model.md", "rows"): lambda: pages.rows_of("2025"),
    ("docs/papers/2026-graphs.md", "rows"): lambda: pages.rows_of("2026"),
    ("docs/preload.md", "measured"): lambda: program_figures.calls_block(PROGRAMS),
    ("docs/weights.md", "programs"): lambda: program_figures.weight_programs_block(PROGRAMS),
    ("docs/weights.md", "judges"): lambda: program_figures.weight_judges_block(PROGRAMS),
    ("docs/weights.md", "calls"): lambda: program_figures.own_calls_block(PROGRAMS),
    ("docs/weights.md", "batch"): lambda: program_figures.blocks_beside_batch_block(PROGRAMS),
    ("docs/preload.md", "coverage"): lambda: program_figures.coverage_block(PROGRAMS),
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
        simulated_figures.simulate()
        jacobi_figures.simulate()
        joint_figures.simulate()
        piece_figures.simulate()
        rank_order_figures.simulate()
        collective_simulations.simulate()
        claims.simulate()
        pages.simulate()
    render()


if __name__ == "__main__":
    main()
