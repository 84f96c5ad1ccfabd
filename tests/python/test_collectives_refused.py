"""What polypath.Collectives refuses, and in which words."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchStream
from polypath import Collectives
from rank_threads import among_ranks, buffer_of, on_threads

Make = Callable[[Torch, Collectives], Any]


def refused(
    context: polypath.Context, kind: type[BaseException], call: Callable[[Collectives], Any]
) -> str:
    """Return the one text with which all of two ranks refuse a call."""

    def be(own: Collectives) -> str:
        with pytest.raises(kind) as error:
            call(own)
        return str(error.value)

    return among_ranks(context, 2, be)[0]


def tensor(torch: Torch, own: Collectives, count: int = 64, dtype: Any = np.float32) -> Any:
    return torch.tensor(own.rank, count, dtype)


REFUSED: dict[str, tuple[Make, str]] = {
    "of the host": (
        lambda torch, own: own.all_reduce(torch.tensor(None, 64, np.float32)),
        r"memory of the host cannot be used \(this rank's GPU is gpu0\)",
    ),
    "of another GPU": (
        lambda torch, own: own.all_reduce(torch.tensor(3, 64, np.float32)),
        "memory of gpu3 cannot be used",
    ),
    "with gaps": (
        lambda torch, own: own.all_reduce(tensor(torch, own)[::2]), "tensor is not contiguous",
    ),
    "of a type without sums": (
        lambda torch, own: own.all_reduce(tensor(torch, own, dtype=np.complex64)),
        r"elements of type complex64 cannot be used \(the types are float16, bfloat16",
    ),
    "called another type than it has": (
        lambda torch, own: own.all_reduce(tensor(torch, own), dtype="int32"),
        "elements of type float32 are not int32",
    ),
    "with a gradient": (
        lambda torch, own: own.all_reduce(torch.tensor(own.rank, 8, requires_grad=True)),
        "requires_grad",
    ),
    "with an output of another type": (
        lambda torch, own: own.all_reduce(tensor(torch, own), tensor(torch, own, 64, np.int32)),
        "elements of type float32 do not become int32",
    ),
    "with an output that is too small": (
        lambda torch, own: own.all_gather(tensor(torch, own), tensor(torch, own, 127)),
        r"output of 127 elements cannot be used \(the result has 128\)",
    ),
    "with parts of unequal length": (
        lambda torch, own: own.reduce_scatter(tensor(torch, own, 65)),
        r"65 elements cannot be divided \(each of 2 ranks",
    ),
    "from a root that is no rank": (
        lambda torch, own: own.broadcast(tensor(torch, own), root=2),
        r"root 2 is no rank \(ranks are 0 to 1\)",
    ),
    "with a count that is negative": (
        lambda torch, own: own.all_to_all_v(tensor(torch, own), [[0, 64], [64, -1]]),
        r"these counts cannot be used \(one is negative",
    ),
    "with counts for another number of ranks": (
        lambda torch, own: own.all_to_all_v(tensor(torch, own), [[0, 64]]),
        "there are 1 rows for 2 ranks",
    ),
    "with counts that are not those of the tensor": (
        lambda torch, own: own.all_to_all_v(tensor(torch, own), [[0, 63], [63, 0]]),
        r"input of 64 elements cannot be used \(this rank's counts add up to 63",
    ),
    "from a rank to itself": (
        lambda torch, own: own.send_receive(tensor(torch, own), 1, 1), "rank 1 sends to itself",
    ),
    "to a rank that there is not": (
        lambda torch, own: own.send_receive(tensor(torch, own), 0, 2),
        r"there is no rank 2 \(ranks are 0 to 1\)",
    ),
    "by an unknown reduction": (
        lambda torch, own: own.all_reduce(tensor(torch, own), op="median"), "median",
    ),
    "of a type that is only moved": (
        lambda torch, own: own.reduce(tensor(torch, own, dtype=bool)),
        r"elements of type bool cannot be reduced \(they are only moved",
    ),
    "called a type that there is not": (
        lambda torch, own: own.all_reduce(tensor(torch, own), dtype="float"),
        r"elements of type float cannot be used \(the types are",
    ),
    "with a count that is no whole number": (
        lambda torch, own: own.all_to_all_v(tensor(torch, own), [[0, 64], [1.5, 0]]),
        r"these counts cannot be used \(1.5 is no whole number",
    ),
    "of more elements than there can be": (
        lambda _, own: own.prepare("allreduce", 1 << 61, "float64"),
        f"{1 << 61} elements cannot be prepared",
    ),
    "of less than no elements": (
        lambda _, own: own.prepare("allreduce", -1, "float64"), "-1 elements",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_memory_that_cannot_be_given_or_taken(
    context: polypath.Context, torch: Torch, what: str
) -> None:
    call, text = REFUSED[what]

    said = refused(context, (ValueError, polypath.Error), lambda own: call(torch, own))

    assert re.search(text.replace("gpu0", "gpu[01]"), said)


def test_an_output_that_overlaps_the_input(context: polypath.Context, torch: Torch) -> None:
    def call(own: Collectives) -> None:
        whole = tensor(torch, own, 96)
        own.all_reduce(whole[:64], whole[32:])

    assert "input and output overlap" in refused(context, ValueError, call)


def test_an_output_that_is_read_only(context: polypath.Context) -> None:
    class Shown:
        def __init__(self, buffer: polypath.Buffer) -> None:
            self.buffer = buffer
            self.__cuda_array_interface__ = {
                "data": (buffer.address, True), "shape": (64,), "typestr": "<f4", "version": 3,
            }  # fmt: skip

    def call(own: Collectives) -> None:
        own.all_reduce(Shown(context.allocate(own.gpu, 256)))

    assert "output is read-only" in refused(context, ValueError, call)


def test_bytes_without_a_type(context: polypath.Context) -> None:
    def call(own: Collectives) -> None:
        own.all_reduce(context.allocate(own.gpu, 256))

    assert 'dtype="float32"' in refused(context, ValueError, call)


def test_a_stream_of_another_gpu(context: polypath.Context, torch: Torch) -> None:
    def call(own: Collectives) -> None:
        own.all_reduce(tensor(torch, own), stream=TorchStream(context, 3))

    assert "stream of gpu3 cannot be used" in refused(context, ValueError, call)


def test_calls_after_close(context: polypath.Context) -> None:
    def call(own: Collectives) -> None:
        buffer = buffer_of(context, own.gpu, np.zeros(8, np.float32))
        own.close()
        own.all_reduce(buffer, dtype="float32")

    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> str:
        own = Collectives.from_threads(meeting, rank, context=context)
        with pytest.raises(polypath.Error) as error:
            call(own)
        return str(error.value)

    assert all("the collectives are closed" in said for said in on_threads(2, be))


# --- ranks that do not agree ---


def test_ranks_that_call_something_else_are_told_who_differs(context: polypath.Context) -> None:
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> str:
        own = Collectives.from_threads(meeting, rank, context=context)
        buffer = buffer_of(context, own.gpu, np.zeros(8, np.float32))
        with pytest.raises(polypath.Error) as error:
            own.all_reduce(buffer, op=["sum", "max"][rank], dtype="float32")
            own.barrier()
        own.close()
        return str(error.value)

    for said in on_threads(2, be):
        assert "rank 0" in said.lower()
        assert "rank 1" in said.lower()
        assert "max" in said


def test_two_ranks_with_one_gpu(context: polypath.Context) -> None:
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> str:
        with pytest.raises(polypath.Error) as error:
            Collectives.from_threads(meeting, rank, "gpu1", context=context)
        return str(error.value)

    assert all("two ranks have gpu1" in said for said in on_threads(2, be))


def test_a_rank_that_comes_twice(context: polypath.Context) -> None:
    meeting = polypath.ThreadGroup(1)
    Collectives.from_threads(meeting, 0, context=context).close()

    with pytest.raises(polypath.Error, match="rank 0 is there twice"):
        Collectives.from_threads(meeting, 0, context=context)


def test_a_rank_that_does_not_come_is_named(context: polypath.Context, tmp_path: Any) -> None:
    with pytest.raises(polypath.Error, match="rank 1"):
        Collectives.from_file(tmp_path, 0, 2, context=context, timeout=0.3)


def test_what_the_function_of_others_raises_is_told(context: polypath.Context) -> None:
    class Comm:
        Get_rank = staticmethod(lambda: 0)
        Get_size = staticmethod(lambda: 2)

        def allgather(self, mine: bytes) -> list[bytes]:
            raise ValueError(f"no network for {len(mine)} bytes")

    with pytest.raises(polypath.Error, match="no network for"):
        Collectives.from_mpi(Comm(), context=context)


def test_ctrl_c_within_the_function_of_others_stays_ctrl_c(context: polypath.Context) -> None:
    class Comm:
        Get_rank = staticmethod(lambda: 0)
        Get_size = staticmethod(lambda: 2)

        def allgather(self, _: bytes) -> list[bytes]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Collectives.from_mpi(Comm(), context=context)


def test_a_function_that_returns_no_bytes(context: polypath.Context) -> None:
    class Comm:
        Get_rank = staticmethod(lambda: 0)
        Get_size = staticmethod(lambda: 2)

        def allgather(self, mine: bytes) -> list[str]:
            return [str(mine), "b"]

    with pytest.raises(polypath.Error, match="does not return bytes"):
        Collectives.from_mpi(Comm(), context=context)


# --- ranks that end by an error ---


def test_a_rank_that_ends_by_an_error_is_told_to_the_others(context: polypath.Context) -> None:
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> str:
        if rank == 0:
            with (
                pytest.raises(KeyError),
                Collectives.from_threads(meeting, 0, context=context),
            ):
                raise KeyError("gradients")
            return ""
        own = Collectives.from_threads(meeting, 1, context=context)
        with pytest.raises(polypath.Error) as error:
            own.barrier()
        own.close()
        return str(error.value)

    said = on_threads(2, be)[1]

    assert "Rank 0 has given up (KeyError: 'gradients')" in said


PROGRAM = """
import sys, threading, polypath
from polypath import Collectives

machine, meeting = polypath.Context("h200x4"), polypath.ThreadGroup(2)
kept = [None, None]

def be(rank):
    kept[rank] = Collectives.from_threads(meeting, rank, context=machine)

threads = [threading.Thread(target=be, args=(rank,)) for rank in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
raise SystemError("and nobody has closed anything")
"""


def test_a_program_that_ends_by_an_error_waits_for_nobody() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                         timeout=60, check=False)  # fmt: skip

    assert run.returncode == 1
    assert "nobody has closed anything" in run.stderr
    assert "Fatal" not in run.stderr
