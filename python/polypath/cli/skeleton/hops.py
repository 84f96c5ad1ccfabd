"""The hops of a structure, each with all that a copy over it passes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from polypath.cli.output import Document
from polypath.cli.skeleton.rates import (
    DRIVER_STAGED,
    LATENCY,
    LATENCY_STAGED,
    NVLINK,
    rate,
    time,
)
from polypath.cli.skeleton.structure import Structure
from polypath.cli.skeleton.topology import COMMAND, OTHER_NODE

_SAYS = "nvidia-smi topo -p2p r says whether."
_PEER = f"{{}} in the words of {COMMAND}: peer access is assumed; {_SAYS}"
_STAGED = f"{{}} in the words of {COMMAND}: no peer access is assumed; {_SAYS}"
LINKS = ("pcie", "socket")  # the kinds of resources that limit one copy over PCIe
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
            yield placed(name, self.source, self.destination)


class Hops:
    """All hops; one over PCIe is as fast as the slowest link that it passes."""

    def __init__(self, structure: Structure, resources: dict[str, Document]) -> None:
        self._structure, self._resources = structure, resources

    def all(self) -> list[Hop]:
        """Return the hops between GPUs, and between each GPU and each host."""
        structure = self._structure
        pairs = itertools.permutations(structure.gpus, 2)
        found = [Hop(*pair, self._between_gpus(*pair)) for pair in pairs]
        for gpu, node in itertools.product(structure.gpus, structure.nodes):
            host = structure.hosts[node]
            found.append(Hop(gpu, host, self._to_host(gpu, node)))
            found.append(Hop(host, gpu, self._from_host(node, gpu)))
        return found

    def _between_gpus(self, one: str, other: str) -> Document:
        structure = self._structure
        links, relation = structure.links(one, other), structure.relation(one, other)
        if links and structure.switched:
            ports = ("{from}.peer_engine", "{from}.egress", "{to}.ingress")
            return _hop(NVLINK * links, "nvlink", *ports)
        if links:
            return _hop(NVLINK * links, "nvlink", "{from}-{to}.link")
        if relation in OTHER_NODE:
            return {**self._driver_staged(one, other), "note": _STAGED.format(relation)}
        uplinks = [*structure.uplink(one, "out"), *structure.uplink(other, "in")]
        way = () if structure.below_one_switch(one, other) else dict.fromkeys(uplinks)
        peer = self._over_pcie(one, other, "{from}.peer_engine", *_OUT, *way, *_IN)
        return {**peer, "note": _PEER.format(relation)}

    def _driver_staged(self, one: str, other: str) -> Document:
        """Return a copy that the driver makes through the memory of the sender's host."""
        structure = self._structure
        nodes = structure.node_of[one], structure.node_of[other]
        host = structure.hosts[nodes[0]]
        twice: dict[str, Any] = {"resource": f"{host}.total", "weight": 2}
        out = ["{from}.d2h_engine", *_OUT, *structure.uplink(one, "out"), f"{host}.write"]
        into = [*structure.between(*nodes), *structure.uplink(other, "in"), *_IN, "{to}.h2d_engine"]
        slowest, _ = self._slowest(one, other, (*out, *into))
        return {
            "kind": "driver_staged",
            "latency": time(LATENCY_STAGED, "staged"),
            "bandwidth": rate(DRIVER_STAGED * slowest, "staged"),
            "uses": [*out, f"{host}.read", twice, *into],
        }

    def _to_host(self, gpu: str, node: int) -> Document:
        structure = self._structure
        way = [*structure.uplink(gpu, "out"), *structure.between(structure.node_of[gpu], node)]
        uses = ("{from}.d2h_engine", *_OUT, *way, "{to}.write", "{to}.total")
        return self._over_pcie(gpu, structure.hosts[node], *uses)

    def _from_host(self, node: int, gpu: str) -> Document:
        structure = self._structure
        way = [*structure.between(node, structure.node_of[gpu]), *structure.uplink(gpu, "in")]
        uses = ("{from}.read", "{from}.total", *way, *_IN, "{to}.h2d_engine")
        return self._over_pcie(structure.hosts[node], gpu, *uses)

    def _over_pcie(self, source: str, destination: str, *uses: str) -> Document:
        return _hop(*self._slowest(source, destination, uses), *uses)

    def _slowest(self, source: str, destination: str, uses: Sequence[str]) -> tuple[float, str]:
        """Return what the slowest of the links carries that a copy uses, and its source."""
        names = (placed(name, source, destination) for name in uses)
        links = (self._resources[name] for name in names)
        rates = [each["capacity"] for each in links if each["kind"] in LINKS]
        slowest = min(rates, key=lambda each: float(each["value"]))
        return slowest["value"], slowest["source"]


def placed(name: str, source: str, destination: str) -> str:
    """Return the name of a resource that a hop between two places uses."""
    return name.replace("{from}", source).replace("{to}", destination)


def _hop(gigabytes: float, source: str, *uses: str) -> Document:
    latency = time(LATENCY, "latency")
    return {"latency": latency, "bandwidth": rate(gigabytes, source), "uses": [*uses]}
