"""What copies share, as the structure has it."""

from __future__ import annotations

import itertools

from polypath.cli.output import Document
from polypath.cli.skeleton.rates import BOTH_WAYS, MEMORY, NVLINK, SOCKETS, capacity, pcie
from polypath.cli.skeleton.structure import Structure

ENGINE = {"kind": "engine", "copies_at_once": 1}


def resources_of(structure: Structure) -> dict[str, Document]:
    """Return everything that hops may name, by its name."""
    found: dict[str, Document] = {}
    for gpu in structure.gpus:
        found |= _nvlinks(structure, gpu)
        found |= {f"{gpu}.{name}": ENGINE for name in ("peer_engine", "h2d_engine", "d2h_engine")}
        found |= _pcie_link(structure.speeds(gpu)[0], gpu, "pcie_in", "pcie_out", "pcie")
    for uplink, gpus in structure.uplinks.items():
        speed = structure.speeds(min(gpus))[1]
        found |= _pcie_link(speed, uplink, "in", "out", "total")
    fastest = max(pcie(structure.speeds(gpu)[0])[0] for gpu in structure.gpus)
    for host in structure.hosts.values():
        memory = MEMORY.items()
        found |= {
            f"{host}.{end}": capacity("memory", part * fastest, "memory") for end, part in memory
        }
    for nodes in itertools.permutations(structure.nodes, 2):
        link = capacity("socket", SOCKETS, "sockets")
        found |= dict.fromkeys(structure.between(*nodes), link)
    return found


def _pcie_link(speed: float, name: str, into: str, out: str, total: str) -> dict[str, Document]:
    value, source = pcie(speed)
    one_way = capacity("pcie", value, source)
    both = capacity("pcie", BOTH_WAYS * value, "pcie_both")
    return {f"{name}.{into}": one_way, f"{name}.{out}": one_way, f"{name}.{total}": both}


def _nvlinks(structure: Structure, gpu: str) -> dict[str, Document]:
    """Return a GPU's ports to a switch, or its links to each of the others."""
    counts = {other: structure.links(gpu, other) for other in structure.gpus}
    if structure.switched:
        port = capacity("port", NVLINK * max(counts.values()), "nvlink")
        return {f"{gpu}.egress": port, f"{gpu}.ingress": port}
    return {
        f"{gpu}-{other}.link": capacity("link", NVLINK * count, "nvlink")
        for other, count in counts.items()
        if count
    }
