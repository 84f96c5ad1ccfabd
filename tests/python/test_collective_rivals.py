"""scripts/collective_rivals.py: its values, its statistics, and what hangs or fails."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
cases = importlib.import_module("rivals.cases")
documents = importlib.import_module("rivals.documents")
ranks_module = importlib.import_module("rivals.ranks")
simulation = importlib.import_module("rivals.simulation")
supervisor = importlib.import_module("rivals.supervisor")
turns = importlib.import_module("rivals.turns")
plans = importlib.import_module("rivals.plan")
worker = importlib.import_module("rivals.worker")
script = importlib.import_module("collective_rivals")
Case, Lap = cases.Case, ranks_module.Lap


def given(case: Any, rank: int, ranks: int) -> np.ndarray:
    return cases.values(np.arange(case.given(ranks)), rank)


def result(case: Any, rank: int, ranks: int) -> np.ndarray:
    """Return what a rank must have, by definition, over whole arrays."""
    inputs = [given(case, giver, ranks) for giver in range(ranks)]
    part = case.elements(ranks)
    own = slice(rank * part, (rank + 1) * part)
    return {
        "allreduce": lambda: sum(inputs),
        "broadcast": lambda: inputs[cases.ROOT],
        "allgather": lambda: np.concatenate(inputs),
        "reducescatter": lambda: sum(inputs)[own],
        "alltoall": lambda: np.concatenate([each[own] for each in inputs]),
    }[case.operation]()


@pytest.mark.parametrize("operation", cases.COLLECTIVES)
def test_pieces_of_a_result_are_the_whole_result(
    operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, ranks = Case(operation, 3 * 4 * 700), 3
    monkeypatch.setattr(cases, "PIECE", 256)

    for rank in range(ranks):
        made = np.full(case.taken(ranks), -1)
        for start, length, sources in cases.pieces_of(case, rank, ranks):
            made[start : start + length] = sum(
                cases.values(np.arange(at, at + length), giver) for giver, at in sources
            )
        assert np.array_equal(made, result(case, rank, ranks))


# 13 values, of which 8 ranks give at most 12 each: 96 < 127, the largest int8; and whole numbers up
# to 256 are exact in bfloat16.
def test_values_are_small_whole_numbers_that_differ_by_rank_and_place() -> None:
    index = np.arange(5000)

    assert set(cases.values(index, 0)) == set(range(13))
    assert not np.array_equal(cases.values(index, 0), cases.values(index, 1))


# 2 (n - 1) / n of 12 KiB among 3 ranks is 16 KiB; (n - 1) / n of it is 8 KiB.
@pytest.mark.parametrize(
    ("operation", "kib"),
    [("allreduce", 16), ("broadcast", 12), ("allgather", 8), ("reducescatter", 8), ("alltoall", 8)],
)
def test_links_carry_what_bus_bandwidth_counts(operation: str, kib: int) -> None:
    assert Case(operation, 12 << 10).moved(3) == kib << 10


def test_others_than_the_first_type_and_reduction_are_measured_up_to_a_size() -> None:
    found = cases.grid(["allreduce", "allgather"], ["float32", "int64"], ["sum", "max"], [8, 64], 8)

    assert {(c.operation, c.type, c.reduction) for c in found if c.bytes == 64} == {
        ("allreduce", "float32", "sum"), ("allgather", "float32", "sum"),
    }  # fmt: skip
    assert len([c for c in found if c.operation == "allreduce" and c.bytes == 8]) == 4
    assert len([c for c in found if c.operation == "allgather" and c.bytes == 8]) == 2


def entry(name: str, mode: str, *seconds: float) -> Any:
    contender = argparse.Namespace(name=name, version="1.2")
    ready = argparse.Namespace(facts={"chosen": "ring"} if name == "polypath" else {})
    laps = [Lap(each, each / 10) for each in seconds]
    return turns.Entry(contender, mode, ready, lambda: None, 1, laps)


def test_a_round_takes_as_long_as_the_slowest_rank() -> None:
    assert turns.slowest([Lap(3.0, 0.1), Lap(2.0, 0.2)]) == Lap(3.0, 0.2)


# The middle one of 5, 1 and 2 s is 2 s; two ranks move 4000 bytes of an all-reduce of 4000.
def test_figures_are_those_of_the_middle_round() -> None:
    figures = turns.figures(entry("NCCL", "eager", 5.0, 1.0, 2.0), Case("allreduce", 4000), 2)

    assert figures["seconds"] == 2.0
    assert figures["host_seconds"] == 0.2
    assert figures["runs"] == [5.0, 1.0, 2.0]
    assert figures["bus_bytes_per_second"] == 2000


def test_another_one_is_first_in_each_round() -> None:
    entries = ["a", "b", "c"]

    assert [turns.rotated(entries, turn)[0] for turn in range(4)] == ["a", "b", "c", "a"]
    assert sorted(turns.rotated(entries, 2)) == entries


def measured(*more: Any) -> Any:
    case = Case("allreduce", 4096)
    ways = [entry("polypath", "graph", 2.0), entry("NCCL", "graph", 3.0), *more]
    return {"entries": [turns.figures(each, case, 2) for each in ways], "missing": []}


def test_a_result_has_the_fields_of_the_schema_and_its_rivals() -> None:
    (made,) = documents.results_of(Case("allreduce", 4096), 2, measured())

    assert (made["algorithm"], made["chosen"], made["mode"]) == ("auto", "ring", "graph")
    assert (made["ranks"], made["nodes"], made["type"], made["in_place"]) == (2, 1, "float32", True)
    assert [(r["name"], r["version"], r["seconds"]) for r in made["rivals"]] == [("NCCL", "1.2", 3)]


def test_the_line_has_the_ratio_of_the_best_rival() -> None:
    text = documents.line(Case("allreduce", 4096), measured(entry("torch", "graph", 4.0)))

    assert text.startswith("allreduce float32 sum 4K | graph: polypath (ring) 2000000.0")
    assert text.endswith("x1.50")


def test_a_file_keeps_other_cases_and_replaces_the_same(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "collectives.json"
    small, large = Case("allreduce", 4096), Case("allreduce", 8192)
    head = {"schema": "polypath.bench/1", "machine": "GPU", "driver": "cuda"}
    for case in (small, large, small):
        results = documents.results_of(case, 2, measured())
        documents.write(file, {**head, "results": results})

    stored = json.loads(file.read_text(encoding="utf-8"))

    assert [one["bytes"] for one in stored["results"]] == [4096, 8192]


def test_a_file_of_another_machine_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "collectives.json"
    head = {"schema": "polypath.bench/1", "driver": "cuda"}
    one = documents.results_of(Case("allreduce", 4096), 2, measured())
    other = documents.results_of(Case("allreduce", 8192), 2, measured())

    documents.write(file, {**head, "machine": "one", "results": one})
    documents.write(file, {**head, "machine": "other", "results": other})

    assert [each["bytes"] for each in json.loads(file.read_text())["results"]] == [8192]


# --- on a simulated machine ---


def test_every_collective_is_measured_and_right_on_a_simulated_machine(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    words = ["--simulated", "h200x4", "--ranks", "3", "--sizes", "6000,60000", "--rounds", "2"]

    assert script.simulate(script.arguments([*words, "--out", str(file)])) == 0

    stored = json.loads(file.read_text(encoding="utf-8"))
    assert len(stored["results"]) == 2 * len(cases.COLLECTIVES)
    assert all(one["verified"] and len(one["runs"]) == 2 for one in stored["results"])
    assert all(one["seconds"] > 0 and one["ranks"] == 3 for one in stored["results"])
    assert stored["host"] == {"simulated": True}


def test_an_algorithm_by_name_is_measured_beside_the_automatic_choice() -> None:
    plan = plans.Plan([Case("allreduce", 6000)], 1, ["auto", "ring"], "stream")

    reports = simulation.run("h200x4", 2, plan)

    (made,) = [what for kind, _, what in reports if kind == "done"]
    by_name = {each["name"]: each["chosen"] for each in made["entries"]}
    assert by_name["polypath ring"] == "ring"
    assert set(by_name) == {"polypath", "polypath ring"}


def test_an_algorithm_that_does_not_do_it_is_missing_and_the_others_go_on() -> None:
    plan = plans.Plan([Case("alltoall", 6000)], 1, ["ring", "auto"], "stream")

    reports = simulation.run("h200x4", 2, plan)

    (made,) = [what for kind, _, what in reports if kind == "done"]
    assert [each["name"] for each in made["entries"]] == ["polypath"]
    (lost,) = made["missing"]
    assert lost["name"] == "polypath ring eager"
    assert "alltoall" in lost["error"]


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = importlib.import_module("rivals.simulated_ranks")
    fill = simulated.SimulatedRanks.fill
    monkeypatch.setattr(
        simulated.SimulatedRanks, "fill", lambda self, tensor, _: fill(self, tensor, 0)
    )
    plan = plans.Plan([Case("allreduce", 6000)], 1, ["auto"], "stream")

    reports = simulation.run("h200x4", 2, plan)

    (made,) = [what for kind, _, what in reports if kind == "done"]
    assert made["entries"] == []
    assert "the result is wrong" in made["missing"][0]["error"]


class Counting:
    """As Ranks, alone, where everything is right; counts what a lap enqueues."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self.rows: list[tuple[int, int]] = []  # calls of a row, and what each does

    def together(self, action: Any) -> tuple[Any, str]:
        return action(), ""

    def fill(self, tensor: Any, rank: int) -> None:
        del tensor, rank

    def is_right(self, case: Any, output: Any) -> bool:
        del case, output
        return True

    def agree(self, mine: Any) -> list[Any]:
        return [mine]

    def start_lap(self, calls: int, call: Any, per_call: int) -> Any:
        del call
        self.rows.append((calls, per_call))
        return lambda: turns.Lap(1.0, 1.0)


def test_a_graph_of_few_calls_is_replayed_until_as_many_were_made() -> None:
    ready = argparse.Namespace(call=lambda: None, given=0, taken=0, facts={})
    captured: list[int] = []
    contender = argparse.Namespace(
        name="NCCL", version="1", modes=("eager", "graph"), does=lambda _: True,
        ready=lambda _: ready, capture=lambda _, calls: captured.append(calls) or ready.call,
    )  # fmt: skip
    ranks = Counting()

    measured = turns.Turns(ranks, Case("allreduce", 4), lambda _: None, {}, 8).measure(
        [contender], 1
    )

    assert captured == [1, 8]  # the first one is checked
    assert sorted(ranks.rows) == [(25, 8), (200, 1)]
    assert [entry.get("calls_in_graph") for entry in measured["entries"]] == [None, 8]


# --- processes that hang or die ---


def obedient(rank: int, size: int, store: str, plan: Any, reports: Any) -> None:
    """As worker.on_gpu, but everything takes no time, and some things never end."""
    del size, store
    if rank != 0:
        time.sleep(60)
    for case in plan.cases:
        missing = plan.skipped.get(case, {})
        for label in ("polypath eager", "NCCL eager"):
            reports.send(("begun", case, label))
            if label in missing:
                continue
            if (case.bytes, label) == (8, "NCCL eager"):
                time.sleep(60)
            if (case.bytes, label) == (16, "NCCL eager"):
                os._exit(3)
        reports.send(("done", case, {"entries": [], "missing": list(missing.items())}))
    reports.send(("end", None, None))


def stuck_at_the_start(rank: int, size: int, store: str, plan: Any, reports: Any) -> None:
    del rank, size, store, plan, reports
    time.sleep(60)


def test_what_hangs_or_dies_is_left_out_and_the_rest_is_measured() -> None:
    told: list[int] = []
    plan = plans.Plan([Case("allreduce", size) for size in (4, 8, 16, 32)], 1, ["auto"], "stream")
    watching = supervisor.Supervisor(2, 3, 60, lambda case, _: told.append(case.bytes), obedient)

    outcome = watching.run(plan)

    assert told == [4, 8, 16, 32]
    assert outcome.stopped == ""
    assert outcome.results[plan.cases[0]]["missing"] == []
    assert outcome.results[plan.cases[1]]["missing"] == [("NCCL eager", "no end after 3 s")]
    died = [("NCCL eager", "rank 0 has ended with status 3")]
    assert outcome.results[plan.cases[2]]["missing"] == died


class Broken:
    """As Ranks, on a GPU on which everything fails after the first call."""

    rank, size, failed = 0, 1, False

    def together(self, action: Any) -> tuple[Any, str]:
        result = action()
        self.failed = self.failed or result == "call"
        return result, "rank 0: illegal address" if self.failed else ""

    def fill(self, tensor: Any, rank: int) -> None:
        del tensor, rank


def test_a_gpu_that_fails_for_good_ends_the_processes_and_says_who_did_it() -> None:
    ready = argparse.Namespace(call=lambda: "call", given=0, taken=0, facts={})
    contender = argparse.Namespace(
        name="NCCL", modes=("eager", "graph"), does=lambda _: True, ready=lambda _: ready
    )
    told: list[Any] = []
    plan = plans.Plan([Case("allreduce", 4)], 1, ["auto"], "stream")
    contender.open = lambda _: None

    with pytest.raises(turns.BrokenError, match="illegal address"):
        worker.measure(plan, [contender], Broken(), argparse.Namespace(send=told.append))

    assert told[-1] == ("broken", plan.cases[0], "rank 0: illegal address")
    assert told[-2] == ("begun", plan.cases[0], "NCCL eager")


def test_nothing_is_measured_for_longer_than_the_budget() -> None:
    plan = plans.Plan([Case("allreduce", 4)], 1, ["auto"], "stream")

    outcome = supervisor.Supervisor(1, 60, 1, lambda *_: None, stuck_at_the_start).run(plan)

    assert "is over" in outcome.stopped
    assert outcome.results == {}


# --- the command line ---


def test_sizes_are_read_with_their_units() -> None:
    options = script.arguments(["--sizes", "8K,3,1G"])

    assert options.sizes == [8192, 3, 1 << 30]


def test_an_unknown_collective_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        script.arguments(["--collectives", "allreduce,gossip"])

    assert "gossip is none of allreduce" in capsys.readouterr().err
