"""A topology out of hwloc's file, in the words of `nvidia-smi topo -m`."""

from __future__ import annotations

import itertools

from polypath.cli.errors import UserError
from polypath.cli.skeleton.hwloc import HWLOC, Device, Hardware, bits_of
from polypath.cli.skeleton.topology import (
    COMMAND,
    ITSELF,
    OTHER_NODE,
    SAME_NODE,
    SAME_SWITCH,
    Topology,
)


def topology_of(hardware: Hardware) -> Topology:
    """Return GPUs, how they are joined and where they are, as hwloc shows it."""
    names = [f"GPU{number}" for number in range(len(hardware.gpus))]
    numbers = range(len(names))
    relations = {
        (names[one], names[other]): _relation(hardware, one, other)
        for one, other in itertools.product(numbers, numbers)
    }
    cpus = {name: ranges(bits_of(gpu.around.cpus)) for name, gpu in zip(names, hardware.gpus)}
    nodes = {name: gpu.node() for name, gpu in zip(names, hardware.gpus)}
    return Topology(names, relations, cpus, nodes)


def check_alike(topology: Topology, hardware: Hardware) -> None:
    """Refuse files of two computers."""
    printed, found = len(topology.gpus), len(hardware.gpus)
    if printed != found:
        raise UserError(
            "the two topologies are not of one computer",
            f"{COMMAND} shows {printed} GPUs, {HWLOC} {found}",
            "Run both on the same computer.",
        )


def groups_of(hardware: Hardware) -> list[list[int]]:
    """Return the sets of GPUs, by number, that share a bridge on the way to the host."""
    below: dict[str, list[int]] = {}
    for number, gpu in enumerate(hardware.gpus):
        below.setdefault(gpu.around.bridge, []).append(number)
    return [group for bridge, group in below.items() if bridge and len(group) > 1]


def ranges(numbers: set[int]) -> str:
    """Return numbers in short: "0-15,32-47"."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in found)


def _relation(hardware: Hardware, one: int, other: int) -> str:
    if one == other:
        return ITSELF
    links = hardware.nvlinks.links(one, other)
    return f"NV{links}" if links else _over_pcie(hardware.gpus[one], hardware.gpus[other])


def _over_pcie(one: Device, other: Device) -> str:
    if one.around.bridge and one.around.bridge == other.around.bridge:
        return SAME_SWITCH[1]
    return SAME_NODE[1] if one.node() == other.node() else OTHER_NODE[0]
