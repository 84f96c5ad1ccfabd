"""One-sided calls of unmodified MPI programs on memory of GPUs, under the preload library.

MPI's own results in windows of the host are what every byte is compared with.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from stack import Library

SOURCES = Path(__file__).parent / "program"
OPERATIONS = ("put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap")


@pytest.fixture(scope="session")
def windows(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random calls, compiled for this MPI."""
    program = tmp_path_factory.mktemp("windows") / "windows"
    return library.compile(program, SOURCES / "windows.c", SOURCES / "memory.c")


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("memory", ["device", "mixed", "origins", "attached"])
def test_every_byte_is_right(
    library: Library, preload: str, windows: Path, memory: str, ranks: int
) -> None:
    """Fences, groups and locks in turn, and numbers that all ranks count up."""
    outcome = library.ranks(
        ranks, windows, str(ranks), "30", memory, LD_PRELOAD=preload, STANDIN_MACHINE="h200x8"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "30"]
    assert outcome.violations() == []


@pytest.mark.parametrize("chaos", ["2", "3"])
def test_calls_of_every_kind_are_right_in_any_order_of_the_gpus_work(
    library: Library, preload: str, windows: Path, chaos: str
) -> None:
    outcome = library.ranks(
        3, windows, chaos, "60", "device",
        LD_PRELOAD=preload, STANDIN_CHAOS=chaos, POLYPATH_STATS="1",
    )  # fmt: skip

    assert outcome.status == 0, outcome.output + outcome.errors
    for operation in OPERATIONS:
        assert outcome.mpi_calls(operation, "Polypath") > 0, outcome.errors
        assert outcome.mpi_calls(operation, "MPI") == 0, outcome.errors


def test_managed_memory_is_mpis_window(library: Library, preload: str, windows: Path) -> None:
    outcome = library.ranks(2, windows, "6", "40", "managed", LD_PRELOAD=preload)

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "40"]


def test_an_mpi_that_takes_memory_of_gpus_gets_it(
    library: Library, preload: str, windows: Path, tmp_path: Path
) -> None:
    """Memory that is managed, which MPI can read here."""
    aware = tmp_path / "libaware.so"
    source = str(SOURCES / "gpu_aware.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", aware, source], check=True)

    outcome = library.ranks(
        2, windows, "5", "40", "managed", LD_PRELOAD=f"{preload}:{aware}", POLYPATH_STATS="1"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    for operation in OPERATIONS:
        assert outcome.mpi_calls(operation, "") == 0, outcome.errors


def test_windows_of_the_host_are_mpis_with_copies(
    library: Library, preload: str, windows: Path
) -> None:
    outcome = library.ranks(
        2, windows, "5", "60", "origins", LD_PRELOAD=preload, POLYPATH_STATS="1"
    )

    assert outcome.status == 0, outcome.output + outcome.errors
    for operation in OPERATIONS:
        assert outcome.mpi_calls(operation, "MPI by the host") > 0, outcome.errors
        assert outcome.mpi_calls(operation, "Polypath") == 0, outcome.errors


def test_ranks_that_see_one_gpu_each_reach_each_others_windows(
    library: Library, preload: str, windows: Path
) -> None:
    own = 'CUDA_VISIBLE_DEVICES=$((7 - ${OMPI_COMM_WORLD_RANK:-$PMI_RANK})) exec "$@"'

    outcome = library.ranks(
        3, "sh", "-c", own, "sh", windows, "9", "40", "device",
        LD_PRELOAD=preload, STANDIN_MACHINE="h200x8",
    )  # fmt: skip

    assert outcome.status == 0, outcome.output + outcome.errors


def test_a_target_need_not_call_anything(library: Library, preload: str, tmp_path: Path) -> None:
    """And a call that reaches beyond the window is refused."""
    program = library.compile(tmp_path / "passive", SOURCES / "passive.c", SOURCES / "memory.c")

    outcome = library.ranks(2, program, LD_PRELOAD=preload)

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right"]
    assert "not in the window" in outcome.errors


def test_a_rank_that_is_killed_with_a_lock_ends_the_job(
    library: Library, preload: str, tmp_path: Path
) -> None:
    sources = (SOURCES / "killed_window.c", SOURCES / "memory.c")
    program = library.compile(tmp_path / "killed_window", *sources)

    outcome = library.ranks(3, program, LD_PRELOAD=preload)

    assert outcome.status != 0
    assert "end" not in outcome.output.split()


@pytest.fixture(scope="session")
def refused(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Windows that one rank cannot make, compiled for this MPI."""
    program = tmp_path_factory.mktemp("refused") / "refused_window"
    return library.compile(program, SOURCES / "refused_window.c", SOURCES / "memory.c")


@pytest.mark.parametrize("how", ["unit", "size", "window", "dynamic"])
def test_a_window_that_mpi_refuses_at_one_rank_is_refused_at_all(
    library: Library, preload: str, refused: Path, how: str
) -> None:
    """And none waits for ever; the rank's error is MPI's."""
    outcome = library.ranks(3, refused, how, LD_PRELOAD=preload)

    assert "right" in outcome.output.splitlines(), outcome.output + outcome.errors


@pytest.mark.parametrize("how", ["elsewhere", "elsewhere dynamic"])
def test_a_window_that_mpi_cannot_make_at_one_rank_is_refused_at_all(
    library: Library, preload: str, refused: Path, tmp_path: Path, how: str
) -> None:
    refusing = library.compile(
        tmp_path / "librefusing.so", "-shared", "-fPIC", SOURCES / "refusing_mpi.c"
    )

    outcome = library.ranks(3, refused, how, LD_PRELOAD=f"{preload}:{refusing}")

    assert "right" in outcome.output.splitlines(), outcome.output + outcome.errors


@pytest.mark.parametrize("function", ["cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2"])
def test_a_window_that_polypath_cannot_make_at_one_rank_is_refused_at_all(
    library: Library, preload: str, refused: Path, function: str
) -> None:
    fails = f'test "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" != 1 || export STANDIN_FAIL={function}:1'

    outcome = library.ranks(
        3, "sh", "-c", f'{fails}; exec "$@"', "sh", refused, "elsewhere", LD_PRELOAD=preload
    )

    assert "right" in outcome.output.splitlines(), outcome.output + outcome.errors


@pytest.mark.parametrize("words", [(), ("apart",)])
def test_types_may_have_the_addresses_of_memory_of_gpus(
    library: Library, preload: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """MPI_BOTTOM, in collectives and one-sided calls; one type has one allocation."""
    program = library.compile(tmp_path / "bottom", SOURCES / "bottom.c", SOURCES / "memory.c")

    outcome = library.ranks(2, program, *words, LD_PRELOAD=preload)

    assert outcome.status == 0, outcome.output + outcome.errors
    assert "right" in outcome.output.splitlines()
