"""Ranks of polypath.Collectives that are processes of their own, on the stand-in driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polypath
import pytest

STANDIN = Path(polypath.__file__).parent / "standin"
LONGEST = 100  # seconds

# The stand-in runs no kernels, so nothing is reduced.
PROGRAM = """
import sys, time
from pathlib import Path
import numpy as np
import polypath

COUNT = 1 << 14
rank, size, folder, end = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
node = str(rank * int(sys.argv[5]) // size)
machine = polypath.Context()
assert not machine.simulated


def host(contents):
    buffer = machine.allocate("host0", 4 * len(contents))
    buffer.numpy().view(np.float32)[:] = contents
    return buffer


with polypath.Collectives.from_file(
    folder, rank, size, int(sys.argv[6]), context=machine, node=node
) as ranks:
    assert ranks.nodes == int(sys.argv[5])
    ranks.choose_from(["exchange", "host"])
    stream = machine.stream(ranks.gpu)
    given, taken = host(np.arange(COUNT) + COUNT * rank), host(np.zeros(COUNT * size))
    mine = machine.allocate(ranks.gpu, given.nbytes)
    everybodys = machine.allocate(ranks.gpu, taken.nbytes)
    machine.copy(mine, given, stream=stream)
    for _ in range(20):
        ranks.all_gather(mine, everybodys, stream, dtype="float32")
    machine.copy(taken, everybodys, stream=stream)
    stream.synchronize()
    assert np.array_equal(taken.numpy().view(np.float32), np.arange(COUNT * size))
    read = Path(folder + "-read")  # by the other one, whose results may fail from then on
    if rank == 0:
        read.touch()
    if end == "error" and rank == 1:
        while not read.exists():
            time.sleep(0.01)
        raise KeyError("no more gradients")
    while end == "error":
        try:
            ranks.all_gather(mine, everybodys, stream, dtype="float32")
        except polypath.Error as error:
            print(error)
            break
        time.sleep(0.01)
print("right")
"""


def ended(
    folder: Path,
    size: int,
    end: str,
    nodes: int = 1,
    sees_one: bool = False,
    **settings: str,
) -> list[tuple[int, str, str]]:
    """Run all ranks, which see all GPUs or one each; return what each of them ends with."""
    environment = {
        **os.environ, **settings,
        "LD_LIBRARY_PATH": str(STANDIN), "STANDIN_CHAOS": "7", "STANDIN_STRICT": "1",
        "XDG_CACHE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
    }  # fmt: skip
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM]
            + [str(word) for word in (rank, size, folder / "job", end, nodes)]
            + [str(0 if sees_one else rank)],
            env=environment | ({"CUDA_VISIBLE_DEVICES": str(3 - rank)} if sees_one else {}),
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


@pytest.mark.parametrize(("size", "nodes"), [(3, 1), (2, 2), (4, 2)])
def test_processes_gather_what_each_of_them_has(tmp_path: Path, size: int, nodes: int) -> None:
    for status, output, errors in ended(tmp_path, size, "well", nodes):
        assert (status, output) == (0, "right\n"), errors


@pytest.mark.parametrize(("size", "nodes"), [(3, 1), (4, 2)])
def test_processes_may_see_one_gpu_each(tmp_path: Path, size: int, nodes: int) -> None:
    for status, output, errors in ended(tmp_path, size, "well", nodes, sees_one=True):
        assert (status, output) == (0, "right\n"), errors


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_process_that_ends_by_an_error_is_named_by_the_other(tmp_path: Path, nodes: int) -> None:
    (status, output, errors), (failed, _, why) = ended(tmp_path, 2, "error", nodes)

    assert failed == 1
    assert "no more gradients" in why
    assert status == 0, errors
    assert "Rank 1 has given up (KeyError: 'no more gradients')" in output


def test_processes_whose_bytes_are_dropped_are_refused_once_and_then_go_by_the_host(
    tmp_path: Path,
) -> None:
    dropped = [ended(tmp_path, 2, "well", STANDIN_DROP_PEER_BYTES="1") for _ in range(2)]

    for status, output, errors in dropped[0]:
        assert (status, output) == (1, "")
        assert "rank 1 (gpu1) and rank 0 (gpu0) cannot exchange bytes" in errors
    for status, output, errors in dropped[1]:
        assert (status, output) == (0, "right\n"), errors
