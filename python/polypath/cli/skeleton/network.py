"""What joins computers like this one: the adapters that hwloc found, each near some memories."""

from __future__ import annotations

import re

from polypath.cli.output import Document
from polypath.cli.skeleton.hwloc import Device
from polypath.cli.skeleton.rates import LATENCY_NETWORK, capacity, pcie, rate, time
from polypath.cli.skeleton.structure import Structure

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
Adapters = dict[str, Device]


def network_of(
    structure: Structure, resources: dict[str, Document]
) -> tuple[dict[str, Document], Document]:
    """Return the adapters' ports, by name, and the file's `network`; neither without adapters."""
    adapters = _by_name(structure)
    if not adapters:
        return {}, {}
    rates = {name: pcie(adapter.speed)[0] for name, adapter in adapters.items()}
    ends = [_host_end(structure, adapters, node) for node in structure.nodes]
    ends += [_gpu_end(structure, adapters, gpu) for gpu in structure.gpus]
    used = [name for name in rates if any(f"{name}.out" in end["out"] for end in ends)]
    ports = {f"{name}.{way}": capacity("adapter", rates[name], "network")
             for name in used for way in ("out", "in")}  # fmt: skip
    known, ways = {**resources, **ports}, [name for end in ends for name in end["out"]]
    slowest = min(known[name]["capacity"]["value"] for name in ways)
    latency = time(LATENCY_NETWORK, "network_latency")
    return ports, {
        "network": {"latency": latency, "bandwidth": rate(slowest, "network"), "ends": ends}
    }


def _by_name(structure: Structure) -> Adapters:
    """Return the adapters by the names of their devices, or by nic0 and so on."""
    found: Adapters = {}
    for number, adapter in enumerate(structure.adapters()):
        usable = _NAME.fullmatch(adapter.name) and adapter.name not in found
        found[adapter.name if usable else f"nic{number}"] = adapter
    return found


def _host_end(structure: Structure, adapters: Adapters, node: int) -> Document:
    host = structure.hosts[node]
    name = _near(structure, adapters, node)[0]
    home = _home(structure, adapters[name])
    out = [f"{host}.read", f"{host}.total", *structure.between(node, home), f"{name}.out"]
    into = [f"{name}.in", *structure.between(home, node), f"{host}.write", f"{host}.total"]
    return {"place": host, "out": out, "in": into}


def _gpu_end(structure: Structure, adapters: Adapters, gpu: str) -> Document:
    """Return a GPU's end: an adapter below its own bridge, else one of its NUMA node."""
    node, beside = structure.node_of[gpu], _beside(structure, adapters, gpu)
    near = beside or _near(structure, adapters, node)
    name = near[_turn(structure, gpu) % len(near)]
    home = _home(structure, adapters[name])
    out = [] if beside else [*structure.uplink(gpu, "out"), *structure.between(node, home)]
    into = [] if beside else [*structure.between(home, node), *structure.uplink(gpu, "in")]
    return {
        "place": gpu,
        "out": [f"{gpu}.pcie_out", f"{gpu}.pcie", *out, f"{name}.out"],
        "in": [f"{name}.in", *into, f"{gpu}.pcie_in", f"{gpu}.pcie"],
    }


def _beside(structure: Structure, adapters: Adapters, gpu: str) -> list[str]:
    bridge = structure.bridge(gpu)
    return [name for name, each in adapters.items() if bridge and each.around.bridge == bridge]


def _near(structure: Structure, adapters: Adapters, node: int) -> list[str]:
    """Return the adapters of a NUMA node; where it has none, all of them."""
    near = [name for name, adapter in adapters.items() if _home(structure, adapter) == node]
    return near or [*adapters]


def _home(structure: Structure, adapter: Device) -> int:
    """Return the NUMA node of an adapter; the first one where its own has no GPU."""
    return adapter.node() if adapter.node() in structure.nodes else structure.nodes[0]


def _turn(structure: Structure, gpu: str) -> int:
    """Return which of the GPUs of its NUMA node this is, from 0 on: they take adapters in turn."""
    node = structure.node_of[gpu]
    return [each for each in structure.gpus if structure.node_of[each] == node].index(gpu)
