"""Lower bounds of plans: by hand where that is possible, and below every plan."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from result_schemas import PLAN_BOUNDS

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "scripts"))
machine_module = importlib.import_module("bounds.machine")
collectives = importlib.import_module("bounds.collectives")
sets = importlib.import_module("bounds.sets")
set_bounds = importlib.import_module("set_bounds")
stored = importlib.import_module("bounds.stored")
plan_bounds = importlib.import_module("plan_bounds")
bound_figures = importlib.import_module("bound_figures")

GB = 1e9
FREE = {"first_byte": 0.0, "wake_up": 0.0, "copy_call": 0.0, "kernel_efficiency": 0.9}


def machine(gpus: int, links: dict[tuple[str, str], list[str]], **capacities: float) -> Any:
    """Return a machine without latencies, and hops that use these resources."""
    places = sorted({end for pair in links for end in pair})
    names = [f"gpu{number}" for number in range(gpus)]
    return machine_module.Machine(
        name="by hand",
        gpus=names,
        hosts=[place for place in places if place not in names],
        resources={
            name: machine_module.Resource(name, rate * GB) for name, rate in capacities.items()
        },
        hops=[
            machine_module.Hop(*ends, "peer", 0.0, 1e13, dict.fromkeys(used, 1.0))
            for ends, used in links.items()
        ],
        nodes=[list(range(gpus))],
        **FREE,
    )


def switch(gpus: int) -> Any:
    """Return GPUs behind a switch, with ports of 1 GB/s each way."""
    ports = {f"{way}{gpu}": 1.0 for gpu in range(gpus) for way in ("out", "into")}
    links = {
        (f"gpu{a}", f"gpu{b}"): [f"out{a}", f"into{b}"]
        for a in range(gpus)
        for b in range(gpus)
        if a != b
    }
    return machine(gpus, links, **ports)


def two_sockets() -> Any:
    """Return two pairs of GPUs, with 1 GB/s each way between them and 1000 in them."""
    half = [0, 0, 1, 1]
    links = {
        (f"gpu{a}", f"gpu{b}"): ["fast" if half[a] == half[b] else f"from{half[a]}"]
        for a in range(4)
        for b in range(4)
        if a != b
    }
    return machine(4, links, fast=1000.0, from0=1.0, from1=1.0)


def seconds(of: Any, collective: str, **options: Any) -> float:
    """Return the bound for 1 GB."""
    request = collectives.Request(collective, GB, **options)
    return float(collectives.LowerBounds(of).of(request))


# A port carries (n - 1)/n of the message each way, twice that of an all-reduce, and with a root all
# of it.
@pytest.mark.parametrize(
    ("collective", "expected"),
    [
        ("allreduce", 1.5),
        ("reduce", 1),
        ("reducescatter", 0.75),
        ("allgather", 0.75),
        ("alltoall", 0.75),
        ("broadcast", 1),
    ],
)
def test_ports_of_a_switch(collective: str, expected: float) -> None:
    assert seconds(switch(4), collective) == pytest.approx(expected, rel=1e-4)
    if collective in collectives.REDUCING:
        in_order = seconds(switch(4), collective, in_order=True)
        assert in_order == pytest.approx(expected, rel=1e-4)


# Two of four blocks cross each way, of an all-to-all each twice. In rank order x0 + x1 crosses for
# parts 2 and 3, and for a part f of 0 and 1; of the rest x2 and x3 cross the other way, and for f
# the sum comes back: max(2 + 2f, 4(1 - f) + 2f) blocks are 3 at f = 1/2.
@pytest.mark.parametrize(
    ("collective", "in_order", "expected"),
    [
        ("allgather", False, 0.5),
        ("alltoall", False, 1),
        ("reducescatter", False, 0.5),
        ("reducescatter", True, 0.75),
        ("allreduce", False, 1),
        ("broadcast", False, 1),
    ],
)
def test_a_weak_cut(collective: str, in_order: bool, expected: float) -> None:
    assert seconds(two_sockets(), collective, in_order=in_order) == pytest.approx(
        expected, rel=0.01
    )


# What is written into a host's memory once may be read twice; but two values that are to be added
# stay two there, so that a GPU reads both.
def test_hosts_copy_and_do_not_add() -> None:
    ways = {("gpu0", "host0"): ["up0"], ("host0", "gpu0"): ["down0"]}
    for gpu in (1, 2):
        ways |= {(f"gpu{gpu}", "host0"): [f"up{gpu}"], ("host0", f"gpu{gpu}"): [f"down{gpu}"]}
    rates = {f"{way}{gpu}": 10.0 for gpu in (1, 2) for way in ("up", "down")}
    by_host = machine(3, ways, up0=1.0, down0=1.0, **rates)

    assert seconds(by_host, "broadcast") == pytest.approx(1, rel=1e-4)
    # x2 goes to gpu1, and x1 + x2 to gpu0.
    assert seconds(by_host, "reduce") == pytest.approx(1, rel=1e-4)
    rates |= {"down1": 0.1, "down2": 0.1}
    slow_reader = machine(3, ways, up0=1.0, down0=1.0, **rates)
    # a of the sums are made at gpu1 and gpu2, both of which take a/2: max(2 - a, 5a) is 5/3.
    assert seconds(slow_reader, "reduce") == pytest.approx(5 / 3, rel=1e-4)


# gpu0's engine makes one copy at a time, to a memory that takes 5 GB/s of its 10, or to a far one
# at 5: half of the time is left for that, which makes 7.5. Kernels, which use no engine, make 0.9
# of the 2.5 GB/s that are left of the port.
@pytest.mark.parametrize(("kind", "rate"), [("driver_staged", 7.5), ("host", 9.75)])
def test_an_engine_limits_copies_and_no_kernels(kind: str, rate: float) -> None:
    ways = {
        ("gpu0", "host0"): ["engine", "port", "near"],
        ("gpu0", "host1"): ["engine", "port"],
        ("host0", "gpu1"): ["fast"],
        ("host1", "gpu1"): ["fast"],
    }
    ours = machine(2, ways, port=10.0, near=5.0, fast=1000.0)
    ours.resources["engine"] = machine_module.Resource("engine", engine=1)
    for index, bandwidth in ((0, 10 * GB), (1, 5 * GB)):
        ours.hops[index] = replace(ours.hops[index], kind=kind, bandwidth=bandwidth)

    assert seconds(ours, "broadcast") == pytest.approx(1 / rate, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_no_plan_of_a_generated_machine_is_below_its_bound(seed: int) -> None:
    rows = plan_bounds.rows_of(f"synthetic:{seed}", 1, [1 << 20, 64 << 20], True)

    assert all(row["predicted_seconds"] >= row["bound_seconds"] for row in rows)


@pytest.mark.parametrize(("name", "nodes"), [("mist", 1), ("cedar", 2), ("nop2p4", 1)])
def test_no_plan_of_a_known_machine_is_below_its_bound(name: str, nodes: int) -> None:
    for row in plan_bounds.rows_of(name, nodes, [16 << 20], False):
        assert bound_figures.ratio(row) >= 1, plan_bounds.line(row)


def test_stored_predictions_are_those_of_today() -> None:
    rows = json.loads((ROOT / "results/simulated/plan_bounds.json").read_text())["rows"]
    zoo = {each["name"] for each in plan_bounds.reports.machines()}
    known = [row for row in rows if row["machine"] in zoo]

    assert len(known) > 100
    for row in known:
        asked = {name: row[name] for name in ("root",) if row[name] is not None}
        asked |= {"nodes": row["nodes"]} if row["nodes"] > 1 else {}
        plan = plan_bounds.reports.collective_plan(
            row["collective"], row["bytes"], machine=row["machine"],
            any_order=row["any_order"], **asked,
        )  # fmt: skip
        assert plan["predicted_seconds"] == pytest.approx(row["predicted_seconds"]), row


def test_roots_have_bounds_of_their_own() -> None:
    rows = list(plan_bounds.rows_of("mist", 1, [16 << 20], False, 3))

    assert [row["collective"] for row in rows] == ["reduce", "broadcast"]
    assert all(row["root"] == 3 for row in rows)
    assert all(bound_figures.ratio(row) >= 1 for row in rows)


def test_nodes_are_those_of_the_product() -> None:
    ours = machine_module.machine_of(plan_bounds.reports.machine("cedar"), 2)

    assert ours.gpus[4] == "node1.gpu0"
    assert ours.nodes == [[0, 1, 2, 3], [4, 5, 6, 7]]
    between = [hop for hop in ours.hops if hop.kind == "network"]
    assert [(hop.source, hop.destination) for hop in between] == [
        ("node0.host0", "node1.host0"),
        ("node1.host0", "node0.host0"),
    ]


# Four GPUs, a link of 1 GB/s between each pair, each sends 1 GB to the next one. Of each message d
# goes over one link, the rest over two; 12 links carry 4(d + 2(1 - d)) <= 12·T, and d <= T: 1/2.
def test_a_ring_with_relays() -> None:
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    mesh = machine(
        4,
        {(f"gpu{a}", f"gpu{b}"): [f"link{a}{b}"] for a, b in pairs},
        **{f"link{a}{b}": 1.0 for a, b in pairs},
    )
    ring = [sets.Copy(f"gpu{a}", f"gpu{(a + 1) % 4}", int(GB)) for a in range(4)]

    assert sets.moving_time(mesh, ring) == pytest.approx(0.5, rel=1e-4)
    slow_calls = replace(mesh, copy_call=0.2)
    assert sets.lower_bound(slow_calls, ring) == pytest.approx(0.8, rel=1e-4)
    assert sets.with_calls(slow_calls, ring) == pytest.approx(1.1, rel=1e-4)


@pytest.mark.parametrize("name", ["narval", "nop2p4", "synthetic:4"])
def test_no_set_is_below_its_bound_nor_slower_than_native(name: str) -> None:
    for entry in set_bounds.sets_of(name, 1):
        for plan in entry["plans"].values():
            assert plan["predicted_seconds"] >= entry["bound_seconds"]
            assert plan["predicted_seconds"] <= plan["native_seconds"] * 1.002


def test_sets_are_the_same_every_time() -> None:
    of = machine_module.machine_of(plan_bounds.reports.machine("mist"))

    assert set_bounds.drawn(of, 1) == set_bounds.drawn(of, 1)
    assert set_bounds.drawn(of, 1) != set_bounds.drawn(of, 2)


def test_stored_rows_are_as_stated() -> None:
    document = stored.document()

    jsonschema.validate(document, PLAN_BOUNDS)
    assert all(bound_figures.ratio(row) >= 1 for row in document["rows"])
    assert all(
        plan["predicted_seconds"] >= entry["bound_seconds"]
        for entry in document["sets"]
        for plan in entry["plans"].values()
    )
