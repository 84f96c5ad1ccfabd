"""The hops of a structure, each with all that a copy over it passes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from polypath.cli.output import Document
from polypath.cli.skeleton.rates import (
    DRIVER_STAGED,
    LATENCY,
    LATENCY_STAGED,
    NVLINK,
    PCIE,
    rate,
    time,
)
from polypath.cli.skeleton.structure import Structure
from polypath.cli.skeleton.topology import COMMAND, OTHER_NODE

_PEER = f"{{}} in {COMMAND}: peer access is assumed; nvidia-smi topo -p2p r says whether."
_STAGED = f"{{}} in {COMMAND}: no peer access is assumed; nvidia-smi topo -p2p r says whether."
_OUT = ("{from}.pcie_out", "{from}.pcie")
_IN = ("{to}.pcie_in", "{to}.pcie")


class Hop(NamedTuple):
    """A hop, and the rest of its entry, in which {from} and {to} stand for its places."""

    source: str
    destination: str
    rest: Document

    def used(self) -> Iterator[str]:
        """Return the names of what it uses."""
        for use in self.rest["uses"]:
            name = use if isinstance(use, str) else use["resource"]
            yield name.replace("{from}", self.source).replace("{to}", self.destination)


def hops_of(structure: Structure) -> list[Hop]:
    """Return the hops between GPUs, and between each GPU and each host."""
    found = []
    for pair in itertools.permutations(structure.gpus, 2):
        found.append(Hop(*pair, _between_gpus(structure, *pair)))
    for gpu, node in itertools.product(structure.gpus, structure.nodes):
        host = structure.hosts[node]
        found.append(Hop(gpu, host, _to_host(structure, gpu, node)))
        found.append(Hop(host, gpu, _from_host(structure, node, gpu)))
    return found


def _hop(gigabytes: float, source: str, *uses: str) -> Document:
    latency = time(LATENCY, "latency")
    return {"latency": latency, "bandwidth": rate(gigabytes, source), "uses": [*uses]}


def _between_gpus(structure: Structure, one: str, other: str) -> Document:
    links, relation = structure.links(one, other), structure.relation(one, other)
    if links and structure.switched:
        ports = ("{from}.peer_engine", "{from}.egress", "{to}.ingress")
        return _hop(NVLINK * links, "nvlink", *ports)
    if links:
        return _hop(NVLINK * links, "nvlink", "{from}-{to}.link")
    if relation in OTHER_NODE:
        return {**_driver_staged(structure, one, other), "note": _STAGED.format(relation)}
    uplinks = [*structure.uplink(one, "out"), *structure.uplink(other, "in")]
    way = () if structure.below_one_switch(one, other) else dict.fromkeys(uplinks)
    peer = _hop(PCIE, "pcie", "{from}.peer_engine", *_OUT, *way, *_IN)
    return {**peer, "note": _PEER.format(relation)}


def _driver_staged(structure: Structure, one: str, other: str) -> Document:
    """Return a copy that the driver makes through the memory of the sender's host."""
    nodes = structure.node_of[one], structure.node_of[other]
    host = structure.hosts[nodes[0]]
    twice: dict[str, Any] = {"resource": f"{host}.total", "weight": 2}
    out = ["{from}.d2h_engine", *_OUT, *structure.uplink(one, "out"), f"{host}.write"]
    into = [*structure.between(*nodes), *structure.uplink(other, "in"), *_IN, "{to}.h2d_engine"]
    return {
        "kind": "driver_staged",
        "latency": time(LATENCY_STAGED, "staged"),
        "bandwidth": rate(DRIVER_STAGED, "staged"),
        "uses": [*out, f"{host}.read", twice, *into],
    }


def _to_host(structure: Structure, gpu: str, node: int) -> Document:
    way = [*structure.uplink(gpu, "out"), *structure.between(structure.node_of[gpu], node)]
    return _hop(PCIE, "pcie", "{from}.d2h_engine", *_OUT, *way, "{to}.write", "{to}.total")


def _from_host(structure: Structure, node: int, gpu: str) -> Document:
    way = [*structure.between(node, structure.node_of[gpu]), *structure.uplink(gpu, "in")]
    return _hop(PCIE, "pcie", "{from}.read", "{from}.total", *way, *_IN, "{to}.h2d_engine")
