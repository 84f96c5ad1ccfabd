"""
A machine as the bounds see it: places, hops, and what copies share.

It is read from a description with every pattern expanded (`polypath info --json`); everything else
here is this file's own, on purpose: a bound must not repeat a mistake of what it judges.
docs/machines.md says what the fields mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

FACTORS = {
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
    "B/s": 1.0, "MB/s": 1e6, "GB/s": 1e9, "GiB/s": 2.0**30,
    "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "1": 1.0,
}  # fmt: skip
# Between nodes such a hop is three copies, each of which has a hop of its own.
STAGED_BY_US = "network_staged"
BY_KERNELS = ("peer", "host")

Document = dict[str, Any]


@dataclass(frozen=True)
class Resource:
    """What copies share; an engine makes so many copies at a time."""

    name: str
    capacity: float | None = None
    engine: int | None = None
    burst: tuple[float, float] | None = None  # rate, bytes


@dataclass(frozen=True)
class Hop:
    """A copy from one place to another, and its claims on resources."""

    source: str
    destination: str
    kind: str
    latency: float
    bandwidth: float
    uses: dict[str, float]


@dataclass(frozen=True)
class Machine:
    """The GPUs are the ranks, in order."""

    name: str
    gpus: list[str]
    hosts: list[str]
    resources: dict[str, Resource]
    hops: list[Hop]
    first_byte: float  # seconds before any copy or kernel moves one
    wake_up: float  # seconds from the last byte until the waiting thread knows
    copy_call: float
    kernel_efficiency: float  # what a kernel reaches of a hop at best
    nodes: list[list[int]] = field(default_factory=list)  # the ranks of each


def number(entry: Document) -> float:
    """Return a quantity in seconds, bytes or bytes per second."""
    return float(entry["value"]) * FACTORS[entry["unit"]]


def uses_of(entries: list[Any]) -> dict[str, float]:
    """Return the weight of each resource."""
    plain = [{"resource": each} if isinstance(each, str) else each for each in entries]
    return {each["resource"]: float(each.get("weight", 1)) for each in plain}


def resource_of(prefix: str, entry: Document) -> Resource:
    """Return a resource of a node."""
    burst = entry.get("burst")
    return Resource(
        prefix + entry["name"],
        number(entry["capacity"]) if "capacity" in entry else None,
        entry.get("copies_at_once"),
        (number(burst["rate"]), number(burst["size"])) if burst else None,
    )


def hop_of(entry: Document, kinds: dict[str, str]) -> Hop:
    """Return a hop; without a kind it is what its ends say."""
    ends = (kinds[entry["from"]], kinds[entry["to"]])
    kind = entry.get("kind", "host" if "host" in ends else "peer")
    return Hop(
        entry["from"], entry["to"], kind, number(entry["latency"]), number(entry["bandwidth"]),
        uses_of(entry["uses"]),
    )  # fmt: skip


def network_hops(document: Document, nodes: int, kinds: dict[str, str]) -> list[Hop]:
    """Return the hops between the nodes' ends, of hosts to hosts and of GPUs to GPUs."""
    network = document["network"]
    latency, bandwidth = number(network["latency"]), number(network["bandwidth"])
    found = []
    for a, b in ((a, b) for a in range(nodes) for b in range(nodes) if a != b):
        for out in network["ends"]:
            for into in network["ends"]:
                if kinds[out["place"]] != kinds[into["place"]]:
                    continue
                uses = {f"node{a}.{name}": w for name, w in uses_of(out["out"]).items()}
                uses |= {f"node{b}.{name}": w for name, w in uses_of(into["in"]).items()}
                ends = (f"node{a}.{out['place']}", f"node{b}.{into['place']}")
                found.append(Hop(*ends, "network", latency, bandwidth, uses))
    return found


def in_node(number_of_node: int, hop: Hop) -> Hop:
    """Return the same hop of one of several nodes."""
    prefix = f"node{number_of_node}."
    return replace(
        hop,
        source=prefix + hop.source,
        destination=prefix + hop.destination,
        uses={prefix + name: weight for name, weight in hop.uses.items()},
    )


def first_byte_of(document: Document, hops: list[Hop]) -> float:
    """Return the least time from the call until a byte moves: a call, and a latency."""
    costs, driver = document["costs"], document["driver"]
    call = min(
        number(costs["copy"]), number(costs["graph_launch"]), number(driver["kernel_launch"])
    )
    starts = [number(driver[f"{kind}_latency"]) for kind in ("kernel", "mail", "parcel")]
    return call + min(*starts, *(hop.latency for hop in hops))


def reached_by_kernels(document: Document) -> float:
    """Return the part of a hop that kernels reach at best."""
    driver = document["driver"]
    return max(number(driver[f"{kind}_efficiency"]) for kind in ("kernel", "mail", "parcel"))


def all_hops(document: Document, nodes: int, kinds: dict[str, str]) -> list[Hop]:
    """Return the hops of all nodes, and between them."""
    own = [hop_of(each, kinds) for each in document["hops"]]
    if nodes == 1:
        return [hop for hop in own if hop.kind != STAGED_BY_US]
    between = network_hops(document, nodes, kinds)
    return [in_node(node, hop) for node in range(nodes) for hop in own] + between


def machine_of(document: Document, nodes: int = 1) -> Machine:
    """Return the machine that a description stands for, or so many of it on its network."""
    kinds = {each["name"]: each["kind"] for each in document["places"]}
    prefixes = [f"node{node}." for node in range(nodes)] if nodes > 1 else [""]
    places = [(prefix + name, kind) for prefix in prefixes for name, kind in kinds.items()]
    gpus = [name for name, kind in places if kind == "gpu"]
    each_node = len(gpus) // nodes
    hops = all_hops(document, nodes, kinds)
    resources = [resource_of(prefix, each) for prefix in prefixes for each in document["resources"]]
    return Machine(
        name=document["name"],
        gpus=gpus,
        hosts=[name for name, kind in places if kind == "host"],
        resources={each.name: each for each in resources},
        hops=hops,
        first_byte=first_byte_of(document, hops),
        wake_up=number(document["costs"]["synchronize"]),
        copy_call=number(document["costs"]["copy"]),
        kernel_efficiency=reached_by_kernels(document),
        nodes=[list(range(i * each_node, (i + 1) * each_node)) for i in range(nodes)],
    )
