"""What all ranks say, at once, where one fails, leaves or does not come, also at the last call."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polypath
import pytest
from polypath import Collectives
from rank_threads import buffer_of, numbers, on_threads

STANDIN = Path(polypath.__file__).parent / "standin"
LONGEST = 100  # seconds
WAITS = 60  # seconds: what a rank that has to be told would wait for

# Two ranks, with one last call in which something happens to rank 1. The stand-in runs no kernels.
PROGRAM = """
import os, sys, threading
import polypath

rank, folder, what, nodes = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
machine = polypath.Context()
ranks = polypath.Collectives.from_file(
    folder, rank, 2, rank, context=machine, node=f"n{rank * nodes // 2}"
)
ranks.choose_from(["exchange"])
stream = machine.stream(ranks.gpu)
mine, all = machine.allocate(ranks.gpu, 4096), machine.allocate(ranks.gpu, 8192)


def call(dtype="float32"):
    ranks.all_gather(mine, all, stream, dtype=dtype)
    stream.synchronize()


def fail():
    raise KeyError("no more gradients")


def last():
    if what == "goes on": return [call() for _ in range(1000)]
    if rank == 0 or what == "nothing": return call()
    if what == "killed": os.kill(os.getpid(), 9)
    if what == "raises": fail()
    if what == "another type": call("int32")
    if what == "exits": sys.exit(3)
    if what == "ends in a thread":
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()


call()
if what in ("returns", "exits", "ends in a thread"):
    last()
else:
    with ranks: last()
print("the end")
"""


def ended(
    folder: Path, program: str, *arguments: object, **of_second: str
) -> list[tuple[int, str, str]]:
    """Run two ranks on the stand-in driver; return the status, output and errors of each.

    The second one has more in its environment.
    """
    environment = {
        **os.environ, "LD_LIBRARY_PATH": str(STANDIN), "STANDIN_CHAOS": "7", "STANDIN_STRICT": "1",
        "XDG_CACHE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder), "POLYPATH_COMMUNICATOR_TIMEOUT": str(WAITS),
    }  # fmt: skip
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, *map(str, (rank, folder / "job", *arguments))],
            env={**environment, **(of_second if rank == 1 else {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=LONGEST) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *each) for process, each in zip(processes, said)]


# Nobody waits until the time is over: the error would say so.
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize(
    ("what", "why", "status"),
    [
        ("killed", "ank 1", -signal.SIGKILL),
        ("raises", "Rank 1 has given up (KeyError: 'no more gradients')", 1),
        ("another type", "ank 1 calls allgather of 1024 int32", 1),
        ("returns", "Rank 1 has left, where rank 0 calls allgather", 1),
        ("exits", "Rank 1 has left, where rank 0 calls allgather", 3),
        ("ends in a thread", "Rank 1 has left, where rank 0 calls allgather", 1),
    ],
)
def test_what_happens_in_the_last_call_is_an_error_of_both_ranks(
    tmp_path: Path, nodes: int, what: str, why: str, status: int
) -> None:
    (of_first, said_first, errors), (of_second, said_second, others) = ended(
        tmp_path, PROGRAM, what, nodes
    )

    assert of_first == 1
    assert "in call" in errors or "synchronize" in errors
    assert why in errors
    assert f"After {WAITS}" not in errors
    assert "the end" not in said_first
    assert of_second == status, others
    assert what in ("returns", "ends in a thread") or "the end" not in said_second


# As after an error of a GPU, which every question about it answers with from then on; of the second
# one the driver knows no name. How many calls it takes to ask so often depends on how fast they
# end.
@pytest.mark.parametrize("failure", ["cuEventQuery:4-", "cuEventQuery:4-:700"])
def test_an_error_of_one_gpu_is_one_of_both_ranks(tmp_path: Path, failure: str) -> None:
    for status, output, errors in ended(tmp_path, PROGRAM, "goes on", 1, STANDIN_FAIL=failure):
        assert status == 1
        assert "the end" not in output
        assert "cuEventQuery failed with" in errors


def test_ranks_of_a_program_that_has_done_with_them_need_not_be_closed() -> None:
    program = """
import polypath, threading
context, meeting, ends = polypath.Context("beluga"), polypath.ThreadGroup(2), [None, None]
def be(rank):
    ends[rank] = polypath.Collectives.from_threads(meeting, rank, context=context)
    ends[rank].all_reduce(context.allocate(ends[rank].gpu, 400), dtype="float32")
threads = [threading.Thread(target=be, args=(rank,)) for rank in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
%s
"""
    for last in ("", "ends.clear()"):
        done = subprocess.run(
            [sys.executable, "-c", program % last], capture_output=True, text=True,
            timeout=LONGEST, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


def joined(
    context: polypath.Context, rank: int, meeting: polypath.ThreadGroup, nodes: int
) -> Collectives:
    return Collectives.from_threads(
        meeting, rank, rank, context=context, node=f"n{rank * nodes // 2}"
    )


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_forked_child_leaves_the_ranks_to_its_parent(
    context: polypath.Context, nodes: int
) -> None:
    meeting = polypath.ThreadGroup(2)
    ends = on_threads(2, lambda rank: joined(context, rank, meeting, nodes))
    child = os.fork()
    if child == 0:
        try:
            with ends[0]:
                raise KeyError("of the child")
        except KeyError as error:
            ends[1].close()
            os._exit(7 if error.args == ("of the child",) else 1)
        os._exit(2)

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 7
    on_threads(2, lambda rank: ends[rank].close())


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_refused_call_changes_nothing(context: polypath.Context, nodes: int) -> None:
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> np.ndarray:
        with joined(context, rank, meeting, nodes) as own:
            whole = buffer_of(context, own.gpu, numbers(rank, 8))
            with pytest.raises(polypath.Error, match="averages of whole numbers"):
                own.all_reduce(whole, op="average", dtype="int32")
            with pytest.raises(polypath.Error, match="'avrage' is unknown"):
                own.all_reduce(whole, op="avrage", dtype="float32")
            with pytest.raises(polypath.Error, match="averages of whole numbers"):
                own.prepare("allreduce", 8, "int32", op="average")
            with pytest.raises(polypath.Error, match="differ both ways"):
                own.prepare("alltoallv", 1, "float32", counts=[[0, 1], [0, 0]], in_place=True)
            own.all_reduce(whole, dtype="float32")
            return whole.numpy().view(np.float32).copy()

    for result in on_threads(2, be):
        assert np.array_equal(result, numbers(0, 8) + numbers(1, 8))


def test_what_all_ranks_find_out_to_be_impossible_changes_nothing(
    context: polypath.Context,
) -> None:
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> np.ndarray:
        with joined(context, rank, meeting, 1) as own:
            whole = buffer_of(context, own.gpu, numbers(rank, 8))
            own.choose_from(["tree"])  # which is no algorithm of all-reduces
            with pytest.raises(polypath.Error, match="tree"):
                own.all_reduce(whole, dtype="float32")
            own.choose_from()
            own.all_reduce(whole, dtype="float32")
            return whole.numpy().view(np.float32).copy()

    for result in on_threads(2, be):
        assert np.array_equal(result, numbers(0, 8) + numbers(1, 8))


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("in_place", [True, False])
def test_ranks_may_exchange_nothing(context: polypath.Context, nodes: int, in_place: bool) -> None:
    meeting = polypath.ThreadGroup(2)

    def be(rank: int) -> list[np.ndarray]:
        with joined(context, rank, meeting, nodes) as own:
            given = buffer_of(context, own.gpu, numbers(rank, 3))
            taken = buffer_of(context, own.gpu, np.zeros(3, np.float32))
            output = None if in_place else taken
            own.prepare("alltoallv", 1, "float32", counts=[[3, 0], [0, 3]], in_place=in_place)
            own.all_to_all_v(given, [[3, 0], [0, 3]], output, dtype="float32")
            kept = (given if in_place else taken).numpy().view(np.float32).copy()
            own.all_reduce(given, dtype="float32")
            return [kept, given.numpy().view(np.float32).copy()]

    for rank, (kept, summed) in enumerate(on_threads(2, be)):
        assert np.array_equal(kept, numbers(rank, 3))
        assert np.array_equal(summed, numbers(0, 3) + numbers(1, 3))


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


# The other one never comes, or only listens. The settings' timeout is longer than a test may take.
@pytest.mark.parametrize("what", ["alone", "nobody listens", "a stranger listens"])
def test_ranks_meet_within_the_time_that_they_give(context: polypath.Context, what: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    with socket.socket() as stranger:
        if what == "a stranger listens":
            stranger.bind(("127.0.0.1", int(address.split(":")[1])))
            stranger.listen()
        with pytest.raises(polypath.Error, match=r"rank 0|rank 1"):
            Collectives.from_address(
                address, 0 if what == "alone" else 1, 2, context=context, timeout=0.3
            )


def test_ranks_that_are_threads_meet_within_the_time_that_they_give(
    context: polypath.Context,
) -> None:
    with pytest.raises(polypath.Error, match="rank 1 did not come in time"):
        Collectives.from_threads(polypath.ThreadGroup(2), 0, context=context, timeout=0.3)


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_a_time_that_is_none_is_refused(context: polypath.Context, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        Collectives.from_threads(polypath.ThreadGroup(2), 0, context=context, timeout=timeout)


def test_a_port_that_the_system_would_choose_is_refused(context: polypath.Context) -> None:
    with pytest.raises(polypath.Error, match="port 0"):
        Collectives.from_address("127.0.0.1:0", 0, 2, context=context)


JOINS = """
import sys, polypath
polypath.Collectives.from_address(
    sys.argv[1], int(sys.argv[2]), 2, 0, context=polypath.Context("beluga"), node=sys.argv[2]
).close()
"""


def test_a_flood_of_strangers_is_a_few_lines() -> None:
    port = free_port()

    def rank(number: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", JOINS, f"127.0.0.1:{port}", str(number)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def come() -> None:
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), LONGEST) as stranger:
                    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    stranger.recv(1)  # until it is closed
                return
            except ConnectionResetError:
                return
            except ConnectionRefusedError:
                time.sleep(0.01)

    with rank(0) as first:
        for _ in range(10):
            come()
        with rank(1) as second:
            _, errors = first.communicate(timeout=LONGEST)
            second.communicate(timeout=LONGEST)

    assert (first.returncode, second.returncode) == (0, 0), errors
    assert 1 <= errors.count("no rank of Polypath") <= 3


WAITING = """
import sys, threading, polypath
what, folder, address = sys.argv[1:]
context = polypath.Context("beluga")
def say(): print("waits", flush=True)
if what == "by files":
    say(); polypath.Collectives.from_file(folder, 0, 2, context=context)
if what == "by TCP":
    say(); polypath.Collectives.from_address(address, 0, 2, context=context)
if what == "for rank 0":
    say(); polypath.Collectives.from_address(address, 1, 2, context=context)
if what == "by threads":
    say(); polypath.Collectives.from_threads(polypath.ThreadGroup(2), 0, context=context)
meeting = polypath.ThreadGroup(2)
nodes = 2 if what.endswith("nodes") else 1
def be(rank):
    return polypath.Collectives.from_threads(
        meeting, rank, rank, context=context, node=f"n{rank * nodes // 2}"
    )
held = []  # it does nothing more, and does not go
threading.Thread(target=lambda: held.append(be(1)), daemon=True).start()
with be(0) as ranks:
    say()
    if what.startswith("in a barrier"): ranks.barrier()
    if what.startswith("in a call"): ranks.prepare("allreduce", 8, "float32")
"""


@pytest.mark.parametrize(
    "what",
    [
        "by files", "by TCP", "for rank 0", "by threads", "in a barrier", "in a call",
        "in a barrier of nodes", "at the end",
    ],
)  # fmt: skip
def test_ctrl_c_ends_what_waits_for_ranks(tmp_path: Path, what: str) -> None:
    waiting = subprocess.Popen(
        [sys.executable, "-c", WAITING, what, str(tmp_path / "job"), f"127.0.0.1:{free_port()}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "waits\n"
        time.sleep(0.2)
        waiting.send_signal(signal.SIGINT)
        _, errors = waiting.communicate(timeout=LONGEST)
    finally:
        waiting.kill()
    assert "KeyboardInterrupt" in errors
    assert waiting.returncode == -signal.SIGINT


LEFT = """
import sys, polypath
context = polypath.Context("beluga")
left = [
    polypath.Collectives.from_file(
        f"{sys.argv[2]}-{each}", int(sys.argv[1]), 2, context=context, node=sys.argv[1]
    )
    for each in range(int(sys.argv[3]))
]
print("joined", flush=True)
sys.stdin.readline() if sys.argv[1] == "1" else None
"""


@pytest.mark.parametrize("groups", [1, 2])
def test_ctrl_c_ends_what_waits_at_the_end_of_the_program(tmp_path: Path, groups: int) -> None:
    first, second = (
        subprocess.Popen(
            [sys.executable, "-c", LEFT, str(rank), str(tmp_path / "job"), str(groups)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    )
    try:
        for each in (first, second):
            assert each.stdout is not None
            assert each.stdout.readline() == "joined\n"
        time.sleep(0.2)
        first.send_signal(signal.SIGINT)
        _, errors = first.communicate(timeout=LONGEST)
        _, others = second.communicate("\n", timeout=LONGEST)
    finally:
        first.kill()
        second.kill()
    assert "KeyboardInterrupt" in errors
    assert first.returncode != 0
    assert "interrupted" in others
    assert second.returncode == 1


def test_what_differs_in_the_settings_is_named_when_ranks_join(tmp_path: Path) -> None:
    program = """
import os, sys
os.environ["POLYPATH_COLLECTIVE_SCRATCH"] = ("384M", "300M")[int(sys.argv[1])]
import polypath
polypath.Collectives.from_file(sys.argv[2], int(sys.argv[1]), 2, context=polypath.Context())
"""
    for status, _, errors in ended(tmp_path, program):
        assert status == 1
        assert "The ranks differ in POLYPATH_COLLECTIVE_SCRATCH" in errors
        assert "'384M' at rank 0 and '300M' at rank 1" in errors


def test_streams_say_that_their_collectives_have_failed(context: polypath.Context) -> None:
    meeting, both = polypath.ThreadGroup(2), threading.Barrier(2)
    raised: list[Any] = []

    def be(rank: int) -> None:
        own = joined(context, rank, meeting, 1)
        stream = context.stream(own.gpu)
        whole = buffer_of(context, own.gpu, numbers(rank, 8))
        own.all_reduce(whole, stream=stream, dtype="float32")
        own.synchronize()
        both.wait()
        if rank == 1:
            own._abandon(KeyError("no more gradients"))
            return
        while True:
            try:
                stream.synchronize()
            except polypath.Error as error:
                raised.append(str(error))
                break
            time.sleep(0.01)
        with pytest.raises(polypath.Error, match="no more gradients"):  # who waits may not look
            own.close()

    on_threads(2, be)

    assert raised
    assert "no more gradients" in raised[0]
