"""Collectives of unmodified MPI programs on memory of GPUs, under the preload library.

MPI's own results on memory of the host are what every byte is compared with.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from stack import Library

SOURCES = Path(__file__).parent / "program"
MOVED_BY_US = ("allgather", "allgatherv", "alltoall", "bcast", "gather", "scatter")
LEFT_TO_MPI = ("scan", "exscan", "alltoallw")


@pytest.fixture(scope="session")
def collectives(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random calls, compiled for this MPI."""
    program = tmp_path_factory.mktemp("collectives") / "collectives"
    return library.compile(program, SOURCES / "collectives.c", SOURCES / "memory.c")


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("memory", ["device", "mixed", "sides", "managed"])
def test_every_byte_is_right(
    library: Library, preload: str, collectives: Path, memory: str, ranks: int
) -> None:
    outcome = library.ranks(
        ranks, collectives, str(ranks), "60", memory, LD_PRELOAD=preload, STANDIN_MACHINE="h200x8"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "60"]


def test_ranks_that_see_one_gpu_each_have_calls_of_ours(
    library: Library, preload: str, collectives: Path
) -> None:
    """As a launcher's script or a scheduler has it; the last rank has the first GPU."""
    own = 'CUDA_VISIBLE_DEVICES=$((7 - ${OMPI_COMM_WORLD_RANK:-$PMI_RANK})) exec "$@"'

    outcome = library.ranks(
        4, "sh", "-c", own, "sh", collectives, "7", "90", "device",
        LD_PRELOAD=preload, STANDIN_MACHINE="h200x8", POLYPATH_STATS="1",
    )  # fmt: skip

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "90"]
    for operation in MOVED_BY_US:
        assert outcome.mpi_calls(operation, "Polypath") > 0, outcome.errors


def test_large_calls_are_right(library: Library, preload: str, collectives: Path) -> None:
    outcome = library.ranks(
        2, collectives, "11", "60", "device", "400000", LD_PRELOAD=preload, STANDIN_CHAOS="3"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "60"]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("memory", ["device", "mixed", "host"])
def test_calls_that_do_not_block_are_right_in_any_order_of_their_ends(
    library: Library, preload: str, collectives: Path, memory: str, ranks: int
) -> None:
    outcome = library.ranks(ranks, collectives, "6", "60", memory, "3000", "4", LD_PRELOAD=preload)

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "60"]


@pytest.mark.parametrize(
    ("memory", "ranks", "counts"),
    [(memory, ranks, []) for memory in ("device", "mixed", "host") for ranks in (2, 4)]
    + [(memory, 2, ["large"]) for memory in ("device", "mixed", "host")],
)
def test_persistent_calls_are_right_in_any_order_of_their_starts(
    library: Library, preload: str, tmp_path: Path, memory: str, ranks: int, counts: list[str]
) -> None:
    program = library.compile(tmp_path / "persistent", SOURCES / "persistent.c",
                              SOURCES / "memory.c")  # fmt: skip

    outcome = library.ranks(ranks, program, memory, *counts, LD_PRELOAD=preload, POLYPATH_STATS="1")

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right"]
    ours = {"allreduce": 12, "allgather": 12, "bcast": 12}  # sums, not logic
    for operation, started in ours.items():
        expected = started * ranks if memory == "device" else 0
        assert outcome.mpi_calls(operation, "Polypath") == expected, outcome.errors


def test_calls_are_counted_by_their_fate(library: Library, preload: str, collectives: Path) -> None:
    outcome = library.ranks(
        4, collectives, "5", "150", "device", LD_PRELOAD=preload, POLYPATH_STATS="1"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    for operation in MOVED_BY_US:
        assert outcome.mpi_calls(operation, "Polypath") > 0, outcome.errors
    for operation in LEFT_TO_MPI:
        assert outcome.mpi_calls(operation, "Polypath") == 0
        assert outcome.mpi_calls(operation, "MPI by the host") > 0, outcome.errors


def test_an_error_is_every_ranks(library: Library, preload: str, tmp_path: Path) -> None:
    program = library.compile(tmp_path / "differ", SOURCES / "differ.c", SOURCES / "memory.c")

    outcome = library.ranks(3, program, LD_PRELOAD=preload)

    # Of the call that differs, and of the next one: the communicator has ended.
    assert outcome.output.count("error") == 6, outcome.output + outcome.errors
    assert outcome.status == 0, outcome.errors
    assert "they differ in count" in outcome.errors


def test_an_mpi_that_takes_memory_of_gpus_gets_it(
    library: Library, preload: str, collectives: Path, tmp_path: Path
) -> None:
    """Memory that is managed, which MPI can read here."""
    aware = tmp_path / "libaware.so"
    source = str(SOURCES / "gpu_aware.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", aware, source], check=True)

    outcome = library.ranks(
        2, collectives, "5", "60", "managed",
        LD_PRELOAD=f"{preload}:{aware}", POLYPATH_STATS="1",
    )  # fmt: skip

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "60"]
    assert outcome.mpi_calls("scan", "MPI:") > 0, outcome.errors
    assert "MPI by the host" not in outcome.errors


@pytest.mark.parametrize("is_first", [True, False])
def test_other_tools_see_the_calls_that_reach_them(
    library: Library, preload: str, tmp_path: Path, is_first: bool
) -> None:
    """A tool before Polypath sees all, one behind it those that are MPI's."""
    tool = library.compile(tmp_path / "libtool.so", "-shared", "-fPIC", SOURCES / "tool.c")
    program = library.compile(tmp_path / "sums", SOURCES / "sums.c", SOURCES / "memory.c")
    order = [str(tool), preload] if is_first else [preload, str(tool)]

    outcome = library.ranks(2, program, LD_PRELOAD=":".join(order), POLYPATH_STATS="1")

    assert outcome.status == 0, outcome.errors
    assert outcome.output.split() == ["right"]
    assert outcome.mpi_calls("allreduce", "Polypath") == 2 * 3, outcome.errors
    assert outcome.errors.count(f"tool: {3 + 5 if is_first else 5} calls") == 2, outcome.errors


def test_memory_of_the_host_is_left_alone(
    library: Library, preload: str, collectives: Path
) -> None:
    outcome = library.ranks(
        4, collectives, "5", "150", "host", LD_PRELOAD=preload, POLYPATH_STATS="1"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "150"]
    assert "calls by" not in outcome.errors


def test_nothing_is_ours_if_it_is_switched_off(
    library: Library, preload: str, collectives: Path
) -> None:
    outcome = library.ranks(2, collectives, "5", "20", "host", LD_PRELOAD=preload, POLYPATH_MPI="0")

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "20"]


def test_a_rank_without_polypath_is_noticed(
    library: Library, preload: str, collectives: Path
) -> None:
    """The others find out without waiting for it, and their memory is staged."""
    one_without = f'[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ] || export LD_PRELOAD={preload}; exec '

    outcome = library.ranks(
        2, "sh", "-c", f"{one_without}{collectives} 5 40 host", POLYPATH_STATS="1"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "40"]


def test_a_call_goes_on_while_its_rank_waits_for_a_message(
    library: Library, preload: str, tmp_path: Path
) -> None:
    program = library.compile(tmp_path / "between", SOURCES / "message_between.c",
                              SOURCES / "memory.c")  # fmt: skip

    outcome = library.ranks(2, program, LD_PRELOAD=preload)

    assert outcome.output.split() == ["right"], outcome.output + outcome.errors


@pytest.mark.parametrize("name", ["threads", "horovod"])
def test_programs_of_several_threads_are_right(
    library: Library, preload: str, tmp_path: Path, name: str
) -> None:
    ranks = 4 if library.name == "openmpi" else 2  # MPICH's wait for each other's processors
    program = library.compile(tmp_path / name, "-pthread", SOURCES / f"{name}.c",
                              SOURCES / "memory.c")  # fmt: skip

    outcome = library.ranks(ranks, program, LD_PRELOAD=preload, POLYPATH_STATS="1")

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right"]
    assert outcome.mpi_calls("allreduce", "Polypath") > 0, outcome.errors


def test_a_killed_rank_ends_the_job(library: Library, preload: str, tmp_path: Path) -> None:
    program = library.compile(tmp_path / "killed", SOURCES / "killed.c", SOURCES / "memory.c")

    outcome = library.ranks(3, program, LD_PRELOAD=preload)

    assert outcome.status != 0
    assert "end" not in outcome.output.split()


def test_python_programs_use_it(library: Library, preload: str) -> None:
    if library.name == "standard":
        pytest.skip("the wheel of mpi4py chooses the library itself")
    python = library.environment / "bin" / "python"

    outcome = library.ranks(
        2, python, SOURCES / "allreduce.py", LD_PRELOAD=preload, POLYPATH_STATS="1"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right"]
    assert outcome.mpi_calls("allreduce", "Polypath") > 0, outcome.errors
