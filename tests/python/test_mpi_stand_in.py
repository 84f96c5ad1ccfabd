"""Unmodified MPI and UCX over the stand-in driver, with and without Polypath: every byte right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_runner import Run, polypath
from mpi_search import SEARCH, needs_mpi_for_gpus
from polypath import install
from polypath.cli.mpi.request import COLLECTIVES, OPERATIONS, SOLVER

pytestmark = [
    needs_mpi_for_gpus,
    pytest.mark.skipif(
        not (install.stand_in_dir() / "libcuda.so.1").exists(),
        reason="the package was built without the stand-in driver",
    ),
    pytest.mark.skipif(
        not install.preload_library().exists(),
        reason="the package was built without the preload library",
    ),
]

MESSAGES = [name for name in OPERATIONS if name not in (SOLVER, *COLLECTIVES)]


@pytest.fixture(autouse=True)
def _an_mpi_and_a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", SEARCH)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("POLYPATH_LEDGER_FOLDER", str(tmp_path / "ledger"))


def bench(*arguments: str) -> Run:
    run = polypath("mpi", "--driver", "stand-in", *arguments, "--json", "-")
    assert run.status == 0, run.stderr
    return run


def accelerated_bytes(run: Run) -> float:
    """Return the MiB that the ranks' statistics name as accelerated."""
    units = {"B": 2**-20, "KiB": 2**-10, "MiB": 1.0, "GiB": 2.0**10}
    found = re.findall(r"([\d.]+) (\w+)  accelerated", run.stderr)
    return sum(float(number) * units[unit] for number, unit in found)


@pytest.mark.parametrize("ranks", ["2", "4"])
@pytest.mark.parametrize("option", [(), ("--buffer-per-message",)], ids=["one", "each"])
def test_every_operation_delivers_every_byte(ranks: str, option: tuple[str, ...]) -> None:
    run = bench(
        "--ranks", ranks, "--operations", ",".join(MESSAGES), "--sizes", "1,64K,1M,3M",
        "--window", "1,4", *option,
    )  # fmt: skip

    results = run.json()["results"]
    assert {result["operation"] for result in results} == set(MESSAGES)
    assert all(result["verified"] and result["native_verified"] for result in results)
    assert run.json()["machine"] == "NVIDIA H200"


@pytest.mark.parametrize("buffers", ["host,device", "device,host", "pinned,device", "host,pinned"])
def test_messages_between_memories_of_two_kinds_deliver_every_byte(buffers: str) -> None:
    run = bench("--buffers", buffers, "--sizes", "1,64K,6M", "--window", "4")

    results = run.json()["results"]
    assert run.json()["buffers"] == buffers
    assert all(result["verified"] and result["native_verified"] for result in results)


def test_messages_over_several_paths_deliver_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without a least gain several paths are used wherever they are not slower.
    monkeypatch.setenv("POLYPATH_MIN_GAIN", "0")
    monkeypatch.setenv("POLYPATH_STATS", "1")
    monkeypatch.setenv("POLYPATH_PREPARE", "now")  # the few messages would be over before
    monkeypatch.setenv("POLYPATH_PATHS", "direct,host0")  # gets go by the host only if it is named

    run = bench("--operations", "bw,bibw,put", "--sizes", "64M", "--window", "1")

    assert all(result["verified"] for result in run.json()["results"])
    # In each of bw, bibw (both ways) and put: at least the three checked windows.
    assert accelerated_bytes(run) >= 4 * 3 * 64


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_solver_solves_with_copies_over_several_paths(
    ranks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_MACHINE", "beluga")  # with links between all GPUs
    monkeypatch.setenv("POLYPATH_MIN_GAIN", "0")
    monkeypatch.setenv("POLYPATH_STATS", "1")
    monkeypatch.setenv("POLYPATH_PREPARE", "now")

    run = bench("--ranks", str(ranks), "--operations", "jacobi", "--sizes", "4M", "--rows", "2")

    (result,) = run.json()["results"]
    assert result["verified"] and result["native_verified"]
    assert (result["kernel"], result["rows"], result["verified_iterations"]) == ("host", 2, 7)
    # One up and one down of each rank in 7 iterations, before and after what is timed.
    assert accelerated_bytes(run) >= 2 * 7 * ranks * 2 * 4


def test_settings_of_ucx_that_cut_messages_leave_nothing_to_accelerate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POLYPATH_MIN_GAIN", "0")
    monkeypatch.setenv("POLYPATH_STATS", "1")
    monkeypatch.setenv("UCX_RNDV_SCHEME", "am")

    run = bench("--operations", "bw", "--sizes", "16M", "--window", "1")

    assert run.json()["results"][0]["verified"]
    assert "smaller than POLYPATH_MIN_MESSAGE" in run.stderr
    assert accelerated_bytes(run) == 0
