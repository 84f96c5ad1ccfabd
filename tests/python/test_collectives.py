"""polypath.Collectives: what each rank has in the end, how ranks meet, and stream order."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Cupy, Torch, TorchStream
from polypath import Collectives
from rank_tables import FakeComm, Table, fake_distributed
from rank_threads import among_ranks, buffer_of, numbers, on_threads

ROOT = Path(__file__).resolve().parents[2]
RANKS, PART = 3, 500
RUN = {
    "allreduce": Collectives.all_reduce,
    "reducescatter": Collectives.reduce_scatter,
    "allgather": Collectives.all_gather,
    "alltoall": Collectives.all_to_all,
}
PARTS = {  # that a rank gives and gets
    "allreduce": (1, 1), "reducescatter": (RANKS, 1), "allgather": (1, RANKS),
    "alltoall": (RANKS, RANKS),
}  # fmt: skip


def wanted(collective: str, inputs: list[np.ndarray], rank: int) -> np.ndarray:
    """Return what a rank has in the end, by definition."""
    own = slice(rank * PART, (rank + 1) * PART)
    return {
        "allreduce": lambda: sum(inputs),
        "reducescatter": lambda: sum(inputs)[own],
        "allgather": lambda: np.concatenate(inputs),
        "alltoall": lambda: np.concatenate([each[own] for each in inputs]),
    }[collective]().astype(inputs[0].dtype)


# --- what each rank has in the end ---


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
@pytest.mark.parametrize("collective", RUN)
def test_each_rank_has_what_the_definition_says(
    context: polypath.Context, collective: str, dtype: str
) -> None:
    given, taken = (parts * PART for parts in PARTS[collective])
    inputs = [numbers(rank, given, dtype) for rank in range(RANKS)]

    def call(own: Collectives) -> np.ndarray:
        source = buffer_of(context, own.gpu, inputs[own.rank])
        target = buffer_of(context, own.gpu, np.zeros(taken, dtype))
        RUN[collective](own, source, target, dtype=dtype)
        assert np.array_equal(source.numpy().view(dtype), inputs[own.rank])
        return target.numpy().view(dtype).copy()

    for rank, found in enumerate(among_ranks(context, RANKS, call)):
        assert np.array_equal(found, wanted(collective, inputs, rank))
    assert context.violations() == []


# In place: of all_gather what a rank gives is its part, of reduce_scatter what it gets is.
@pytest.mark.parametrize("collective", RUN)
def test_in_place_it_is_the_same(context: polypath.Context, collective: str) -> None:
    given, taken = (parts * PART for parts in PARTS[collective])
    inputs = [numbers(rank, given) for rank in range(RANKS)]

    def call(own: Collectives) -> np.ndarray:
        memory = np.zeros(max(given, taken), np.float32)
        begin = own.rank * PART if collective == "allgather" else 0
        memory[begin : begin + given] = inputs[own.rank]
        buffer = buffer_of(context, own.gpu, memory)
        RUN[collective](own, buffer, dtype="float32")
        begin = own.rank * PART if collective == "reducescatter" else 0
        return buffer.numpy().view(np.float32)[begin : begin + taken].copy()

    for rank, found in enumerate(among_ranks(context, RANKS, call)):
        assert np.array_equal(found, wanted(collective, inputs, rank))
    assert context.violations() == []


COUNTS = [[1, 20, 300], [0, 50, 7], [400, 3, 0]]


def blocks_for(rank: int, inputs: list[np.ndarray]) -> np.ndarray:
    """Return what a rank gets when rank i gives rank j COUNTS[i][j] elements, side by side."""
    parts = []
    for given, row in zip(inputs, COUNTS, strict=True):
        begin = sum(row[:rank])
        parts.append(given[begin : begin + row[rank]])
    return np.concatenate(parts)


def test_blocks_may_have_different_lengths(context: polypath.Context) -> None:
    inputs = [numbers(rank, sum(COUNTS[rank])) for rank in range(RANKS)]

    def call(own: Collectives) -> np.ndarray:
        source = buffer_of(context, own.gpu, inputs[own.rank])
        gets = sum(row[own.rank] for row in COUNTS)
        target = buffer_of(context, own.gpu, np.zeros(gets, np.float32))
        for _ in range(2):
            own.all_to_all_v(source, COUNTS, target, dtype="float32")
        return target.numpy().view(np.float32).copy()

    for rank, found in enumerate(among_ranks(context, RANKS, call)):
        assert np.array_equal(found, blocks_for(rank, inputs))
    assert context.violations() == []


def test_one_rank_sends_another_one_its_tensor(context: polypath.Context) -> None:
    def call(own: Collectives) -> np.ndarray:
        buffer = buffer_of(context, own.gpu, numbers(own.rank, PART))
        own.send_receive(buffer, source=2, destination=0, dtype="float32")
        return buffer.numpy().view(np.float32).copy()

    found = among_ranks(context, RANKS, call)

    for rank, holds in enumerate([2, 1, 2]):
        assert np.array_equal(found[rank], numbers(holds, PART))
    assert context.violations() == []


@pytest.mark.parametrize(
    ("op", "step"),
    [("sum", np.add), ("min", np.minimum), ("max", np.maximum), ("product", np.multiply)],
)
def test_the_root_has_what_is_reduced_for_it(
    context: polypath.Context, op: str, step: np.ufunc
) -> None:
    inputs = [numbers(rank, PART) for rank in range(RANKS)]

    def call(own: Collectives) -> np.ndarray:
        source = buffer_of(context, own.gpu, inputs[own.rank])
        target = buffer_of(context, own.gpu, np.zeros(PART, np.float32))
        own.reduce(source, 1, target if own.rank == 1 else None, op, dtype="float32")
        return target.numpy().view(np.float32).copy()

    found = among_ranks(context, RANKS, call)

    assert np.array_equal(found[1], step.reduce(inputs))


# The sum of whole numbers is exact, and divided by 3 once.
def test_an_average_is_the_sum_divided_once(context: polypath.Context) -> None:
    inputs = [numbers(rank, PART) for rank in range(RANKS)]

    def call(own: Collectives) -> np.ndarray:
        buffer = buffer_of(context, own.gpu, inputs[own.rank])
        own.all_reduce(buffer, op="average", dtype="float32")
        return buffer.numpy().view(np.float32).copy()

    for found in among_ranks(context, RANKS, call):
        assert np.array_equal(found, sum(inputs) / np.float32(RANKS))


def test_all_ranks_have_what_the_root_gives(context: polypath.Context) -> None:
    def call(own: Collectives) -> np.ndarray:
        buffer = buffer_of(context, own.gpu, numbers(own.rank, PART))
        own.broadcast(buffer, root=2, dtype="float32")
        return buffer.numpy().view(np.float32).copy()

    for found in among_ranks(context, RANKS, call):
        assert np.array_equal(found, numbers(2, PART))


def test_an_output_that_is_the_part_in_place_is_in_place(
    context: polypath.Context, torch: Torch
) -> None:
    def call(own: Collectives) -> np.ndarray:
        whole = torch.tensor(own.rank, RANKS * PART, np.float32)
        part = whole[own.rank * PART : (own.rank + 1) * PART]
        part.array[:] = numbers(own.rank, PART)
        own.all_gather(part, whole)
        own.barrier()
        torch.current[own.rank].synchronize()
        return whole.array

    for found in among_ranks(context, RANKS, call):
        assert np.array_equal(found, np.concatenate([numbers(r, PART) for r in range(RANKS)]))


# --- tensors and streams ---


def test_tensors_are_reduced_in_the_order_of_the_current_stream(
    context: polypath.Context, torch: Torch
) -> None:
    def call(own: Collectives) -> np.ndarray:
        stream = torch.current[own.rank].cuda_stream
        tensor = torch.tensor(own.rank, PART, np.float32)
        before = buffer_of(context, "host0", numbers(own.rank, PART))
        after = context.allocate("host0", 4 * PART)
        context.copy_addresses(tensor.data_ptr(), before.address, 4 * PART, own.gpu, stream)
        own.all_reduce(tensor)
        context.copy_addresses(after.address, tensor.data_ptr(), 4 * PART, own.gpu, stream)
        own.barrier()
        stream.synchronize()
        assert ("write", tensor) in torch.log
        return after.numpy().view(np.float32).copy()

    for found in among_ranks(context, RANKS, call):
        assert np.array_equal(found, sum(numbers(rank, PART) for rank in range(RANKS)))
    assert context.violations() == []


def test_a_named_stream_is_used_and_the_allocator_told(
    context: polypath.Context, torch: Torch
) -> None:
    def call(own: Collectives) -> np.ndarray:
        stream = TorchStream(context, own.rank)
        tensor = torch.tensor(own.rank, PART, np.float32)
        tensor.array[:] = numbers(own.rank, PART)
        own.all_reduce(tensor, op="max", stream=stream)
        own.barrier()
        stream.synchronize()
        assert ("record_stream", tensor, stream) in torch.log
        return tensor.array

    for found in among_ranks(context, RANKS, call):
        assert np.array_equal(found, np.max([numbers(r, PART) for r in range(RANKS)], axis=0))
    assert context.violations() == []


def test_arrays_of_cupy_and_of_the_array_interface(context: polypath.Context, cupy: Cupy) -> None:
    class Shown:
        def __init__(self, buffer: polypath.Buffer) -> None:
            self.buffer = buffer
            self.__cuda_array_interface__ = {
                "data": (buffer.address, False), "shape": (PART,), "typestr": "<f4", "version": 3,
            }  # fmt: skip

    def call(own: Collectives) -> np.ndarray:
        with cupy.cuda.Device(own.rank):
            array = cupy.empty(PART, np.float32)
        array.array[:] = numbers(own.rank, PART)
        shown = Shown(buffer_of(context, own.gpu, np.zeros(PART, np.float32)))
        own.all_reduce(array, shown)
        own.barrier()
        cupy.current[own.rank].synchronize()
        return shown.buffer.numpy().view(np.float32).copy()

    for found in among_ranks(context, RANKS, call):
        assert np.array_equal(found, sum(numbers(rank, PART) for rank in range(RANKS)))


def test_what_was_chosen_is_told_and_may_be_narrowed(context: polypath.Context) -> None:
    def call(own: Collectives) -> Any:
        own.choose_from(["ring"])
        chosen = own.prepare("all_reduce", PART, "float32")
        assert chosen == own.prepare("allreduce", PART, "float32")
        tensor = buffer_of(context, own.gpu, numbers(own.rank, PART))
        own.all_reduce(tensor, dtype="float32")
        return chosen

    for chosen in among_ranks(context, 2, call):
        assert chosen["algorithm"] == "ring"
        assert chosen["executor"] in ("stream", "graph")
        assert chosen["predicted_seconds"] > 0


# --- how ranks meet ---


def sums_of(context: polypath.Context, own: Collectives) -> float:
    """Return an element of a sum over the ranks, each of which gives its number plus one."""
    buffer = buffer_of(context, own.gpu, np.full(8, own.rank + 1, np.float32))
    own.all_reduce(buffer, dtype="float32")
    own.close()
    return float(buffer.numpy().view(np.float32)[3])


def test_ranks_meet_by_a_folder(context: polypath.Context, tmp_path: Path) -> None:
    def be(rank: int) -> float:
        own = Collectives.from_file(tmp_path / "job", rank, 2, context=context, timeout=30)
        return sums_of(context, own)

    assert on_threads(2, be) == [3, 3]


def test_ranks_meet_by_an_address(context: polypath.Context) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"

    def be(rank: int) -> float:
        own = Collectives.from_address(address, rank, 2, context=context, timeout=30)
        return sums_of(context, own)

    assert on_threads(2, be) == [3, 3]


def test_ranks_meet_by_mpi4py(context: polypath.Context) -> None:
    table = Table(2)

    def be(rank: int) -> float:
        own = Collectives.from_mpi(FakeComm(table, rank), context=context)
        return sums_of(context, own)

    assert on_threads(2, be) == [3, 3]


def test_ranks_meet_by_torch_distributed(
    context: polypath.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(2)

    monkeypatch.setitem(sys.modules, "torch.distributed", fake_distributed(table))

    def be(rank: int) -> float:
        return sums_of(context, Collectives.from_torch(FakeComm(table, rank), context=context))

    assert on_threads(2, be) == [3, 3]


def test_ranks_have_the_gpus_that_they_name(context: polypath.Context) -> None:
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> tuple[str, float]:
        own = Collectives.from_threads(meeting, rank, ["gpu3", 1][rank], context=context)
        return own.gpu, sums_of(context, own)

    assert on_threads(2, be) == [("gpu3", 3), ("gpu1", 3)]


@pytest.mark.parametrize("nodes", [1, 2])
def test_the_example_sums_and_gathers(nodes: int) -> None:
    said = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "collectives.py"), str(nodes)],
        capture_output=True, text=True, check=True, timeout=100,
        env={key: value for key, value in os.environ.items() if key != "LOCAL_RANK"},
    ).stdout  # fmt: skip

    assert said.splitlines() == [
        f"rank {rank} on node {rank * nodes // 4} of {nodes}: the sum is 10.0, rank 0 had 1.0"
        for rank in range(4)
    ]
