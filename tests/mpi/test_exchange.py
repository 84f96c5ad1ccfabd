"""Ranks exchange messages in all ways that UCX carries device memory, and compare every byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from stack import Outcome, Stack

MIB = 1 << 20
SMALL = (1, 7, 1000, 4096, 8191)
MIDDLE = (65537, MIB + 3)
LARGE = (16 * MIB + 1, 64 * MIB)
# UCX sends less than this through the host.
CARRIED = MIB


def assert_right(outcome: Outcome, sizes: tuple[int, ...], window: int) -> None:
    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", str(sum(sizes) * window)]
    assert outcome.violations() == []


def assert_between_gpus(outcome: Outcome, ranks: int, sizes: tuple[int, ...], window: int) -> None:
    """What is large went by copies between GPUs, of memory that another process opened."""
    carried = ranks * window * sum(size for size in sizes if size >= CARRIED)
    assert outcome.called("cuIpcOpenMemHandle") > 0
    assert outcome.bytes_between_gpus() >= carried / 2


def run(stack: Stack, exchange: Path, ranks: int, operation: str, sizes: tuple[int, ...],
        window: int, kinds: tuple[str, str] = ("device", "device"), **more: str,
        ) -> Outcome:  # fmt: skip
    outcome = stack.ranks(
        ranks, exchange, operation, *kinds, str(window), *(str(size) for size in sizes), **more
    )
    assert_right(outcome, sizes, window)
    return outcome


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    "operation",
    ["send_receive", "ring", "windows", "put_fence", "put_flush", "get_flush", "reallocate"],
)
def test_every_byte_arrives(stack: Stack, exchange: Path, operation: str, ranks: int) -> None:
    sizes, window = SMALL + MIDDLE, 4

    outcome = run(stack, exchange, ranks, operation, sizes, window)

    assert_between_gpus(outcome, ranks, sizes, window)


@pytest.mark.parametrize("operation", ["synchronous", "broadcast"])
def test_other_operations_are_right_too(stack: Stack, exchange: Path, operation: str) -> None:
    run(stack, exchange, 4, operation, SMALL + MIDDLE, 2)


@pytest.mark.parametrize("operation", ["send_receive", "put_flush"])
def test_large_messages(stack: Stack, exchange: Path, operation: str) -> None:
    outcome = run(stack, exchange, 2, operation, LARGE, 1)

    assert_between_gpus(outcome, 2, LARGE, 1)


def test_large_messages_go_over_several_paths_only_with_polypath(
    stack: Stack, exchange: Path
) -> None:
    sizes = (64 * MIB,)

    # UCX gets: those copies go over other GPUs, but not over the host.
    outcome = run(
        stack, exchange, 2, "ring", sizes, 1, POLYPATH_STATS="1", STANDIN_MACHINE="beluga"
    )

    if stack.launch.name == "plain":
        assert outcome.over_several_paths() == 0
    else:  # each rank copies its message
        assert outcome.over_several_paths() >= 2, outcome.errors


@pytest.mark.parametrize("window", [1, 16, 64])
def test_windows(stack: Stack, exchange: Path, window: int) -> None:
    outcome = run(stack, exchange, 2, "windows", MIDDLE, window)

    assert_between_gpus(outcome, 2, MIDDLE, window)


def test_freed_memory_is_never_written_again(stack: Stack, exchange: Path) -> None:
    sizes = (MIB, MIB, MIB + 1, 2 * MIB)

    outcome = run(stack, exchange, 2, "reallocate", sizes, 16)

    assert_between_gpus(outcome, 2, sizes, 16)


@pytest.mark.parametrize(
    "kinds", [("device", "host"), ("host", "device"), ("managed", "device"), ("managed", "managed")]
)
def test_memory_of_all_kinds(stack: Stack, exchange: Path, kinds: tuple[str, str]) -> None:
    run(stack, exchange, 2, "windows", (*SMALL, *MIDDLE, 8 * MIB), 2, kinds)


def test_each_rank_sees_its_own_gpu_only(stack: Stack, exchange: Path) -> None:
    hiding = "export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK; exec "
    sizes = (1000, 4 * MIB)

    outcome = stack.ranks(
        4, "sh", "-c", f"{hiding}{exchange} ring device device 2 {sizes[0]} {sizes[1]}"
    )

    assert_right(outcome, sizes, 2)
    assert_between_gpus(outcome, 4, sizes, 2)
