"""scripts/rivals/beside.py: what counts as beside each other, and what a result says of it."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
beside = importlib.import_module("rivals.beside")
cases = importlib.import_module("rivals.cases")
contender_module = importlib.import_module("rivals.contender")
documents = importlib.import_module("rivals.documents")
ranks_module = importlib.import_module("rivals.ranks")
supervisor = importlib.import_module("rivals.supervisor")
turns = importlib.import_module("rivals.turns")
plans = importlib.import_module("rivals.plan")
worker = importlib.import_module("rivals.worker")
Case, Lap = cases.Case, ranks_module.Lap


def test_calls_and_products_are_enqueued_evenly_spread() -> None:
    order = beside.interleaved(6, 3)

    assert (order.count(True), order.count(False)) == (6, 3)
    # each third of them has two calls and one product
    assert [order[i : i + 3].count(True) for i in (0, 3, 6)] == [2, 2, 2]


# Calls end every 2 s until 8 s; products every 3 s, and every 1 s after the calls have ended.
def test_only_what_had_the_other_beside_it_counts() -> None:
    calls, products = [2.0, 4.0, 6.0, 8.0], [3.0, 6.0, 9.0, 10.0, 11.0]

    assert beside.paces(calls, products) == (2.0, 3.0)


# The first call has waited for something else: 5 s, then each 1 s.
def test_the_first_one_does_not_count_where_there_are_others() -> None:
    assert beside.pace([5.0, 6.0, 7.0], 7.0) == 1.0


def test_a_product_that_outlasts_all_calls_takes_as_long_as_it_took() -> None:
    assert beside.paces([1.0, 2.0], [9.0, 18.0]) == (1.0, 9.0)


@pytest.mark.parametrize(
    ("call_seconds", "calls"), [(1e-3, 40), (1e-9, beside.MOST_CALLS), (1e9, 2)]
)
def test_there_are_as_many_calls_as_take_as_long_as_the_products(
    call_seconds: float, calls: int
) -> None:
    assert beside.PRODUCTS == 20
    assert beside.as_long(call_seconds, 2e-3) == calls


class OneRank(ranks_module.Ranks):
    """One rank whose calls take 1 s, and whose products take 2 s."""

    rank, size = 0, 1

    def agree(self, mine: Any) -> list[Any]:
        return [mine]

    def tensor(self, kind: str, elements: int) -> Any:
        return [kind] * elements

    def fill(self, tensor: Any, rank: int) -> None: ...

    def spoil(self, tensor: Any) -> None: ...

    def holds(self, *_: Any) -> bool:
        return True

    def settle(self) -> None: ...

    def start_lap(self, calls: int, call: Any, per_call: int) -> Callable[[], Any]:
        del calls, per_call
        return lambda: Lap(2.0 if call() == "product" else 1.0, 0.1)


class Slow:
    """A product that makes calls take 1.5 times as long, and itself takes 5 s beside them."""

    @staticmethod
    def call() -> str:
        return "product"

    def start(self, call: Any, calls: int, products: int) -> Callable[[], Any]:
        assert (call(), calls, products) == ("call", 40, 20)
        return lambda: beside.Both(1.5, 0.2, 5.0)


class Rival(contender_module.Contender):
    """One that does everything, as `name`."""

    def __init__(self, name: str, *modes: str) -> None:
        self.name, self.version, self.modes = name, "1.2", modes

    def open(self, ranks: Any) -> None: ...

    def does(self, case: Any) -> bool:
        return case.operation == "allreduce"

    def ready(self, case: Any) -> Any:
        del case
        return contender_module.Ready(lambda: "call", [], [])


def reports_of(contenders: list[Any], product: Any, rounds: int = 3) -> list[Any]:
    told: list[Any] = []
    plan = plans.Plan([Case("allreduce", 1 << 28)], rounds, ["auto"], "stream")

    def begin(*about: Any) -> Any:
        return beside.BesideTurns(product, *about)

    worker.measure(plan, contenders, OneRank(), argparse.Namespace(send=told.append), begin)
    return told


def test_each_contender_is_measured_alone_and_beside_the_product() -> None:
    told = reports_of([Rival("polypath", "eager", "graph"), Rival("NCCL", "eager")], Slow())

    (made,) = [what for kind, _, what in told if kind == "done"]
    assert made["missing"] == []
    assert [entry["name"] for entry in made["entries"]] == ["polypath", "NCCL"]
    for entry in made["entries"]:
        assert entry["mode"] == "beside product"
        assert (entry["seconds"], entry["alone_seconds"]) == (1.5, 1.0)
        assert (entry["product_seconds"], entry["product_alone_seconds"]) == (5.0, 2.0)
        assert (entry["runs"], entry["product_runs"]) == ([1.5] * 3, [5.0] * 3)
        assert entry["bytes_per_second"] == (1 << 28) / 1.5


def test_one_without_eager_calls_takes_no_part() -> None:
    told = reports_of([Rival("NCCL", "graph")], Slow())

    (made,) = [what for kind, _, what in told if kind == "done"]
    assert made == {"entries": [], "missing": []}


class Failing(Slow):
    """One beside which nothing goes."""

    def start(self, call: Any, calls: int, products: int) -> Callable[[], Any]:
        del call, calls, products
        raise RuntimeError("no room")


def test_what_fails_beside_the_product_is_missing() -> None:
    told = reports_of([Rival("NCCL", "eager")], Failing())

    (made,) = [what for kind, _, what in told if kind == "done"]
    assert made["entries"] == []
    (lost,) = made["missing"]
    assert lost["name"] == "NCCL beside product"
    assert lost["error"] == "rank 0: RuntimeError: no room"


# A product of 5 s instead of 2 s takes 150 % longer.
def test_the_line_says_what_it_costs_the_product() -> None:
    told = reports_of([Rival("polypath", "eager"), Rival("NCCL", "eager")], Slow(), rounds=1)
    (made,) = [what for kind, _, what in told if kind == "done"]

    text = documents.line(Case("allreduce", 1 << 28), made)

    assert text.startswith("allreduce float32 sum 256M | beside product: polypath 1500000.0")
    assert text.endswith("NCCL 1500000.0 (product 5000000.0, +150.0%) x1.00")


def test_a_result_beside_a_product_has_its_fields() -> None:
    told = reports_of([Rival("polypath", "eager"), Rival("NCCL", "eager")], Slow(), rounds=1)
    (made,) = [what for kind, _, what in told if kind == "done"]

    (result,) = documents.results_of(Case("allreduce", 1 << 28), 2, made)

    assert (result["mode"], result["product_seconds"]) == ("beside product", 5.0)
    assert result["rivals"][0]["product_alone_seconds"] == 2.0


# --- processes ---


def of_one_rank(rank: int, size: int, store: str, plan: Any, reports: Any) -> None:
    """As worker.on_gpu, but on ranks that are none; and NCCL hangs beside the product."""
    del size, store
    if rank != 0:
        time.sleep(60)
    assert plan.beside_product
    assert (plan.nccl, plan.without_peers) == ("/lib.so", "plain")

    class Hanging(Slow):
        def start(self, call: Any, calls: int, products: int) -> Callable[[], Any]:
            time.sleep(60 if call is hangs else 0)
            return super().start(call, calls, products)

    def hangs() -> str:
        return "call"

    nccl = Rival("NCCL", "eager")
    nccl.ready = lambda _: contender_module.Ready(hangs, [], [])  # type: ignore[method-assign]

    def begin(*about: Any) -> Any:
        return beside.BesideTurns(Hanging(), *about)

    worker.measure(plan, [Rival("polypath", "eager"), nccl], OneRank(), reports, begin)


def test_what_hangs_beside_the_product_is_left_out_and_the_rest_is_measured() -> None:
    plan = plans.Plan([Case("allreduce", 1 << 28)], 1, ["auto"], "stream", nccl="/lib.so",
                       without_peers="plain", beside_product=True)  # fmt: skip
    watching = supervisor.Supervisor(2, 3, 60, lambda *_: None, of_one_rank)

    outcome = watching.run(plan)

    made = outcome.results[plan.cases[0]]
    assert [entry["name"] for entry in made["entries"]] == ["polypath"]
    assert made["missing"] == [{"name": "NCCL beside product", "error": "no end after 3 s"}]
