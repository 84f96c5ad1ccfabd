"""Collectives of one rank, of no elements, and of types that are called and used as elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch
from polypath import Collectives
from rank_threads import among_ranks, buffer_of, numbers, on_threads

RANKS, COUNT = 4, 300
LONGEST = 100  # seconds

IN_PLACE: dict[str, Callable[[Collectives, Any], None]] = {
    "all_reduce": lambda own, tensor: own.all_reduce(tensor),
    "average": lambda own, tensor: own.all_reduce(tensor, op="average"),
    "reduce": lambda own, tensor: own.reduce(tensor),
    "reduce_scatter": lambda own, tensor: own.reduce_scatter(tensor),
    "all_gather": lambda own, tensor: own.all_gather(tensor),
    "all_to_all": lambda own, tensor: own.all_to_all(tensor),
    "all_to_all_v": lambda own, tensor: own.all_to_all_v(tensor, [[len(tensor.array)]]),
    "broadcast": lambda own, tensor: own.broadcast(tensor),
}
TO_AN_OUTPUT: dict[str, Callable[[Collectives, Any, Any], None]] = {
    "all_reduce": lambda own, given, taken: own.all_reduce(given, taken, op="max"),
    "reduce": lambda own, given, taken: own.reduce(given, 0, taken),
    "reduce_scatter": lambda own, given, taken: own.reduce_scatter(given, taken),
    "all_gather": lambda own, given, taken: own.all_gather(given, taken),
    "all_to_all": lambda own, given, taken: own.all_to_all(given, taken),
    "all_to_all_v": lambda own, given, taken: own.all_to_all_v(given, [[COUNT]], taken),
}


def after(own: Collectives, torch: Torch, tensor: Any) -> np.ndarray:
    """Return what a tensor has once all that was enqueued is done."""
    own.barrier()
    torch.current[own.rank].synchronize()
    return tensor.array.copy()


@pytest.mark.parametrize("what", IN_PLACE)
def test_one_rank_keeps_what_it_has(context: polypath.Context, torch: Torch, what: str) -> None:
    def call(own: Collectives) -> np.ndarray:
        tensor = torch.tensor(0, COUNT, np.float32)
        tensor.array[:] = numbers(3, COUNT)
        IN_PLACE[what](own, tensor)
        return after(own, torch, tensor)

    assert np.array_equal(among_ranks(context, 1, call)[0], numbers(3, COUNT))


@pytest.mark.parametrize("what", TO_AN_OUTPUT)
def test_one_rank_has_what_it_gave(context: polypath.Context, torch: Torch, what: str) -> None:
    def call(own: Collectives) -> np.ndarray:
        given, taken = (torch.tensor(0, COUNT, np.float32) for _ in range(2))
        given.array[:] = numbers(3, COUNT)
        TO_AN_OUTPUT[what](own, given, taken)
        return after(own, torch, taken)

    assert np.array_equal(among_ranks(context, 1, call)[0], numbers(3, COUNT))


def test_one_rank_says_that_its_calls_are_copies(context: polypath.Context) -> None:
    chosen = among_ranks(context, 1, lambda own: own.prepare("allreduce", COUNT, "float32"))[0]

    assert chosen["algorithm"] == "copy"
    assert chosen["predicted_seconds"] is None


def calls_of_no_elements(torch: Torch, own: Collectives) -> None:
    def empty() -> Any:
        return torch.tensor(own.rank, 0, np.float32)

    none = [[0] * own.size] * own.size
    own.all_reduce(empty())
    own.all_reduce(empty(), empty(), op="average")
    own.reduce(empty(), 1 % own.size)
    own.reduce_scatter(empty(), empty())
    own.all_gather(empty())
    own.all_to_all(empty(), empty())
    own.all_to_all_v(empty(), none, empty())
    own.all_to_all_v(empty(), none)
    own.broadcast(empty())
    if own.size > 1:
        own.send_receive(empty(), 0, 1)


@pytest.mark.parametrize("nodes", [1, 2])
def test_no_elements_are_none_and_the_next_call_is_right(
    context: polypath.Context, torch: Torch, nodes: int
) -> None:
    meeting = polypath.ThreadGroup(RANKS)

    def be(rank: int) -> np.ndarray:
        with Collectives.from_threads(
            meeting, rank, rank, context=context, node=str(rank * nodes // RANKS)
        ) as own:
            tensor = torch.tensor(rank, COUNT, np.float32)
            tensor.array[:] = numbers(rank, COUNT)
            calls_of_no_elements(torch, own)
            own.all_reduce(tensor)
            calls_of_no_elements(torch, own)
            return after(own, torch, tensor)

    for found in on_threads(RANKS, be):
        assert np.array_equal(found, sum(numbers(rank, COUNT) for rank in range(RANKS)))


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_step_in_which_nobody_sends_is_a_step(
    context: polypath.Context, torch: Torch, nodes: int
) -> None:
    meeting = polypath.ThreadGroup(RANKS)

    def be(rank: int) -> list[np.ndarray]:
        found = []
        with Collectives.from_threads(
            meeting, rank, rank, context=context, node=str(rank * nodes // RANKS)
        ) as own:
            for count in (1, 0, 2):
                given, taken = (torch.tensor(rank, RANKS * count, np.float32) for _ in range(2))
                given.array[:] = rank
                own.all_to_all_v(given, [[count] * RANKS] * RANKS, taken)
                found.append(after(own, torch, taken))
        return found

    for found in on_threads(RANKS, be):
        for count, taken in zip((1, 0, 2), found):
            assert np.array_equal(taken, np.repeat(np.arange(RANKS), count))


def test_ranks_that_differ_in_whether_there_is_anything_are_told(
    context: polypath.Context, torch: Torch
) -> None:
    def call(own: Collectives) -> str:
        with pytest.raises(polypath.Error) as error:
            own.all_reduce(torch.tensor(own.rank, COUNT * own.rank, np.float32))
            own.barrier()
        return str(error.value)

    assert any("differ" in said or "calls" in said for said in among_ranks_apart(context, call))


def among_ranks_apart(context: polypath.Context, what: Callable[[Collectives], Any]) -> list[Any]:
    """Do it at two ranks, and close neither by a barrier."""
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> Any:
        return what(Collectives.from_threads(meeting, rank, context=context))

    return on_threads(2, be)


class ReduceOp:
    """As an operation of torch.distributed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"an object named {self.name}"


@pytest.mark.parametrize(
    ("dtype", "op"),
    [
        ("float32", "avg"),
        (np.float32, "AVG"),
        (np.dtype("float32"), "mean"),
        ("torch.float32", ReduceOp("AVG")),
        ("<f4", "ReduceOp.AVG"),
        ("FP32", "average"),
    ],
    ids=str,
)
def test_types_and_operations_have_their_names_of_elsewhere(
    context: polypath.Context, dtype: Any, op: Any
) -> None:
    def call(own: Collectives) -> np.ndarray:
        own.prepare("allreduce", COUNT, dtype, op=op)
        buffer = buffer_of(context, own.gpu, numbers(own.rank, COUNT))
        own.all_reduce(buffer, op=op, dtype=dtype)
        return buffer.numpy().view(np.float32).copy()

    for found in among_ranks(context, 2, call):
        assert np.array_equal(found, (numbers(0, COUNT) + numbers(1, COUNT)) / 2)


def test_a_function_of_numpy_names_an_operation(context: polypath.Context) -> None:
    def call(own: Collectives) -> np.ndarray:
        buffer = buffer_of(context, own.gpu, numbers(own.rank, COUNT))
        own.all_reduce(buffer, op=np.maximum, dtype=np.float32)
        return buffer.numpy().view(np.float32).copy()

    for found in among_ranks(context, 2, call):
        assert np.array_equal(found, np.maximum(numbers(0, COUNT), numbers(1, COUNT)))


@pytest.mark.parametrize("dtype", ["bool", "float8_e4m3fn", "float8_e5m2", "fp8_e4m3", np.bool_])
def test_types_that_nothing_reduces_are_moved(context: polypath.Context, dtype: Any) -> None:
    def contents(rank: int) -> np.ndarray:
        return (np.arange(COUNT) * 7 + rank).astype(np.uint8) % 2

    def call(own: Collectives) -> np.ndarray:
        given = buffer_of(context, own.gpu, contents(own.rank))
        taken = buffer_of(context, own.gpu, np.zeros(3 * COUNT, np.uint8))
        own.all_gather(given, taken, dtype=dtype)
        own.broadcast(given, 1, dtype=dtype)
        own.send_receive(given, 1, 0, dtype=dtype)
        return np.concatenate([taken.numpy(), given.numpy()])

    for found in among_ranks(context, 3, call):
        assert np.array_equal(found, np.concatenate([contents(r) for r in (0, 1, 2, 1)]))


def test_whole_numbers_of_numpy_are_counts(context: polypath.Context, torch: Torch) -> None:
    def call(own: Collectives) -> np.ndarray:
        given, taken = (torch.tensor(own.rank, 2 * COUNT, np.float32) for _ in range(2))
        given.array[:] = own.rank
        own.all_to_all_v(given, np.full((2, 2), COUNT), taken)
        return after(own, torch, taken)

    for found in among_ranks(context, 2, call):
        assert np.array_equal(found, np.repeat([0, 1], COUNT))


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize(
    ("kind", "value"),
    [(np.float16, 40000), (np.float32, 3e38), (np.float64, -1.7e308), (np.float16, 6e-8)],
)
def test_averages_of_numbers_whose_sum_has_no_room(
    context: polypath.Context, kind: Any, value: float, nodes: int
) -> None:
    meeting = polypath.ThreadGroup(RANKS)

    def be(rank: int) -> np.ndarray:
        with Collectives.from_threads(
            meeting, rank, rank, context=context, node=str(rank * nodes // RANKS)
        ) as own:
            buffer = buffer_of(context, own.gpu, np.full(COUNT, value, kind))
            own.all_reduce(buffer, op="average", dtype=kind)
            return buffer.numpy().view(kind).copy()

    for found in on_threads(RANKS, be):
        assert np.array_equal(found, np.full(COUNT, value, kind))


# --- simulated ranks ---

PROGRAM = """
import sys
import polypath
try:
    polypath.Collectives.from_file(
        sys.argv[1], int(sys.argv[2]), 2, context=polypath.Context("h200x4"), timeout=60
    )
except polypath.Error as error:
    print(error)
"""


def test_simulated_ranks_that_are_processes_are_refused_when_they_join(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "job"), str(rank)],
            stdout=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip

    said = [process.communicate(timeout=LONGEST)[0] for process in processes]

    for each in said:
        assert "simulated ranks cannot be in different processes or contexts" in each
        assert "threads that share one context" in each


def test_simulated_ranks_of_other_contexts_are_refused_when_they_join() -> None:
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> str:
        with pytest.raises(polypath.Error) as error:
            Collectives.from_threads(meeting, rank, context=polypath.Context("h200x4"))
        return str(error.value)

    for said in on_threads(2, be):
        assert "rank 1 another one than rank 0" in said
