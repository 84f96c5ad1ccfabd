"""The MPI program itself, under the MPI that is there: what it measures and what it finds wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest
from cli_runner import succeed
from mpi_program import QUICK, Ended, compile_with_mpi, run
from mpi_search import needs_mpi
from polypath import install
from polypath.cli.mpi.request import COLLECTIVES, OPERATIONS, SOLVER

pytestmark = [needs_mpi, pytest.mark.usefixtures("mpi_on_the_path")]

# test_mpi_jacobi.py has the solver, test_mpi_collectives.py the collectives.
MESSAGES = {
    name: windowed for name, windowed in OPERATIONS.items() if name not in (SOLVER, *COLLECTIVES)
}


# Messages that are one byte, not a multiple of a word, of a page, or of a staging piece.
SIZES = (1, 1001, 65536, 1048576 + 13)


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_byte_of_every_operation_arrives(program: Path, ranks: int) -> None:
    ended = run(
        program, ranks, *QUICK, "--operations", ",".join(MESSAGES),
        "--sizes", ",".join(map(str, SIZES)), "--window", "1,5",
    )  # fmt: skip

    assert ended.status == 0, ended.errors
    assert ended.events[-1] == {"event": "end", "wrong_bytes": 0}
    assert all(result["verified"] for result in ended.results)
    windows = sum(2 if windowed else 1 for windowed in MESSAGES.values())
    assert len(ended.results) == windows * len(SIZES)
    assert_compared(ended, ranks, lambda operation: operation in ("put", "put_fence"))


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_byte_arrives_where_each_message_has_a_buffer(program: Path, ranks: int) -> None:
    ended = run(
        program, ranks, *QUICK, "--buffer-per-message", "--operations", ",".join(MESSAGES),
        "--sizes", ",".join(map(str, SIZES)), "--window", "1,5",
    )  # fmt: skip

    assert ended.status == 0, ended.errors
    assert all(result["verified"] for result in ended.results)
    assert ended.events[0]["buffer_per_message"] is True
    assert_compared(ended, ranks, lambda _: True)


def assert_compared(ended: Ended, ranks: int, has_own_buffers: Callable[[str], bool]) -> None:
    """Compared are three exchanges of each, in every rank that receives."""
    receivers = {"latency": 2, "bibw": 2, "mbw": ranks // 2, "ring": ranks}
    for result in ended.results:
        buffers = result["window"] if has_own_buffers(result["operation"]) else 1
        arrived = receivers.get(result["operation"], 1) * buffers * result["bytes"]
        assert result["compared_bytes"] == 3 * arrived


def test_rates_are_those_of_the_definitions(program: Path) -> None:
    ended = run(
        program, 4, *QUICK, "--no-check", "--operations", ",".join(MESSAGES),
        "--sizes", "4K", "--window", "3",
    )  # fmt: skip

    # Messages in the stated time: latency's is that of one of two that follow one another; mbw has
    # two pairs, the ring four senders.
    messages = {
        "latency": 1, "bw": 3, "bibw": 6, "mbw": 6, "put": 3, "put_fence": 3, "ring": 12,
    }  # fmt: skip
    assert {result["operation"] for result in ended.results} == set(messages)
    for result in ended.results:
        in_flight = messages[result["operation"]]
        assert result["messages_per_second"] * result["seconds"] == pytest.approx(in_flight)
        assert result["bytes_per_second"] * result["seconds"] == pytest.approx(in_flight * 4096)
        assert result["verified"] is False and result["compared_bytes"] == 0


FAULTS = [
    # the mistake, an operation that makes it, and where it is found
    ("flip", "latency", "in buffer 0, offset 65535"),
    ("lose", "latency", "65536 wrong bytes"),
    ("overrun", "latency", "outside, near buffer 0, offset 65536"),
    ("underrun", "latency", "outside, near buffer -1"),
    ("repeat", "bw", "in buffer"),
    ("repeat", "ring", "in buffer"),
    ("lose all", "bw", "65536 wrong bytes"),
    ("flip all", "bibw", "in buffer 0, offset 65535"),
    ("no put", "put", "131072 wrong bytes"),
    ("no put", "put_fence", "131072 wrong bytes"),
]


@pytest.mark.parametrize(("fault", "operation", "where"), FAULTS)
def test_a_mistake_of_the_mpi_is_found(
    program: Path, faults: Path, fault: str, operation: str, where: str
) -> None:
    buffers = ["--buffer-per-message"] if fault == "repeat" else []

    ended = run(
        program, 2, *QUICK, *buffers, "--operations", operation, "--sizes", "64K", "--window", "2",
        LD_PRELOAD=str(faults), FAULT=fault,
    )  # fmt: skip

    (result,) = ended.results
    assert ended.status == 1
    assert result["verified"] is False and result["wrong_bytes"] > 0
    assert ended.events[-1]["wrong_bytes"] == result["wrong_bytes"]
    assert any(where in line for line in ended.errors), ended.errors


def test_without_a_fault_the_same_run_is_right(program: Path, faults: Path) -> None:
    ended = run(
        program, 2, *QUICK, "--operations", "latency,bw,put", "--sizes", "64K", "--window", "2",
        LD_PRELOAD=str(faults),
    )  # fmt: skip

    assert ended.status == 0
    assert all(result["verified"] for result in ended.results)


REFUSED = [
    (("--operations", "bww"), "bww"),
    (("--operations", ","), "there is none"),
    (("--sizes", "1X"), "1X"),
    (("--sizes", "2G"), "2147483647"),
    (("--sizes", "0"), "from 1"),
    (("--sizes", "4M:1M"), "1M"),
    (("--window", "1025"), "1024"),
    (("--buffers", "gpu"), "device, host, pinned and managed"),
    (("--buffers", "host,"), "buffers ''"),
    (("--buffers", "host,host,host"), "host,host"),
    (("--seconds", "never"), "seconds"),
    (("--iterations", "0"), "iterations"),
    (("--iterations",), "no value"),
    (("--speed", "9"), "--speed"),
]


@pytest.mark.parametrize(("arguments", "word"), REFUSED, ids=[" ".join(a) for a, _ in REFUSED])
def test_a_bad_command_line_is_refused_once(
    program: Path, arguments: tuple[str, ...], word: str
) -> None:
    ended = run(program, 2, *arguments)

    assert ended.status == 2
    assert ended.events == []
    assert len(ended.errors) == 1 and word in ended.errors[0]


@pytest.mark.parametrize(("ranks", "operation"), [(1, "bw"), (3, "mbw")])
def test_too_few_or_odd_ranks_are_refused(program: Path, ranks: int, operation: str) -> None:
    ended = run(program, ranks, *QUICK, "--operations", operation)

    assert ended.status == 2
    assert operation in ended.errors[0] or "2 ranks" in ended.errors[0]


def test_sizes_are_read_as_the_command_line_of_polypath_reads_them(program: Path) -> None:
    ended = run(
        program, 2, *QUICK, "--operations", "latency", "--sizes", "3,1K:5K,1M", "--no-check"
    )

    sizes = [result["bytes"] for result in ended.results]
    assert sizes == [3, 1024, 2048, 4096, 1048576]


def test_help_names_every_operation_that_polypath_asks_for(program: Path) -> None:
    ended = run(program, 2, "--help")

    named = [line.split()[0] for line in ended.text.splitlines() if line.startswith("  ")]
    assert ended.status == 0
    assert [name for name in named if not name.startswith("--")][-len(OPERATIONS) :] == [
        *OPERATIONS
    ]


def test_the_whole_command_works_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(install, "library_dir", lambda: tmp_path)
    (tmp_path / "empty.c").write_text("int polypath_is_only_looked_for;\n")
    compile_with_mpi("-shared", "-fPIC", tmp_path / "empty.c", "-o", install.preload_library())

    document = succeed(
        "mpi", "--buffers", "host", "--operations", "latency,bw,put", "--sizes", "64K,1M",
        "--window", "4", "--repeats", "2", "--seconds", "0.05", "--json", "-",
    ).json()  # fmt: skip

    assert len(document["results"]) == 6
    assert all(result["verified"] for result in document["results"])
    assert all(result["native_verified"] for result in document["results"])
    assert document["mpi"]["nodes"] == 1
