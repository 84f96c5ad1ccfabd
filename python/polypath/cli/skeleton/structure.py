"""A topology in the words of machine files: gpu0, host0, and the uplinks that GPUs share."""

from __future__ import annotations

from polypath.cli.skeleton.hwloc import Device, Hardware
from polypath.cli.skeleton.topology import SAME_SWITCH, Topology
from polypath.cli.skeleton.wiring import groups_of

MOST_LINKS = 18  # of a GPU; where it has more to the others together, a switch joins them


class Structure:
    """What is where: NUMA nodes and their hosts, NVLinks, PCIe switches."""

    def __init__(
        self, topology: Topology, switched: bool, hardware: Hardware | None = None
    ) -> None:
        self._topology, self.switched, self._hardware = topology, switched, hardware
        self._printed = {f"gpu{number}": name for number, name in enumerate(topology.gpus)}
        self.gpus = [*self._printed]
        self.node_of = {gpu: topology.nodes[name] for gpu, name in self._printed.items()}
        self.nodes = sorted(set(self.node_of.values()))
        self.hosts = {node: f"host{number}" for number, node in enumerate(self.nodes)}
        below = (
            [{self.gpus[number] for number in group} for group in groups_of(hardware)]
            if hardware
            else _below_switches(self._printed, topology)
        )
        self.uplinks = {f"switch{number}": gpus for number, gpus in enumerate(below)}

    def relation(self, one: str, other: str) -> str:
        """Return how two GPUs are joined, as printed."""
        return self._topology.relations[self._printed[one], self._printed[other]]

    def links(self, one: str, other: str) -> int:
        """Return how many NVLinks join two GPUs, or each of them to a switch."""
        return self._topology.links(self._printed[one], self._printed[other])

    def cpus(self, node: int) -> str:
        """Return the CPUs of a NUMA node, as printed."""
        near = next(gpu for gpu in self.gpus if self.node_of[gpu] == node)
        return self._topology.cpus[self._printed[near]]

    def device(self, gpu: str) -> Device | None:
        """Return what hwloc found of a GPU."""
        return self._hardware.gpus[self.gpus.index(gpu)] if self._hardware else None

    def adapters(self) -> list[Device]:
        """Return the adapters that hwloc found."""
        return self._hardware.adapters if self._hardware else []

    def bridge(self, gpu: str) -> str:
        """Return the address of the outermost bridge above a GPU, or nothing."""
        device = self.device(gpu)
        return device.around.bridge if device else ""

    def speeds(self, gpu: str) -> tuple[float, float]:
        """Return the speeds of a GPU's PCIe link and of its uplink, 0 where they are unknown."""
        device = self.device(gpu)
        return (device.speed, device.around.speed) if device else (0.0, 0.0)

    def uplink(self, gpu: str, direction: str) -> list[str]:
        """Return the uplink that a GPU shares with others, if it does."""
        names = [name for name, below in self.uplinks.items() if gpu in below]
        return [f"{name}.{end}" for name in names for end in (direction, "total")]

    def below_one_switch(self, one: str, other: str) -> bool:
        """Return whether copies between two GPUs turn round before they reach the host."""
        return any({one, other} <= below for below in self.uplinks.values())

    def between(self, one: int, other: int) -> list[str]:
        """Return the link from one NUMA node to another one."""
        numbers = (self.hosts[node].removeprefix("host") for node in (one, other))
        return [f"sockets.{'-'.join(numbers)}"] if one != other else []


def looks_switched(topology: Topology) -> bool:
    """Return whether a GPU has more NVLinks to the others together than GPUs have."""
    others = topology.gpus
    return any(sum(topology.links(one, each) for each in others) > MOST_LINKS for one in others)


def _below_switches(printed: dict[str, str], topology: Topology) -> list[set[str]]:
    """Return the sets of GPUs that PCIe switches join, also by way of an adapter."""
    groups: list[set[str]] = []
    for pair, relation in topology.relations.items():
        if relation in SAME_SWITCH:
            met = [group for group in groups if group & set(pair)]
            groups = [group for group in groups if group not in met]
            groups.append(set(pair).union(*met))
    below = [{gpu for gpu, name in printed.items() if name in group} for group in groups]
    return sorted((gpus for gpus in below if len(gpus) > 1), key=min)
