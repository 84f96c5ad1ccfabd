"""Collectives on simulated machines, as Markdown: by algorithm, and among nodes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from figure_text import Document, size_text, table
from simulations import RESULTS, polypath

FOLDER = RESULTS / "collectives"
ONE_NODE = ("flat", "chain", "hierarchical", "ring", "knomial")
SEVERAL_NODES = ("flat", "ring", "hierarchical", "chain", "knomial", "nodes")
IN_PIECES = {
    "knomial": "allreduce", "bruck": "alltoall", "ring": "allreduce", "exchange": "alltoall",
}  # fmt: skip
PATHS = ("direct", "several")
PIECE_SIZES = (64 << 20, 256 << 20)
NODES = (2, 4)
NODE_SIZES = (8 << 20, 64 << 20, 256 << 20, 1 << 30)
ORDER_SIZES = (8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
ORDERS: dict[str, tuple[str, ...]] = {
    "fixed": (), "any": ("--any-order",), "by chain": ("--algorithms", "chain"),
}  # fmt: skip
NETWORK = 12e9  # bytes/s of a node of mist, nominal
ORDER_FILE = RESULTS / "plans" / "order_among_nodes.json"


def simulate() -> None:
    """Run all-reduces by each algorithm, and predict what the order costs among nodes."""
    FOLDER.mkdir(exist_ok=True)
    for machine in ("cedar", "mist"):
        _measure(machine, machine, (64 << 20,), (*ONE_NODE, "auto"), "--paths", "direct")
    for name, operation in IN_PIECES.items():
        for paths in PATHS:
            options = ("--paths", paths, "--no-verify")
            _measure(f"beluga-{name}-{paths}", "beluga", PIECE_SIZES, (name,), *options,
                     operation=operation)  # fmt: skip
    _measure("beluga", "beluga", (64 << 20,), ("flat",), "--no-verify")
    for nodes in NODES:
        options = ("--nodes", str(nodes), "--no-verify")
        _measure(_file(nodes), "mist", NODE_SIZES, SEVERAL_NODES, *options)
    options = ("--nodes", "2", "--no-verify")
    _measure("cedar-2-nodes", "cedar", (64 << 20,), ("nodes", "chain", "flat"), *options)
    ORDER_FILE.write_text(json.dumps(_orders(), indent=1) + "\n", encoding="utf-8")


def _orders() -> list[Document]:
    return [
        {"nodes": nodes, "order": order, "bytes": size, **_fastest(nodes, order, size)}
        for nodes in NODES for order in ORDERS for size in ORDER_SIZES
    ]  # fmt: skip


def _file(nodes: int) -> str:
    return f"mist-{nodes}-nodes"


def _measure(
    file: str,
    machine: str,
    sizes: tuple[int, ...],
    algorithms: tuple[str, ...],
    *options: str,
    operation: str = "allreduce",
) -> None:
    path = FOLDER / f"{file}.json"
    words = ("--machine", machine, "--sizes", ",".join(map(str, sizes)))
    named = ("--algorithms", ",".join(algorithms))
    polypath("bench", operation, *words, *named, *options, "--json", str(path))
    document = json.loads(path.read_text(encoding="utf-8"))
    document["host"] = {"simulated": True}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _fastest(nodes: int, order: str, size: int) -> dict[str, Any]:
    words = ("allreduce", str(size), "--machine", "mist", "--nodes", str(nodes), *ORDERS[order])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        polypath("plan", *words, "--json", str(path))
        best = json.loads(path.read_text(encoding="utf-8"))["algorithms"][0]
    return {key: best[key] for key in ("algorithm", "predicted_seconds")}


def _times(file: str) -> dict[tuple[int, str], float]:
    """Return microseconds by size and algorithm."""
    document = json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8"))
    results: list[Document] = document["results"]
    return {(each["bytes"], each["algorithm"]): 1e6 * each["seconds"] for each in results}


def _chosen(file: str) -> str:
    document = json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8"))
    return str(next(each["chosen"] for each in document["results"] if each["algorithm"] == "auto"))


def algorithms_block() -> str:
    """Return what each algorithm takes within a node, and what that says."""
    size = 64 << 20
    times = {machine: _times(machine) for machine in ("cedar", "mist")}
    rows = [[f"`{machine}`", *(f"{times[machine][size, name]:.0f} us" for name in ONE_NODE),
             _chosen(machine)] for machine in ("cedar", "mist")]  # fmt: skip
    cedar, mist = ({name: each[size, name] for name in ONE_NODE} for each in times.values())
    shown = table(["machine, allreduce of 64 MiB", *ONE_NODE, "chosen"], rows)
    said = (
        "Simulated on `cedar`, where all GPUs are joined, flat is "
        f"{cedar['hierarchical'] / cedar['flat']:.2f} times as fast as our hierarchical one (003: "
        "2.77, against its own). On `mist`, where the link between the sockets limits, "
        f"hierarchical is {mist['flat'] / mist['hierarchical']:.2f} times as fast as flat, and the "
        "chain and a k-nomial one are faster still: "
        f"{mist['flat'] / mist['chain']:.2f} and {mist['flat'] / mist['knomial']:.2f} times. All "
        "over one path."
    )
    return f"{shown}\n\n{said}"


def pieces_block() -> str:
    """Return what several paths gain where messages go in pieces and steps overlap."""
    rows = []
    for name, operation in IN_PIECES.items():
        one, several = (_times(f"beluga-{name}-{paths}") for paths in PATHS)
        pairs = [(one[size, name], several[size, name]) for size in PIECE_SIZES]
        cells = [f"{alone:.0f} us, {both:.0f} us, {alone / both:.2f}" for alone, both in pairs]
        rows.append([f"`{name}`", operation, *cells])
    flat, ring = _times("beluga"), _times("beluga-ring-several")
    said = (
        f"At 64 MiB flat takes {flat[PIECE_SIZES[0], 'flat']:.0f} us, and the ring over several "
        f"paths {ring[PIECE_SIZES[0], 'ring']:.0f} us."
    )
    columns = (f"{size_text(size)}: one path, several, gain" for size in PIECE_SIZES)
    head = ["algorithm", "collective", *columns]
    return f"{table(head, rows)}\n\n{said}"


def nodes_block() -> str:
    """Return what each algorithm takes among nodes."""
    head = ["`mist`", "size", *SEVERAL_NODES, "flat / nodes", "nodes over the network alone"]
    rows = [row for nodes in NODES for row in _node_rows(nodes)]
    cedar = _times("cedar-2-nodes")
    by = {name: cedar[64 << 20, name] for name in ("nodes", "chain", "flat")}
    said = (
        f"On `cedar`, by way of hosts, simulated: 64 MiB on two nodes take {by['nodes']:.0f} us "
        f"by `nodes`, {by['chain']:.0f} by `chain`, {by['flat']:.0f} flat."
    )
    return f"{table(head, rows)}\n\n{said}"


def _node_rows(nodes: int) -> list[list[str]]:
    times = _times(_file(nodes))
    rows = []
    for size in NODE_SIZES:
        by = {name: times[size, name] for name in SEVERAL_NODES}
        alone = 1e6 * 2 * (nodes - 1) / nodes * size / NETWORK
        ratios = (by["flat"] / by["nodes"], by["nodes"] / alone)
        cells = [*(f"{time:.0f}" for time in by.values()), *(f"{each:.2f}" for each in ratios)]
        rows.append([f"{nodes} nodes", size_text(size), *cells])
    return rows


def order_block() -> str:
    """Return what the order of a sum costs among nodes."""
    found = {(each["nodes"], each["order"], each["bytes"]): each
             for each in json.loads(ORDER_FILE.read_text(encoding="utf-8"))}  # fmt: skip
    rows = [
        [f"{nodes} nodes", order, *(_order_cell(found[nodes, order, size]) for size in ORDER_SIZES)]
        for nodes in NODES for order in ORDERS
    ]  # fmt: skip
    return table(["`mist`", "order", *map(size_text, ORDER_SIZES)], rows)


def _order_cell(entry: Document) -> str:
    time = f"{1e6 * entry['predicted_seconds']:.0f}"
    return time if entry["order"] == "by chain" else f"{entry['algorithm']} {time}"
