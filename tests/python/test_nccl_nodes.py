"""Programs that use NCCL on several nodes under the preload library, over the stand-ins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from polypath import preloading
from standin_copies import AROUND, on_the_stand_in

PROGRAM = Path(__file__).parent / "nccl_nodes.py"
LIMIT = 300
NODES = 2
OURS = "Polypath"

pytestmark = on_the_stand_in


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder in which all programs keep what they have measured: that takes long."""
    return str(tmp_path_factory.mktemp("cache"))


def environment_of(folder: Path, seed: int, host: int, **more: str) -> dict[str, str]:
    """Return the variables of a process on a node, whose statistics go to the folder."""
    return {
        **os.environ,
        **AROUND,
        "STANDIN_MACHINE": "h200x8",
        "STANDIN_CHAOS": str(seed),
        "STANDIN_STRICT": "1",
        "STANDIN_NCCL_SLOW": "60",
        "NCCL_HOSTID": f"node{host}",
        "POLYPATH_NCCL_MEASURED": "1K",
        "POLYPATH_NCCL_NODES": "1",
        "LD_PRELOAD": preloading.library(),
        "POLYPATH_STATS": f"{folder}/",
        **more,
    }


def start(
    folder: Path, which: str, ranks: int, seed: int, *words: str, host: int, **more: str
) -> subprocess.Popen[str]:
    """Start one process."""
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), which, str(ranks), str(seed), *words],
        env=environment_of(folder, seed, host, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_all(
    folder: Path, ranks: int, seed: int, *words: str, **more: str
) -> list[subprocess.Popen[str]]:
    """Start a process for each rank, half of them on each node."""
    return [
        start(folder, str(rank), ranks, seed, *words, host=rank * NODES // ranks, **more)
        for rank in range(ranks)
    ]


def counted(
    folder: Path, programs: list[subprocess.Popen[str]]
) -> tuple[dict[str, dict[str, int]], set[str]]:
    """Return how many calls of each operation were whose, and why communicators are not served."""
    calls: dict[str, dict[str, int]] = {}
    why: set[str] = set()
    for program in programs:
        output, errors = program.communicate(timeout=LIMIT)
        assert (program.returncode, output) == (0, "right\n"), errors
    for program in programs:
        for file in folder.glob(f"*-{program.pid}.json"):
            found = json.loads(file.read_text())["nccl"]
            why.add(found["why_not"])
            for row in found["calls"]:
                of = calls.setdefault(row["operation"], {})
                of[row["by"]] = of.get(row["by"], 0) + row["calls"]
    return calls, why


@pytest.mark.parametrize(("ranks", "seed"), [(4, 1), (4, 2), (8, 3)])
def test_calls_of_all_types_are_ours_and_right_to_the_bit(
    tmp_path: Path, ranks: int, seed: int, cache: str
) -> None:
    programs = start_all(tmp_path, ranks, seed, "kinds", XDG_CACHE_HOME=cache)

    calls, why = counted(tmp_path, programs)

    assert {of: set(by) for of, by in calls.items()} == {
        "allreduce": {OURS},
        "reducescatter": {OURS},
        "allgather": {OURS},
    }
    assert why == {""}


def test_communicators_of_several_nodes_are_of_nccl_unless_asked_for(
    tmp_path: Path, cache: str
) -> None:
    programs = start_all(tmp_path, 4, 1, "uneven", XDG_CACHE_HOME=cache, POLYPATH_NCCL_NODES="0")

    calls, why = counted(tmp_path, programs)

    assert OURS not in {by for of in calls.values() for by in of}
    assert all("with POLYPATH_NCCL_NODES=1" in each for each in why)


@pytest.mark.parametrize(("ranks", "seed"), [(4, 4), (8, 5)])
def test_large_calls_go_in_pieces(tmp_path: Path, ranks: int, seed: int, cache: str) -> None:
    programs = start_all(tmp_path, ranks, seed, "large", XDG_CACHE_HOME=cache)

    calls, _ = counted(tmp_path, programs)

    assert calls["allreduce"] == {OURS: 2 * ranks}


@pytest.mark.parametrize(("ranks", "seed"), [(4, 6), (8, 7)])
def test_calls_of_ours_go_among_others_of_the_communicator(
    tmp_path: Path, ranks: int, seed: int, cache: str
) -> None:
    programs = start_all(tmp_path, ranks, seed, "others", XDG_CACHE_HOME=cache)

    calls, _ = counted(tmp_path, programs)

    assert set(calls["allreduce"]) == {OURS, "NCCL: several calls of one group"}
    assert set(calls["broadcast"]) == {"NCCL: no such operation, type or reduction here"}
    assert set(calls["send"]) == {"NCCL: no such operation, type or reduction here"}


@pytest.mark.parametrize("seed", [8, 9])
def test_parts_of_a_communicator_are_served_as_their_nodes_allow(
    tmp_path: Path, seed: int, cache: str
) -> None:
    programs = start_all(tmp_path, 4, seed, "parts", XDG_CACHE_HOME=cache)

    calls, why = counted(tmp_path, programs)

    assert calls["allreduce"] == {OURS: 8, "NCCL: a communicator that is not served": 4}
    assert all("a node has one of its ranks" in each for each in why)


def test_calls_that_are_captured_are_nccls(tmp_path: Path, cache: str) -> None:
    programs = start_all(tmp_path, 4, 19, "captured", XDG_CACHE_HOME=cache)

    calls, _ = counted(tmp_path, programs)

    assert calls["allreduce"] == {OURS: 8, "NCCL: a call that is captured": 4}


def test_ranks_of_a_node_may_be_threads(tmp_path: Path, cache: str) -> None:
    programs = [
        start(tmp_path, which, 4, 10, "kinds", host=host, XDG_CACHE_HOME=cache)
        for host, which in enumerate(("0-1", "2-3"))
    ]

    calls, _ = counted(tmp_path, programs)

    assert set(calls["allreduce"]) == {OURS}


def test_a_rank_without_polypath_leaves_all_calls_to_nccl(tmp_path: Path, cache: str) -> None:
    programs = [
        start(
            tmp_path,
            str(rank),
            4,
            11,
            "uneven",
            host=rank // 2,
            XDG_CACHE_HOME=cache,
            POLYPATH_NCCL="0" if rank == 3 else "1",
        )
        for rank in range(4)
    ]
    for program in programs:
        output, errors = program.communicate(timeout=LIMIT)
        assert (program.returncode, output) == (0, "right\n"), errors

    for program in programs[:3]:
        (file,) = tmp_path.glob(f"*-{program.pid}.json")
        found = json.loads(file.read_text())["nccl"]
        assert "without Polypath" in found["why_not"]
        assert not any(row["accelerated"] for row in found["calls"])


def test_nodes_of_different_sizes_leave_all_calls_to_nccl(tmp_path: Path, cache: str) -> None:
    programs = [
        start(tmp_path, str(rank), 3, 12, "uneven", host=rank // 2, XDG_CACHE_HOME=cache)
        for rank in range(3)
    ]

    calls, why = counted(tmp_path, programs)

    assert OURS not in calls["allreduce"]
    assert all("node 0 has 2 of its ranks, node 1 has 1" in each for each in why)


def test_without_a_gain_calls_are_nccls(tmp_path: Path) -> None:
    around = {"STANDIN_NCCL_SLOW": "0", "XDG_CACHE_HOME": str(tmp_path)}
    programs = start_all(tmp_path, 4, 13, "uneven", **around)

    calls, why = counted(tmp_path, programs)

    assert sum(calls["allreduce"].values()) == 4
    assert len(calls["allreduce"]) == 1
    assert why == {""}


@pytest.mark.parametrize("seed", [14, 15])
def test_a_rank_that_is_killed_is_an_asynchronous_error_of_all(
    tmp_path: Path, seed: int, cache: str
) -> None:
    around = {"STANDIN_STRICT": "0", "XDG_CACHE_HOME": cache}
    *others, killed = start_all(tmp_path, 4, seed, "left-alone", **around)

    for each in others:
        output, errors = each.communicate(timeout=LIMIT)
        assert (each.returncode, output) == (0, "error 6\n"), errors
    killed.communicate()


@pytest.mark.parametrize("seed", [16, 17])
def test_nothing_of_ours_runs_on_a_communicator_that_is_revoked(
    tmp_path: Path, seed: int, cache: str
) -> None:
    programs = start_all(tmp_path, 4, seed, "revoked", XDG_CACHE_HOME=cache)

    calls, _ = counted(tmp_path, programs)

    assert calls["allreduce"]["NCCL: a communicator that is not served"] >= 4
    assert calls["allreduce"][OURS] >= 4


def test_a_communicator_of_one_node_can_be_revoked(tmp_path: Path, cache: str) -> None:
    programs = [
        start(tmp_path, str(rank), 2, 18, "revoked", host=0, XDG_CACHE_HOME=cache)
        for rank in range(2)
    ]

    calls, _ = counted(tmp_path, programs)

    assert calls["allreduce"][OURS] >= 2
