"""polypath bench load and bench blocks: simulated, on the stand-in driver, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import bench_schemas
import jsonschema
import numpy as np
import pytest
from cli_runner import Run, assert_refused, polypath, succeed
from polypath.cli import block_copies, file_loads
from polypath.cli.commands import bench_calls
from polypath.cli.errors import UserError
from standin_copies import on_the_stand_in
from test_standin import run_on_standin

KIB, MIB = 1 << 10, 1 << 20
SIMULATED = ("--machine", "h200x4", "--sizes", "64K", "--pieces", "64")


def on_stand_in(home: Path, *arguments: str) -> Any:
    done = run_on_standin(home, "bench", *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Simulated


@pytest.mark.parametrize("ends", [(), ("gpu0", "host"), ("gpu0", "gpu1"), ("host0", "gpu2")])
def test_blocks_use_the_links_of_other_gpus(ends: tuple[str, ...]) -> None:
    bench = succeed("bench", "blocks", *ends, *SIMULATED, "--json", "-").json()

    jsonschema.validate(bench, bench_schemas.BENCH_BLOCKS)
    (result,) = bench["results"]
    assert (result["bytes"], result["blocks"]) == (64 * KIB, 64)
    assert result["verified"] and result["native"] == "single copies"
    assert result["speedup"] > 2
    assert sum(result["how"].values()) <= 64


def test_simulated_blocks_take_the_same_time_again() -> None:
    first, second = (
        succeed("bench", "blocks", *SIMULATED, "--json", "-").json()["results"] for _ in range(2)
    )

    assert first == second


def test_blocks_as_a_table_and_rows(tmp_path: Path) -> None:
    run = succeed("bench", "blocks", *SIMULATED, "--csv", tmp_path / "rows.csv")

    assert "64 blocks, host0 to gpu0" in run.stdout and "64 KiB" in run.stdout
    (row,) = csv.DictReader((tmp_path / "rows.csv").open())
    assert (row["operation"], row["blocks"]) == ("blocks", "64")


# On the stand-in driver


@on_the_stand_in
@pytest.mark.parametrize("ends", [("host", "gpu1"), ("gpu0", "host"), ("gpu1", "gpu0")])
def test_blocks_beside_the_batch_call(tmp_path: Path, ends: tuple[str, str]) -> None:
    bench = on_stand_in(tmp_path, "blocks", *ends, "--sizes", "4K,64K", "--pieces", "32")

    jsonschema.validate(bench, bench_schemas.BENCH_BLOCKS)
    assert [result["bytes"] for result in bench["results"]] == [4 * KIB, 64 * KIB]
    assert all(result["verified"] for result in bench["results"])
    assert {result["native"] for result in bench["results"]} == {"batch call"}


@on_the_stand_in
def test_a_file_beside_the_drivers_copies(tmp_path: Path) -> None:
    bench = on_stand_in(tmp_path, "load", "host", "gpu1", "--sizes", "4M,16M")

    jsonschema.validate(bench, bench_schemas.BENCH_LOAD)
    assert [result["bytes"] for result in bench["results"]] == [4 * MIB, 16 * MIB]
    assert {result["destination"] for result in bench["results"]} == {"gpu1"}
    assert all(result["verified"] for result in bench["results"])
    assert {result["native"] for result in bench["results"]} == {"driver"}


# Wrong bytes


def test_a_block_in_the_wrong_place_is_found() -> None:
    setting = block_copies.Simulated("h200x4", "gpu0")
    blocks = block_copies.Blocks(
        setting.context.allocate("gpu0", 4 * KIB),
        setting.context.allocate("host0", 4 * KIB),
        KIB,
        np.array([(0, 1), (1, 0), (2, 3), (3, 2)]),
    )
    setting.write(blocks.source, np.arange(4 * KIB, dtype=np.uint16).astype(np.uint8) // 7)
    setting.copy(blocks)
    setting.seconds(lambda: None)
    assert block_copies.is_right(setting, blocks)

    blocks.destination.numpy()[3 * KIB + 5] ^= 1

    assert not block_copies.is_right(setting, blocks)


# The file


def test_the_file_is_one_of_safetensors_with_its_bytes() -> None:
    with file_loads.weights_file(3 * MIB) as path:
        spans = file_loads.spans_of(path)
        ends = sorted(spans.values())

        assert path.stat().st_size == ends[-1][1] == ends[0][0] + 3 * MIB
        assert all(before[1] == after[0] for before, after in zip(ends, ends[1:]))
    assert not path.exists()


def test_a_file_without_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 10

    monkeypatch.setattr(file_loads.shutil, "disk_usage", lambda _: Usage)

    with pytest.raises(UserError, match="there is no room"), file_loads.weights_file(MIB):
        pass


class Stub:
    """Takes seconds in turn, as a clock that only runs in its calls; notes who was asked."""

    native_is = "stub"

    def __init__(self, ours: list[float], native: list[float]) -> None:
        self._seconds = {"ours": iter(ours), "native": iter(native)}
        self.now, self.asked = 0.0, ""

    def _take(self, which: str) -> None:
        self.now += next(self._seconds[which])
        self.asked += which[0]

    def ours(self) -> None:
        self._take("ours")

    def native(self) -> None:
        self._take("native")

    def synchronize(self) -> None:
        pass

    def is_right(self) -> bool:
        return True


def test_turns_are_taken_and_the_first_is_no_part_of_the_medians(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stub = Stub([9.0, 1.0, 5.0, 2.0], [8.0, 4.0, 6.0, 3.0])
    monkeypatch.setattr(file_loads.time, "perf_counter", lambda: stub.now)

    result = file_loads.measured(stub, 4 * MIB, gpu=0)

    assert stub.asked == "no" * 4
    assert (result["seconds"], result["native_seconds"], result["speedup"]) == (2.0, 4.0, 2.0)
    assert (result["first_seconds"], result["first_native_seconds"]) == (9.0, 8.0)


# Refused


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("load",), "in real time"),
        (("load", "--pieces", "3"), "--pieces"),
        (("load", "--window", "3"), "--window"),
        (("blocks", "--executor", "graph"), "--executor"),
        (("blocks", "--paths", "direct"), "--paths"),
        (("blocks", "--algorithms", "flat"), "--algorithms"),
        (("blocks", "--pieces", "0"), "--pieces 0"),
        (("blocks", "host", "host"), "has to be a GPU"),
        (("blocks", "gpu0"), "destination"),
        (("blocks", "host", "gpu9"), "place 'gpu9' is unknown (machine 'h200x4' has gpu0"),
        (("blocks", "--sizes", "0"), "512 blocks of 0 bytes"),
        (("blocks", "--sizes", "1G"), "512 blocks of 1 GiB cannot be measured (together they have"),
        (("block",), "blocks"),
    ],
)
def test_what_cannot_be_measured(arguments: tuple[str, ...], word: str) -> None:
    run = polypath("bench", *arguments, "--machine", "h200x4")

    assert_refused(run)
    assert word in run.stderr


def test_blocks_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_calls._core, "free_memory", lambda: 40 * MIB)

    run = polypath("bench", "blocks", *SIMULATED[:2], "--sizes", "1M", "--pieces", "11")

    assert_refused(run)
    assert "11 blocks of 1 MiB" in run.stderr and "take 44 MiB, 40 MiB are free" in run.stderr


@on_the_stand_in
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("load", "host", "gpu9"), "place 'gpu9' is unknown (machine '"),
        (("blocks", "gpu9", "host"), "place 'gpu9' is unknown (machine '"),
        (("load", "host", "gpu"), "Did you mean gpu0?"),
        (("load", "--sizes", "4M,4097"), "a file of 4097 B cannot be measured (it holds elements"),
        (("load", "--sizes", "0"), "a file of 0 bytes cannot be measured (a size is at least 1)"),
    ],
)
def test_what_cannot_be_measured_on_gpus(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = run_on_standin(tmp_path, "bench", *arguments)

    assert_refused(Run(done.returncode, done.stdout, done.stderr))
    assert words in done.stderr
