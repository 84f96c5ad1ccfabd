"""Unmodified Open MPI and UCX with Polypath on top: several paths, and every byte right.

The machine has links between all GPUs and settings that let even small copies be split, so that
messages are staged through the host and through GPUs of no rank.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from stack import Launch, Outcome, Stack

KIB = 1 << 10
MIB = 1 << 20
SIZES = (1, 4096, 64 * KIB + 3, 5 * MIB + 1)
EAGER = {
    "POLYPATH_STATS": "1",
    "POLYPATH_MIN_MESSAGE": "64K",
    "POLYPATH_MIN_GAIN": "0",
    "POLYPATH_COPY_THREADS": "3",  # as many as pay, on computers with fewer CPUs as well
    "STANDIN_MACHINE": "beluga",
}
RUNS = [
    *(
        ("preload", 2, operation)
        for operation in ("send_receive", "windows", "put_fence", "put_flush", "get_flush")
    ),
    ("preload", 4, "ring"),
    ("preload", 4, "windows"),
    ("plugin", 2, "send_receive"),
    ("plugin", 2, "put_fence"),
    ("plugin", 4, "ring"),
]


def stack_under_polypath(config: pytest.Config, way: str) -> Stack:
    """Return the stack as one of the ways into it starts it."""
    entrance = {
        "preload": ("LD_PRELOAD", "--preload-library"),
        "plugin": ("UCX_PLUGIN_PATH", "--plugin-folder"),
    }
    variable, option = entrance[way]
    library = Path(str(config.getoption(option)))
    assert library.exists(), f"{library} is missing: run 'cmake --build --preset default'"
    return Stack(Launch(way, {**EAGER, variable: str(library)}))


def calls(outcome: Outcome, text: str) -> int:
    """How often the tables of all processes count something."""
    found = re.findall(rf"polypath: +(\d+) +[\d.]+ [KMGT]?i?B +{text}", outcome.errors)
    return sum(int(count) for count in found)


def assert_accelerated(outcome: Outcome, ranks: int) -> None:
    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split()[0] == "right"
    assert outcome.violations() == []
    assert calls(outcome, "accelerated") >= ranks, outcome.errors
    for trouble in ("memory of a process", "memory of another process", "several paths failed"):
        assert calls(outcome, trouble) == 0, outcome.errors


@pytest.mark.parametrize(("way", "ranks", "operation"), RUNS)
def test_messages_take_several_paths(
    exchange: Path, pytestconfig: pytest.Config, way: str, ranks: int, operation: str
) -> None:
    stack = stack_under_polypath(pytestconfig, way)
    task = [exchange, operation, "device", "device", "4", *map(str, SIZES)]

    outcome = stack.ranks(ranks, *task)

    assert_accelerated(outcome, ranks)


@pytest.mark.parametrize("way", ["preload", "plugin"])
@pytest.mark.parametrize("executor", ["stream", "graph"])
def test_memory_that_is_freed_and_allocated_again(
    exchange: Path, pytestconfig: pytest.Config, way: str, executor: str
) -> None:
    """What was known of an address before must not be used for what lies there now."""
    stack = stack_under_polypath(pytestconfig, way)
    sizes = [str(size) for size in (8 * MIB, 8 * MIB, 8 * MIB + 1, 6 * MIB)]
    task = [exchange, "reallocate", "device", "device", "4", *sizes]

    outcome = stack.ranks(2, *task, POLYPATH_EXECUTOR=executor)

    assert_accelerated(outcome, 2)


def test_ranks_may_see_other_gpus(exchange: Path, pytestconfig: pytest.Config) -> None:
    """Each rank sees its own GPU first, as many launchers arrange it; then it knows the owner."""
    stack = stack_under_polypath(pytestconfig, "preload")
    see = 'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK,$((1-OMPI_COMM_WORLD_RANK)) exec "$@"'
    task = [exchange, "send_receive", "device", "device", "4", str(5 * MIB + 1)]

    outcome = stack.ranks(2, "sh", "-c", see, "sh", *task)

    assert_accelerated(outcome, 2)


def test_ranks_may_see_their_own_gpu_only(exchange: Path, pytestconfig: pytest.Config) -> None:
    """UCX then sends through the host, and those copies take what paths there are."""
    stack = stack_under_polypath(pytestconfig, "preload")
    see = 'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK exec "$@"'
    task = [exchange, "send_receive", "device", "device", "4", str(5 * MIB + 1)]

    outcome = stack.ranks(2, "sh", "-c", see, "sh", *task)

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split()[0] == "right"
    assert outcome.violations() == []
    assert calls(outcome, "several paths failed") == 0, outcome.errors
