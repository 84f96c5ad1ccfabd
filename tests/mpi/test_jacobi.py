"""The solver of `polypath mpi`: halos between the GPUs of ranks, every element compared."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from stack import ENVIRONMENT, ROOT, Outcome, Stack

KIB, MIB = 1 << 10, 1 << 20
CHECKS, ITERATIONS = 2, 20  # compared before and after what is timed, each after so many
FEWER_ITERATIONS = {2 * MIB: 10, 16 * MIB: 4}  # of large grids, whose serial solution takes long
ROWS = 2
QUICK = ("--warm-up", "1", "--iterations", "2", "--rows", str(ROWS))


@pytest.fixture(scope="session")
def solver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The MPI program, compiled by Open MPI's own compiler command."""
    program = tmp_path_factory.mktemp("solver") / "polypath_mpi_bench"
    sources = sorted((ROOT / "programs/mpi_bench").glob("*.c"))
    compiler = ENVIRONMENT / "bin" / "mpicc"
    subprocess.run([compiler, "-std=c11", "-O3", "-o", program, *sources, "-ldl"], check=True)
    return program


def solve(
    stack: Stack,
    solver: Path,
    ranks: int,
    *sizes: int,
    **more: str,
) -> Outcome:
    outcome = stack.ranks(
        ranks,
        solver,
        "--operations",
        "jacobi",
        "--sizes",
        ",".join(map(str, sizes)),
        *QUICK,
        **more,
    )
    lines = [line for line in outcome.output.splitlines() if line.startswith("{")]
    results = [event for event in map(json.loads, lines) if event["event"] == "result"]
    assert outcome.status == 0, outcome.output + outcome.errors
    assert [result["bytes"] for result in results] == list(sizes)
    for result in results:
        assert result["verified"] is True and result["kernel"] == "host"
        iterations = FEWER_ITERATIONS.get(result["bytes"], ITERATIONS)
        assert result["verified_iterations"] == iterations
        assert result["compared_bytes"] == CHECKS * ranks * (ROWS + 2) * result["bytes"]
    assert outcome.violations() == []
    return outcome


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_rank_has_the_serial_solvers_rows(stack: Stack, solver: Path, ranks: int) -> None:
    outcome = solve(stack, solver, ranks, 16, 64 * KIB, 2 * MIB)

    # Those of 2 MiB go straight from GPU to GPU: one up and one down in each iteration.
    iterations = FEWER_ITERATIONS[2 * MIB]
    assert outcome.bytes_between_gpus() >= CHECKS * iterations * ranks * 2 * (2 * MIB)


def test_halos_go_over_several_paths_only_with_polypath(stack: Stack, solver: Path) -> None:
    outcome = solve(
        stack, solver, 2, 16 * MIB,
        POLYPATH_STATS="1", POLYPATH_MIN_GAIN="0", STANDIN_MACHINE="beluga",
    )  # fmt: skip

    if stack.launch.name == "plain":
        assert outcome.over_several_paths() == 0
    else:
        assert outcome.over_several_paths() >= CHECKS * FEWER_ITERATIONS[16 * MIB]
