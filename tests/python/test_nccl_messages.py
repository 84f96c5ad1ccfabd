"""Sends and receives of programs that use NCCL under the preload library, over the stand-ins."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from polypath import preloading
from standin_copies import AROUND, on_the_stand_in

PROGRAM = Path(__file__).parent / "nccl_messages.py"
LIMIT = 240
UNKNOWN_MEMORY = "NCCL: memory that the other rank does not know yet"

pytestmark = on_the_stand_in


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder in which all programs keep what they have measured: that takes long."""
    return str(tmp_path_factory.mktemp("cache"))


def environment_of(folder: Path, seed: int, **more: str) -> dict[str, str]:
    """Return the variables of a rank, whose statistics go to the folder."""
    return {
        **os.environ,
        **AROUND,
        "STANDIN_MACHINE": "h200x4",
        "STANDIN_CHAOS": str(seed),
        "STANDIN_STRICT": "1",
        "POLYPATH_NCCL_MEASURED": "1M",
        "LD_PRELOAD": preloading.library(),
        "POLYPATH_STATS": f"{folder}/",
        **more,
    }


def start(
    folder: Path, which: str, ranks: int, seed: int, *words: str, **more: str
) -> subprocess.Popen[str]:
    """Start one process."""
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), which, str(ranks), str(seed), *words],
        env=environment_of(folder, seed, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    folder: Path, which: list[str], ranks: int, seed: int, *words: str, **more: str
) -> dict[str, int]:
    """Run all processes; how many messages of all were whose, and why."""
    programs = [start(folder, each, ranks, seed, *words, **more) for each in which]
    for program in programs:
        output, errors = program.communicate(timeout=LIMIT)
        assert (program.returncode, output) == (0, "right\n"), errors
    counted: dict[str, int] = {}
    for program in programs:
        (file,) = folder.glob(f"*-{program.pid}.json")
        for row in json.loads(file.read_text())["nccl"]["calls"]:
            if row["operation"] in ("send", "receive"):
                counted[row["by"]] = counted.get(row["by"], 0) + row["calls"]
    return counted


def measure(folder: Path, ranks: int, cache: str) -> None:
    """Let ranks measure what is faster, if it is not known."""
    folder.mkdir()
    run(folder, [str(rank) for rank in range(ranks)], ranks, 1, "few", XDG_CACHE_HOME=cache)


@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (2, 2), (4, 4)])
def test_messages_of_processes_are_ours_and_right(
    tmp_path: Path, ranks: int, seed: int, cache: str
) -> None:
    counted = run(tmp_path, [str(rank) for rank in range(ranks)], ranks, seed, XDG_CACHE_HOME=cache)

    assert counted["Polypath"] > 0
    assert counted[UNKNOWN_MEMORY] > 0
    assert counted["NCCL: a call that is captured"] == 2


@pytest.mark.parametrize(("ranks", "seed"), [(2, 5), (4, 7)])
def test_messages_of_threads_are_ours_and_right(
    tmp_path: Path, ranks: int, seed: int, cache: str
) -> None:
    counted = run(tmp_path, ["threads"], ranks, seed, XDG_CACHE_HOME=cache)

    assert counted["Polypath"] > 0


@pytest.mark.parametrize(("ranks", "seed"), [(2, 8), (4, 9)])
def test_one_thread_may_have_all_ranks(tmp_path: Path, ranks: int, seed: int, cache: str) -> None:
    counted = run(tmp_path, ["one"], ranks, seed, XDG_CACHE_HOME=cache)

    assert counted["Polypath"] > 0


@pytest.mark.parametrize("which", [["0", "1"], ["threads"], ["one"]])
def test_memory_at_virtual_addresses_is_opened_too(
    tmp_path: Path, which: list[str], cache: str
) -> None:
    counted = run(tmp_path, which, 2, 11, "mapped", XDG_CACHE_HOME=cache)

    assert counted["Polypath"] > 0


def test_many_messages_may_be_in_a_group(tmp_path: Path, cache: str) -> None:
    counted = run(tmp_path, ["0", "1"], 2, 10, "many", XDG_CACHE_HOME=cache)

    assert counted["Polypath"] > 0
    assert counted["NCCL: too many messages between two ranks at a time"] > 0


def test_memory_of_others_is_closed_while_nothing_waits(tmp_path: Path, cache: str) -> None:
    """To close it may wait for the GPU, whose kernels may wait for other ranks."""
    counted = run(tmp_path, ["0", "1", "2"], 3, 3, "freed", XDG_CACHE_HOME=cache)

    assert counted["Polypath"] > 0


def test_without_a_measurement_messages_are_nccls(tmp_path: Path) -> None:
    around = {"POLYPATH_NCCL_MEASURED": "64K", "XDG_CACHE_HOME": str(tmp_path)}
    counted = run(tmp_path, ["0", "1"], 2, 1, "few", **around)

    assert "Polypath" not in counted


@pytest.mark.parametrize(("call", "most"), [("cuModuleLoadData", 12), ("cuIpcOpenMemHandle", 6)])
def test_where_one_rank_cannot_make_messages_its_collectives_stay_ours(
    tmp_path: Path, cache: str, call: str, most: int
) -> None:
    """Rank 1 lacks the kernel of messages, or others' memory for them: one of its first calls."""
    measure(tmp_path / "before", 2, cache)
    fates = []
    for number in range(1, most + 1):
        folder = tmp_path / str(number)
        shutil.copytree(cache, folder)
        fault = {"STANDIN_FAIL": f"{call}:{number}"}
        programs = [
            start(folder, rank, 2, 1, "few", XDG_CACHE_HOME=str(folder), **around)
            for rank, around in (("0", {}), ("1", fault))
        ]
        for program in programs:
            output, errors = program.communicate(timeout=LIMIT)
            assert (program.returncode, output) == (0, "right\n"), errors
        fates.append(ours_of(folder))

    assert {"allreduce"} in fates
    assert {"allreduce", "send", "receive"} in fates


def ours_of(folder: Path) -> set[str]:
    """Return the operations that were Polypath's in some process."""
    files = [json.loads(file.read_text()) for file in folder.glob("*-*.json")]
    rows = [row for each in files for row in each.get("nccl", {"calls": []})["calls"]]
    return {row["operation"] for row in rows if row["by"] == "Polypath"}


def test_a_rank_that_is_killed_is_an_asynchronous_error(tmp_path: Path, cache: str) -> None:
    around = {"STANDIN_STRICT": "0", "XDG_CACHE_HOME": cache}
    first = start(tmp_path, "0", 2, 1, "left-alone", **around)
    second = start(tmp_path, "1", 2, 1, "left-alone", **around)

    output, errors = first.communicate(timeout=LIMIT)

    assert first.returncode == 0, errors
    assert output.startswith("error 6: Rank 1 has ended"), output
    second.communicate()
