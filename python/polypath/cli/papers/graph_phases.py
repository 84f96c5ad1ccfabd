"""What graphs cost and gain (2026): nodes over size, phases over nodes, small messages."""

from __future__ import annotations

from typing import Any

from polypath import reports
from polypath.cli.papers.findings import MIB, Bench, Curve, Outcome, Plot, Row, doubling
from polypath.cli.papers.sources import GRAPHS

TWO_PATHS = ["direct", "gpu2"]
NODES = {19: 1, 20: 1, 21: 2, 22: 2, 23: 4, 24: 6, 25: 8, 26: 12, 27: 16, 28: 24, 29: 34}
LAST = NODES[29]


def run(bench: Bench) -> Outcome:
    """Reproduce node counts, phases, and where graphs and several paths begin to gain."""
    outcome = Outcome()
    for exponent, stated in NODES.items():
        outcome.rows.append(_nodes(exponent, stated))
    outcome.rows.append(_first_instantiation())
    outcome.plots.append(phases("narval"))
    for machine in ("beluga", "narval"):
        outcome.rows.append(_small_graphs(bench, machine))
        outcome.rows.append(_begins(bench, machine))
    bench.progress()
    return outcome


def _nodes(exponent: int, stated: int) -> Row:
    paths = ["direct"] if stated == 1 else TWO_PATHS
    executor = "graph" if stated > 1 else "stream"
    options: dict[str, Any] = {"machine": "narval", "executor": executor, "paths": paths}
    plan = reports.plan("gpu0", "gpu1", 1 << exponent, **options)
    chunks = {"gpu2": max(1, (stated - 1) // 2)}
    theirs = plan if stated == 1 else reports.plan(
        "gpu0", "gpu1", 1 << exponent, chunks=chunks, **options
    )  # fmt: skip
    longer = theirs["predicted_seconds"] / plan["predicted_seconds"] - 1
    nodes = sum(p["chunks"] * (1 if p["via"] == "direct" else 2) for p in plan["paths"])
    return Row(
        (GRAPHS,),
        f"nodes of the graph of 2^{exponent} B over two paths",
        "narval",
        str(stated),
        nodes,
        str(nodes),
        "The paper's counts come from its exhaustive tuning on the machine, ours from the model; "
        f"with the paper's number of chunks it would take {100 * longer:.1f} % longer.",
        f"polypath plan gpu0 gpu1 {1 << exponent} --machine narval --paths {','.join(paths)} "
        f"--executor {executor}" + (f" --chunks gpu2={chunks['gpu2']}" if stated > 1 else ""),
        paper=stated,
    )


def _cost(machine: str, name: str) -> float:
    """Return one call cost of a machine, in microseconds."""
    quantity = reports.machine(machine)["costs"][name]
    return float(quantity["value"]) * {"us": 1, "ms": 1e3, "s": 1e6, "ns": 1e-3}[quantity["unit"]]


def _first_instantiation() -> Row:
    taken = _cost("narval", "graph_instantiate") + LAST * _cost("narval", "graph_instantiate_node")
    return Row(
        (GRAPHS,),
        "first instantiation of the graph of 34 nodes",
        "narval",
        "up to 3 ms",
        taken / 1e3,
        f"{taken / 1e3:.2f} ms",
        "Narval's cost of instantiating was fitted to this figure: it confirms nothing.",
        "polypath info --machine narval",
        paper=3,
        fitted=True,
    )


def phases(machine: str) -> Plot:
    """Return what graphs cost over their nodes, as a machine's file or calibration has it."""

    def line(name: str, fixed: str, per_node: str) -> Curve:
        start, slope = _cost(machine, fixed) if fixed else 0, _cost(machine, per_node)
        points = ((n, round(start + n * slope, 2)) for n in dict.fromkeys(NODES.values()))
        return Curve(name, tuple(points))

    curves = (
        line("creation, construction, instantiation: first", "graph_instantiate",
             "graph_instantiate_node"),
        line("launch: first and later", "graph_launch", "graph_launch_node"),
        line("later, with other addresses: update", "", "graph_update_node"),
    )  # fmt: skip
    title = f"phases of graphs on {machine or 'this computer'}, as its file has them"
    return Plot(title, "us", curves, x="nodes")


def _small_graphs(bench: Bench, machine: str) -> Row:
    sizes = doubling(2, 4)
    how = {"paths": TWO_PATHS, "window": 1}
    streams, graphs = (
        bench.copies("bw", machine, sizes, executor=executor, **how)
        for executor in ("stream", "graph")
    )
    ratio = streams[0]["seconds"] / graphs[0]["seconds"]
    return Row(
        (GRAPHS,),
        "below 8 MiB graphs cost more than they gain",
        machine,
        "they cost",
        None,
        f"{ratio:.2f} of the streams' rate at 2 MiB",
        "A launch is assumed to cost little more than one copy's call, and a copy's node less than "
        "its call; the paper's launch grows with its nodes by an amount that only its plot had. "
        "The automatic plan asks 5 us of a graph for certain and takes streams here.",
        f"polypath bench bw --machine {machine} --sizes 2M,4M --paths direct,gpu2 --executor graph",
        holds=ratio < 1,
    )


def _begins(bench: Bench, machine: str) -> Row:
    sizes = [MIB >> 2, MIB >> 1, MIB, *doubling(2, 16)]
    results = bench.copies("put", machine, sizes)
    first = next((r["bytes"] for r in results if len(r["paths"]) > 1), 0)
    return Row(
        (GRAPHS,),
        "several paths begin at",
        machine,
        "2 MiB",
        first / MIB,
        f"{first / MIB:g} MiB",
        "Ours begin where the prediction says that several paths gain for certain.",
        f"polypath bench put --machine {machine} --sizes 256K:16M",
        paper=2,
    )
