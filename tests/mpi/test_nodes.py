"""Collectives of unmodified MPI programs on memory of GPUs, of ranks on several nodes.

The nodes are parts of one computer, which POLYPATH_NODE tells apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from stack import Library, Outcome

SOURCES = Path(__file__).parent / "program"
OURS = (
    *("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "bcast", "allgather"),
    *("allgatherv", "gather", "gatherv", "scatter", "scatterv", "alltoall", "alltoallv"),
)
IN_ORDER = ("gather", "gatherv", "scatter", "scatterv", "alltoall", "alltoallv")
RANK = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
ONE_FAILS = f'test "{RANK}" != 1 || export STANDIN_FAIL=cuEventQuery:40-; exec "$@"'
ONE_GPU_FAILS = ("sh", "-c", ONE_FAILS, "sh")
SECONDS = "6"  # until a rank that has stopped is an error
THREADS = {"POLYPATH_MPI_THREADS": "1"}
# Calls that block, and calls that do not: what the program is told, and how its MPI is.
FORMS = pytest.mark.parametrize(
    "begun", [(), ("begun",)], ids=lambda begun: "begun" if begun else "blocking"
)


@dataclass(frozen=True)
class Nodes:
    """How an MPI's ranks are put on nodes: the node's number is a term of the shell."""

    library: Library
    preload: str
    machine: str = "h200x8"

    def ranks(
        self, count: int, node: str, *command: str | Path, behind: str = "", **more: str
    ) -> Outcome:
        """Run a program as ranks of several nodes."""
        own = f'export POLYPATH_NODE=node$(({node.replace("RANK", RANK)})); exec "$@"'
        preload = f"{self.preload}:{behind}" if behind else self.preload
        return self.library.ranks(
            count, "sh", "-c", own, "sh", *command,
            LD_PRELOAD=preload, STANDIN_MACHINE=self.machine, POLYPATH_STATS="1",
            **{"POLYPATH_MPI_NODES": "1", **more},
        )  # fmt: skip

    def pairs(self, *command: str | Path, behind: str = "", **more: str) -> Outcome:
        """Run a program on two nodes: by two ranks on each, if ranks may share processors."""
        count, node = (4, "RANK / 2") if self.shares_processors else (2, "RANK")
        return self.ranks(count, node, *command, behind=behind, **more)

    @property
    def shares_processors(self) -> bool:
        """Ranks of MPICH wait for each other's processors."""
        return self.library.name == "openmpi"

    def need_many(self) -> None:
        if not self.shares_processors:
            pytest.skip("so many ranks of MPICH wait for each other's processors")


@pytest.fixture(scope="session")
def nodes(library: Library, preload: str) -> Nodes:
    return Nodes(library, preload)


@pytest.fixture(scope="session")
def collectives(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random calls, compiled for this MPI."""
    program = tmp_path_factory.mktemp("collectives") / "collectives"
    return library.compile(program, SOURCES / "collectives.c", SOURCES / "memory.c")


@pytest.fixture(scope="session")
def sums(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("nodes") / "nodes"
    return library.compile(program, SOURCES / "nodes.c", SOURCES / "memory.c")


@pytest.fixture(scope="session")
def tool(library: Library, tmp_path_factory: pytest.TempPathFactory) -> str:
    built = tmp_path_factory.mktemp("tool") / "libstopping.so"
    return str(library.compile(built, "-shared", "-fPIC", SOURCES / "stopping_mpi.c"))


def assert_right(outcome: Outcome, *words: str) -> None:
    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", *words], outcome.output + outcome.errors
    assert outcome.violations() == []


@pytest.mark.parametrize("memory", ["device", "mixed", "sides", "host"])
@pytest.mark.parametrize(
    ("ranks", "of_node", "calls"), [(2, 1, 60), (3, 1, 60), (4, 2, 60), (8, 4, 20)]
)
def test_every_byte_is_right(
    nodes: Nodes, collectives: Path, memory: str, ranks: int, of_node: int, calls: int
) -> None:
    if ranks > 2:
        nodes.need_many()

    outcome = nodes.ranks(ranks, f"RANK / {of_node}", collectives, str(ranks), str(calls), memory)

    assert_right(outcome, str(calls))


def test_all_operations_are_of_polypath(nodes: Nodes, collectives: Path) -> None:
    outcome = nodes.pairs(collectives, "5", "250", "device")

    assert_right(outcome, "250")
    for operation in OURS:
        assert outcome.mpi_calls(operation, "Polypath") > 0, operation + outcome.errors


def test_large_calls_are_right(nodes: Nodes, collectives: Path) -> None:
    outcome = nodes.pairs(collectives, "11", "40", "device", "400000")

    assert_right(outcome, "40")


@pytest.mark.parametrize("threads", ["0", "1"])
@pytest.mark.parametrize("memory", ["device", "mixed", "sides", "host"])
def test_calls_that_do_not_block_are_right(
    nodes: Nodes, collectives: Path, memory: str, threads: str
) -> None:
    outcome = nodes.pairs(collectives, "6", "40", memory, "3000", "4", POLYPATH_MPI_THREADS=threads)

    assert_right(outcome, "40")


def test_calls_that_do_not_block_are_of_polypath_if_mpi_has_threads(
    nodes: Nodes, collectives: Path
) -> None:
    outcome = nodes.pairs(collectives, "5", "200", "device", "3000", "4", **THREADS)

    assert_right(outcome, "200")
    for operation in OURS:
        assert outcome.mpi_calls(operation, "Polypath") > 0, operation + outcome.errors
    assert "MPI_THREAD_MULTIPLE" not in outcome.errors


def test_calls_that_do_not_block_need_threads(nodes: Nodes, sums: Path) -> None:
    outcome = nodes.pairs(sums, "device", "5", "begun")

    assert_right(outcome)
    assert outcome.mpi_calls("allreduce", "Polypath") == 0, outcome.errors
    assert outcome.mpi_calls("allreduce", "MPI by the host: MPI_THREAD_MULTIPLE is not there") > 0


@pytest.mark.parametrize("way", ["apart", "freed"])
def test_calls_that_do_not_block_go_on_in_any_function(nodes: Nodes, sums: Path, way: str) -> None:
    outcome = nodes.pairs(sums, way, "10", **THREADS)

    assert_right(outcome)
    assert outcome.mpi_calls("allreduce", "MPI") == 0, outcome.errors


def test_programs_with_memory_of_the_host_that_do_not_wait_are_seldom_asked(
    nodes: Nodes, sums: Path, tool: str
) -> None:
    outcome = nodes.pairs(sums, "host", "600", "begun", behind=tool, **THREADS)

    assert_right(outcome)
    assert "calls by" not in outcome.errors
    # Votes on 16 calls, as a poll holds from the next one on; polls after 8, 16, …, 256, 512 calls;
    # and one on the blocking call in the end.
    told = re.findall(r"tool: (\d+) votes", outcome.errors)
    assert set(told) == {str(16 + 7 + 1)}, outcome.errors


@pytest.mark.parametrize("ranks", [2, 4])
def test_threads_make_calls_at_once(nodes: Nodes, tmp_path: Path, ranks: int) -> None:
    if ranks > 2:
        nodes.need_many()
    program = nodes.library.compile(
        tmp_path / "threads", SOURCES / "threads.c", SOURCES / "memory.c", "-lpthread"
    )

    outcome = nodes.ranks(ranks, f"RANK / {ranks // 2}", program, "late")

    assert_right(outcome)
    assert outcome.mpi_calls("allreduce", "Polypath") == ranks * 48, outcome.errors


def test_ranks_that_take_turns_on_the_nodes_have_what_needs_no_order(
    nodes: Nodes, collectives: Path
) -> None:
    nodes.need_many()

    outcome = nodes.ranks(4, "RANK % 2", collectives, "5", "150", "device")

    assert_right(outcome, "150")
    assert outcome.mpi_calls("bcast", "Polypath") > 0, outcome.errors
    assert "Polypath has no such call among several computers" in outcome.errors


def test_a_job_of_several_nodes_is_mpis_unless_asked_for(nodes: Nodes, sums: Path) -> None:
    outcome = nodes.pairs(sums, "device", "5", POLYPATH_MPI_NODES="0")

    assert_right(outcome)
    assert outcome.mpi_calls("allreduce", "Polypath") == 0, outcome.errors


def test_nodes_of_different_numbers_of_ranks_are_mpis(nodes: Nodes, sums: Path) -> None:
    nodes.need_many()

    outcome = nodes.ranks(3, "RANK / 2", sums, "device", "5")

    assert_right(outcome)
    assert outcome.mpi_calls("allreduce", "Polypath") == 0, outcome.errors
    assert outcome.mpi_calls("allreduce", "MPI by the host: the ranks are not all") == 3 * 5


def test_ranks_of_one_node_among_several_have_calls_in_it(nodes: Nodes, collectives: Path) -> None:
    """Communicators of even ranks and of odd ones have one node each here."""
    nodes.need_many()

    outcome = nodes.ranks(4, "RANK % 2", collectives, "8", "90", "device")

    assert_right(outcome, "90")
    assert outcome.mpi_calls("alltoall", "Polypath") > 0, outcome.errors


def test_programs_with_memory_of_the_host_are_seldom_asked(
    nodes: Nodes, sums: Path, tool: str
) -> None:
    outcome = nodes.pairs(sums, "host", "1000", behind=tool)

    assert_right(outcome)
    assert "calls by" not in outcome.errors
    # Eight calls at first, then polls after 8, 16, …, 256 calls, and after 256 more each time.
    told = re.findall(r"tool: (\d+) votes", outcome.errors)
    assert set(told) == {str(8 + 6 + 2)}, outcome.errors


def test_ranks_that_turn_to_memory_of_gpus_are_served_from_the_next_poll_on(
    nodes: Nodes, sums: Path
) -> None:
    outcome = nodes.pairs(sums, "turned", "50")

    assert_right(outcome)
    by_polypath = outcome.mpi_calls("allreduce", "Polypath")
    by_host = outcome.mpi_calls("allreduce", "MPI by the host: not all ranks passed")
    assert by_polypath / (100 - 64) == by_host / 14 > 0, outcome.errors


def stopped(
    nodes: Nodes, sums: Path, tool: str, folder: Path, first: int, **more: str
) -> tuple[Outcome, list[str]]:
    """Stop the ranks from the first on of four, on two nodes; return the errors that name them.

    Open MPI lets them go on before it kills them: they may still have errors of their own.
    """
    outcome = nodes.ranks(
        4, "RANK / 2", sums, "until", folder, str(first), behind=tool, STOPPED_RANK=str(first),
        STOPPED_LAST="3", STOPPED_AFTER="300", STOPPED_FOLDER=str(folder),
        POLYPATH_COMMUNICATOR_TIMEOUT=SECONDS, **more,
    )  # fmt: skip
    lines = outcome.errors.splitlines()
    named = re.compile(f"error: MPI allreduce: .*[Rr]ank [{first}-3]")
    return outcome, [line for line in lines if named.search(line)]


def test_a_rank_that_stops_in_a_call_is_named_at_all_others(
    nodes: Nodes, sums: Path, tool: str, tmp_path: Path
) -> None:
    nodes.need_many()

    outcome, said = stopped(nodes, sums, tool, tmp_path, 3)

    assert outcome.status != 0
    assert len(said) >= 3, outcome.errors


def test_a_node_that_stops_in_a_call_is_named_at_all_others(
    nodes: Nodes, sums: Path, tool: str, tmp_path: Path
) -> None:
    nodes.need_many()

    outcome, said = stopped(nodes, sums, tool, tmp_path, 2)

    assert outcome.status != 0
    assert len([line for line in said if " on node1" in line]) >= 2, outcome.errors


def test_a_node_that_is_killed_ends_the_job(
    nodes: Nodes, sums: Path, tool: str, tmp_path: Path
) -> None:
    """That is MPI's own: its launcher kills the others."""
    nodes.need_many()

    outcome, _ = stopped(nodes, sums, tool, tmp_path, 2, STOPPED_BY="9")

    assert outcome.status != 0
    assert "killed" in (outcome.output + outcome.errors).lower(), outcome.errors


@FORMS
def test_an_error_of_one_gpu_is_told_to_all_nodes(
    nodes: Nodes, sums: Path, tmp_path: Path, begun: tuple[str, ...]
) -> None:
    nodes.need_many()

    outcome = nodes.ranks(
        4, "RANK / 2", *ONE_GPU_FAILS, sums, "until", tmp_path, "4", *begun, **THREADS
    )

    assert outcome.status != 0
    error = re.compile("error: MPI i?allreduce")
    errors = [line for line in outcome.errors.splitlines() if error.search(line)]
    assert len(errors) == 4, outcome.errors
    assert all("cuEventQuery" in line for line in errors), outcome.errors


def test_calls_after_an_error_are_errors_and_do_not_hang(nodes: Nodes, sums: Path) -> None:
    nodes.need_many()

    outcome = nodes.ranks(4, "RANK / 2", *ONE_GPU_FAILS, sums, "again")

    assert outcome.output.count("is right") == 4, outcome.output + outcome.errors


@FORMS
def test_ranks_may_finalize_after_an_error(
    nodes: Nodes, sums: Path, begun: tuple[str, ...]
) -> None:
    nodes.need_many()

    outcome = nodes.ranks(4, "RANK / 2", *ONE_GPU_FAILS, sums, "leave", *begun, **THREADS)

    assert outcome.status != 0
    assert re.search("error: MPI i?allreduce", outcome.errors)


@FORMS
def test_a_killed_rank_ends_the_job(nodes: Nodes, tmp_path: Path, begun: tuple[str, ...]) -> None:
    program = nodes.library.compile(tmp_path / "killed", SOURCES / "killed.c",
                                    SOURCES / "memory.c")  # fmt: skip

    outcome = nodes.pairs(program, *begun, **THREADS)

    assert outcome.status != 0
    assert "end" not in outcome.output.split()
