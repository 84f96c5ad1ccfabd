"""polypath.Collectives of ranks that are on several nodes, told so on one computer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polypath
import pytest
from polypath import Collectives
from rank_tables import FakeComm, Table, fake_distributed
from rank_threads import buffer_of, numbers, on_threads

NODES, LOCALS, PART = 2, 2, 600
RANKS = NODES * LOCALS
LONGEST = 100  # seconds


def among_nodes(
    context: polypath.Context, what: Callable[[Collectives], Any], locals_: int = LOCALS
) -> list[Any]:
    """Do it at every rank, each with a GPU of its own; return what each returns."""
    meeting = polypath.ThreadGroup(RANKS)

    def be(rank: int) -> Any:
        where = {"gpu": rank, "node": str(rank // locals_)}
        with Collectives.from_threads(meeting, rank, context=context, **where) as own:
            result = what(own)
            own.barrier()
            return result

    return on_threads(RANKS, be)


def contents(buffer: polypath.Buffer) -> np.ndarray:
    return buffer.numpy().view(np.float32).copy()


def test_each_rank_has_what_the_definition_says(context: polypath.Context) -> None:
    inputs = [numbers(rank, RANKS * PART) for rank in range(RANKS)]

    def call(own: Collectives) -> list[np.ndarray]:
        whole = buffer_of(context, own.gpu, inputs[own.rank])
        part = buffer_of(context, own.gpu, inputs[own.rank][:PART])
        found = [buffer_of(context, own.gpu, np.zeros(RANKS * PART, np.float32)) for _ in range(4)]
        scattered = buffer_of(context, own.gpu, np.zeros(PART, np.float32))
        own.all_reduce(whole, found[0], dtype="float32")
        own.reduce(whole, 2, found[1], "max", dtype="float32")
        own.reduce_scatter(whole, scattered, dtype="float32")
        own.all_gather(part, found[2], dtype="float32")
        own.all_to_all(whole, found[3], dtype="float32")
        own.broadcast(whole, 3, dtype="float32")
        assert own.nodes == NODES
        return [contents(each) for each in (*found, scattered, whole)]

    results = among_nodes(context, call)

    total, gathered = sum(inputs), np.concatenate([each[:PART] for each in inputs])
    for rank, (summed, largest, gather, given, scattered, root) in enumerate(results):
        own = slice(rank * PART, (rank + 1) * PART)
        assert np.array_equal(summed, total)
        assert rank != 2 or np.array_equal(largest, np.max(inputs, axis=0))
        assert np.array_equal(scattered, total[own])
        assert np.array_equal(gather, gathered)
        assert np.array_equal(given, np.concatenate([each[own] for each in inputs]))
        assert np.array_equal(root, inputs[3])
    assert context.violations() == []


def test_calls_on_streams_are_in_their_order(context: polypath.Context) -> None:
    def call(own: Collectives) -> np.ndarray:
        stream = context.stream(own.gpu)
        tensor = buffer_of(context, own.gpu, numbers(own.rank, PART))
        after = context.allocate("host0", tensor.nbytes)
        own.all_reduce(tensor, stream=stream, dtype="float32")
        own.barrier(stream)
        own.all_reduce(tensor, op="max", stream=stream, dtype="float32")
        context.copy(after, tensor, stream=stream)
        own.barrier()
        stream.synchronize()
        return contents(after)

    for found in among_nodes(context, call):
        assert np.array_equal(found, sum(numbers(rank, PART) for rank in range(RANKS)))
    assert context.violations() == []


def test_what_is_prepared_says_that_nothing_is_predicted(context: polypath.Context) -> None:
    def call(own: Collectives) -> dict[str, Any]:
        return own.prepare("allreduce", PART, "float32")

    for chosen in among_nodes(context, call):
        assert chosen == {
            "algorithm": "nodes", "executor": "stream", "piece_bytes": 1 << 20,
            "several_paths": False, "predicted_seconds": None,
        }  # fmt: skip


def test_blocks_may_have_different_lengths(context: polypath.Context) -> None:
    counts = [[(3 * i + j * j) % 5 for j in range(RANKS)] for i in range(RANKS)]
    inputs = [numbers(rank, sum(counts[rank])) for rank in range(RANKS)]
    begins = [np.cumsum([0, *row]) for row in counts]  # of what each rank gives each rank

    def call(own: Collectives) -> np.ndarray:
        source = buffer_of(context, own.gpu, inputs[own.rank])
        gets = sum(row[own.rank] for row in counts)
        target = buffer_of(context, own.gpu, np.zeros(gets, np.float32))
        own.all_to_all_v(source, counts, target, dtype="float32")
        return contents(target)

    for rank, found in enumerate(among_nodes(context, call)):
        parts = [inputs[i][begins[i][rank] : begins[i][rank + 1]] for i in range(RANKS)]
        assert np.array_equal(found, np.concatenate(parts))


def test_one_rank_sends_another_one_its_tensor(context: polypath.Context) -> None:
    def call(own: Collectives) -> np.ndarray:
        buffer = buffer_of(context, own.gpu, numbers(own.rank, PART))
        own.send_receive(buffer, source=3, destination=0, dtype="float32")
        return contents(buffer)

    for rank, found in enumerate(among_nodes(context, call)):
        assert np.array_equal(found, numbers(3 if rank == 0 else rank, PART))


def test_an_all_to_all_wants_ranks_that_are_numbered_by_node(context: polypath.Context) -> None:
    meeting = polypath.ThreadGroup(RANKS)

    def be(rank: int) -> None:
        node = str(rank % NODES)
        with Collectives.from_threads(meeting, rank, rank, context=context, node=node) as own:
            tensor = buffer_of(context, own.gpu, numbers(rank, RANKS))
            with pytest.raises(polypath.Error, match="Number the ranks node by node"):
                own.all_to_all(tensor, dtype="float32")

    on_threads(RANKS, be)


def test_nodes_with_different_numbers_of_ranks_are_refused(context: polypath.Context) -> None:
    with pytest.raises(polypath.Error, match="The nodes have different numbers of ranks"):
        among_nodes(context, Collectives.barrier, locals_=3)


def test_a_host_that_there_is_not_is_named_at_all_ranks(
    context: polypath.Context, tmp_path: Path
) -> None:
    def be(rank: int) -> str:
        with pytest.raises(polypath.Error) as error:
            Collectives.from_file(tmp_path, rank, 2, context=context, node=str(rank),
                                  host=["", "no.such.host.invalid"][rank])  # fmt: skip
        return str(error.value)

    for said in on_threads(2, be):
        assert "Rank 1 cannot be reached from other nodes ('no.such.host.invalid' is no" in said


# --- ranks that meet over other libraries are divided by them, too ---


def sum_of(context: polypath.Context, own: Collectives) -> float:
    with own:
        buffer = buffer_of(context, own.gpu, np.full(8, own.rank + 1, np.float32))
        own.all_reduce(buffer, dtype="float32")
        return float(contents(buffer)[0])


def test_ranks_meet_by_mpi4py(context: polypath.Context) -> None:
    table = Table(RANKS)

    def be(rank: int) -> float:
        comm = FakeComm(table, rank)
        own = Collectives.from_mpi(comm, rank, context=context, node=str(rank % NODES))
        return sum_of(context, own)

    assert on_threads(RANKS, be) == [1 + 2 + 3 + 4] * RANKS


def test_ranks_meet_by_torch_distributed(
    context: polypath.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(RANKS)
    monkeypatch.setitem(sys.modules, "torch.distributed", fake_distributed(table))

    def be(rank: int) -> float:
        group = FakeComm(table, rank)
        own = Collectives.from_torch(group, rank, context=context, node=str(rank % NODES))
        return sum_of(context, own)

    assert on_threads(RANKS, be) == [1 + 2 + 3 + 4] * RANKS


# --- nodes of one rank, processes with simulated machines of their own ---

PROGRAM = """
import sys
import numpy as np
import polypath

rank, size, folder, end = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
machine = polypath.Context("h200x4")
with polypath.Collectives.from_file(
    folder, rank, size, context=machine, node=f"node{rank}"
) as ranks:
    assert (ranks.gpu, ranks.nodes) == ("gpu0", size)
    tensor = machine.allocate(ranks.gpu, 4 << 20)
    tensor.numpy().view(np.float32)[:] = np.arange(1 << 20) % 100 + rank
    ranks.all_reduce(tensor, dtype="float32")
    wanted = size * (np.arange(1 << 20) % 100) + size * (size - 1) / 2
    assert np.array_equal(tensor.numpy().view(np.float32), wanted)
    if end == "error" and rank == 1:
        raise KeyError("no more gradients")
    if end == "error":
        try:
            ranks.all_reduce(tensor, dtype="float32")
        except polypath.Error as error:
            print(error)
print("right")
"""


def ended(folder: Path, size: int, end: str) -> list[tuple[int, str, str]]:
    """Run all ranks; return the status, output and errors of each."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(rank), str(size), str(folder / "job"), end],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        said = [process.communicate(timeout=LONGEST) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *each) for process, each in zip(processes, said)]


def test_processes_sum_what_each_of_them_has(tmp_path: Path) -> None:
    for status, output, errors in ended(tmp_path, 3, "well"):
        assert (status, output) == (0, "right\n"), errors


def test_a_process_that_ends_by_an_error_is_named_by_one_of_another_node(tmp_path: Path) -> None:
    (status, output, errors), (failed, _, why) = ended(tmp_path, 2, "error")

    assert failed == 1
    assert "no more gradients" in why
    assert status == 0, errors
    assert "Rank 1 has given up (KeyError: 'no more gradients')" in output
