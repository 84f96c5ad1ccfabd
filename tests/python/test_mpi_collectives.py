"""The MPI program's collectives: what is compared, what they take as their time, what is staged."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import polypath
from mpi_program import QUICK, run
from mpi_search import needs_mpi
from polypath.cli.mpi.request import COLLECTIVES

pytestmark = [needs_mpi, pytest.mark.usefixtures("mpi_on_the_path")]

# A few elements, not a multiple of the ranks, and more than a staging piece.
SIZES = (4, 1000, 65536 + 4, 1048576 + 12)
# Received by all ranks together, in sizes.
RECEIVED = {
    "allreduce": lambda ranks: ranks, "reduce": lambda _: 1, "reduce_scatter": lambda _: 1,
    "allgather": lambda ranks: ranks * ranks, "alltoall": lambda ranks: ranks * ranks,
    "bcast": lambda ranks: ranks - 1, "gather": lambda ranks: ranks,
    "scatter": lambda ranks: ranks,
}  # fmt: skip


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_element_that_is_received_is_compared(program: Path, ranks: int) -> None:
    ended = run(
        program, ranks, *QUICK, "--operations", ",".join(COLLECTIVES),
        "--sizes", ",".join(map(str, SIZES)),
    )  # fmt: skip

    assert ended.status == 0, ended.errors
    assert len(ended.results) == len(COLLECTIVES) * len(SIZES)
    for result in ended.results:
        received = RECEIVED[result["operation"]](ranks) * result["bytes"]
        assert result["compared_bytes"] == 3 * received, result
        assert result["verified"] is True and result["staged"] is False
        assert result["bytes_per_second"] * result["seconds"] == pytest.approx(result["bytes"])


@pytest.mark.parametrize("operation", ["allreduce", "bcast"])
@pytest.mark.parametrize("fault", ["flip sums", "lose sums"])
def test_a_wrong_element_is_found(program: Path, faults: Path, operation: str, fault: str) -> None:
    ended = run(
        program, 2, *QUICK, "--operations", operation, "--sizes", "64K",
        LD_PRELOAD=str(faults), FAULT=fault,
    )  # fmt: skip

    (result,) = ended.results
    assert ended.status == 1
    assert result["verified"] is False and result["wrong_bytes"] > 0
    assert any(f"{operation} of 65536 bytes" in line for line in ended.errors), ended.errors


def test_without_polypath_gpu_memory_is_staged() -> None:
    document = polypath(
        "mpi", "--driver", "stand-in", "--operations", "allgather,reduce_scatter",
        "--sizes", "4K,1M", "--json", "-",
    ).json()  # fmt: skip

    assert all(result["verified"] for result in document["results"])
    assert all(result["native_verified"] for result in document["results"])
    assert all(result["native_staged"] for result in document["results"])
