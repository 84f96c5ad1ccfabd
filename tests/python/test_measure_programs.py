"""scripts/measure_programs.py: rounds in turn, ratios, and that it runs on the stand-in driver."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import bench_schemas
import jsonschema
import pytest
import result_schemas
from mpi_search import SEARCH, needs_mpi_for_gpus
from polypath import install

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
measure_programs = importlib.import_module("measure_programs")
program_parts = importlib.import_module("program_parts")
ratio_tables = importlib.import_module("ratio_tables")
rounds_in_turn = importlib.import_module("rounds_in_turn")
gpu_programs = importlib.import_module("gpu_programs")

MIB = 1 << 20

needs_stand_in = pytest.mark.skipif(
    not (install.stand_in_dir() / "libcuda.so.1").exists()
    or not install.preload_library().exists(),
    reason="the package was built without the stand-in driver or the preload library",
)


class Program:
    """Takes as long as a test says, without Polypath and with it, and notes who was asked."""

    def __init__(self, native: list[float], planned: list[float]) -> None:
        self._seconds = {False: iter(native), True: iter(planned)}
        self.asked: list[bool] = []

    def timings(self, planned: bool) -> dict[tuple[str, int], float]:
        self.asked.append(planned)
        return {("copy", MIB): next(self._seconds[planned])}


def part_of(program: Program, name: str = "part") -> Any:
    return rounds_in_turn.TimedPart(name, "a program", "its command", program.timings)


def run_of(tmp_path: Path, *parts: Any, rounds: int = 2, seconds: float = 60) -> Any:
    machine = gpu_programs.Machine(tmp_path, tmp_path / "results")
    return measure_programs.Run(machine, list(parts), rounds, seconds)


def ratio(size: int | None, worst: float, median: float, part: str = "p") -> dict[str, Any]:
    return {"part": part, "operation": "bw", "window": 4, "bytes": size, "worst": worst,
            "median": median}  # fmt: skip


# Rounds


def test_who_goes_first_alternates(tmp_path: Path) -> None:
    program = Program([1.0] * 3, [1.0] * 3)

    run_of(tmp_path, part_of(program), rounds=3).measure()

    assert program.asked == [False, True, True, False, False, True]


def test_a_row_has_the_ratio_of_every_round() -> None:
    part = part_of(Program([3.0, 2.0, 8.0], [1.0, 2.0, 4.0]))
    for _ in range(3):
        part.round()

    (row,) = ratio_tables.ratios_of("part", part.rows())

    assert row["ratios"] == [3.0, 1.0, 2.0]
    assert (row["worst"], row["median"], row["best"]) == (1.0, 2.0, 3.0)


def test_parts_take_turns_until_the_time_is_over(tmp_path: Path) -> None:
    parts = [part_of(Program([1.0] * 9, [1.0] * 9), name) for name in ("a", "b")]
    unlimited = run_of(tmp_path, *parts, rounds=2)
    late = run_of(tmp_path, part_of(Program([], [])), seconds=-1)

    unlimited.measure()
    late.measure()

    assert [part.rounds for part in parts] == [2, 2]
    assert late.failures == [] and late.parts[0].rounds == 0


def test_a_part_that_fails_is_named_and_left_out(tmp_path: Path) -> None:
    def fail(_: bool) -> dict[tuple[str, int], float]:
        raise RuntimeError("it broke")

    broken = rounds_in_turn.TimedPart("broken", "", "", fail)
    good = part_of(Program([1.0] * 2, [1.0] * 2), "good")
    run = run_of(tmp_path, broken, good)

    run.measure()

    assert run.failures == ["broken"]
    assert good.rounds == 2


def test_what_was_measured_is_kept_after_every_round(tmp_path: Path) -> None:
    part = part_of(Program([2.0], [1.0]), "half_done")  # the second round has nothing to give

    with pytest.raises(StopIteration):
        run_of(tmp_path, part).measure()

    written = json.loads((tmp_path / "results" / "half_done.json").read_text())
    ratios = json.loads((tmp_path / "results" / "ratios.json").read_text())
    assert written["results"][0]["speedups"] == [2.0]
    jsonschema.Draft202012Validator(result_schemas.RATIOS).validate(ratios)


def test_a_program_that_fails_says_with_what_and_why() -> None:
    failing = [sys.executable, "-c", "import sys; sys.exit('no such luck')"]

    with pytest.raises(RuntimeError, match=r"without Polypath exits with 1: no such luck"):
        rounds_in_turn.output_of(failing, False)


# The worst ratios


def test_each_size_has_its_worst_round_and_its_worst_median() -> None:
    rows = ratio_tables.by_size(
        [ratio(MIB, 0.9, 1.2, "a"), ratio(MIB, 0.95, 0.97, "b"), ratio(None, 1.0, 1.0, "c")]
    )

    assert rows == [
        {"bytes": MIB, "worst": 0.9, "worst_of": "a: bw, window 4", "median": 0.97,
         "median_of": "b: bw, window 4"},
        {"bytes": None, "worst": 1.0, "worst_of": "c: bw, window 4", "median": 1.0,
         "median_of": "c: bw, window 4"},
    ]  # fmt: skip


# What is asked for


def test_no_part_says_how_ranks_are_bound_but_those_that_are_about_it() -> None:
    setting = program_parts.Setting(ROOT, "stand-in", MIB)

    bound = {
        name: asked.launcher_options
        for name, asked in program_parts.MPI.items()
        if asked.launcher_options
    }

    assert bound == {
        "malloc_to_gpu_unbound": ("--bind-to", "none"),
        "gpu_to_malloc_unbound": ("--bind-to", "none"),
    }
    assert program_parts.make_part("windows", setting).file == "mpi"


def test_every_part_can_be_asked_for_alone() -> None:
    names = program_parts.part_names()

    asked = [measure_programs.read_arguments(["--only", name]).only for name in names]

    assert asked == [[name] for name in names]
    assert len(set(names)) == len(names)


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        measure_programs.read_arguments(["--only", "windows,wind"])

    assert "there is no part 'wind'" in capsys.readouterr().err


# On the stand-in driver


def measured(tmp_path: Path, *words: str) -> dict[str, Any]:
    """Return the ratios of one run on the stand-in driver, with Polypath in the processes."""
    script = str(ROOT / "scripts" / "measure_programs.py")
    common = ("--driver", "stand-in", "--rounds", "1", "--output", str(tmp_path))
    environment = {**os.environ, "PATH": SEARCH, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ended = subprocess.run(
        [sys.executable, script, *common, *words], capture_output=True, text=True, check=False,
        env=environment,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "worst ratio by size" in ended.stdout
    answer: dict[str, Any] = json.loads((tmp_path / "ratios.json").read_text())
    return answer


@needs_stand_in
def test_programs_that_copy_run_on_the_stand_in(tmp_path: Path) -> None:
    answer = measured(
        tmp_path, "--only", "at_once,both_ways,first_copies,run_time", "--largest", "2M"
    )

    jsonschema.Draft202012Validator(result_schemas.RATIOS).validate(answer)
    assert [row["operation"] for row in answer["results"]] == [
        "h2d_at_once", "d2h_at_once", "both_ways", "first pageable_h2d", "fifth pageable_h2d",
        "first h2d", "fifth h2d", "first put", "fifth put", "a whole run",
    ]  # fmt: skip
    assert {row["bytes"] for row in answer["results"]} == {2 * MIB}


@needs_mpi_for_gpus
@needs_stand_in
def test_mpi_runs_on_the_stand_in(tmp_path: Path) -> None:
    answer = measured(tmp_path, "--only", "malloc_to_gpu,gpu_to_malloc,windows", "--largest", "2M")

    documents = json.loads((tmp_path / "mpi.json").read_text())
    assert [(row["part"], row["window"]) for row in answer["results"]] == [
        ("malloc_to_gpu", 4), ("gpu_to_malloc", 4),
        ("windows", 1), ("windows", 4), ("windows", 16), ("windows", 64),
    ]  # fmt: skip
    assert [document["buffers"] for document in documents] == [
        "host,device",
        "device,host",
        "device",
    ]
    for document in documents:
        jsonschema.Draft202012Validator(bench_schemas.BENCH_MPI).validate(document)
        assert all(row["verified"] and row["native_verified"] for row in document["results"])
