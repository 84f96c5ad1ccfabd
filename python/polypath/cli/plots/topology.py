"""What a picture of a machine shows: places, what they share, and the lines between them.

A resource that belongs to one place is part of that place: a host's memory is written into its box,
a GPU's own link is the line that leaves it. One that several places use becomes a box of its own,
with its capacity once, and lines lead through it: the uplink of a PCIe switch, the link between two
sockets, a network adapter. An adapter that one GPU has for itself is part of that GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from polypath.cli.machine_tables import compress_pairs
from polypath.cli.output import Document
from polypath.cli.units import bandwidth_text, gigabytes

ALIKE = 0.95  # a copy that reaches so much of what its way allows is drawn as that way
SWITCH = "switch"


@dataclass(frozen=True)
class Line:
    """A line of the picture: all copies between two nodes, in either direction."""

    start: str
    end: str
    kind: str  # port, peer, driver_staged, host, uplink, socket or adapter
    rates: tuple[float, ...]  # bytes/s; from start to end first, where there are both

    def label(self) -> str:
        """Return the line's GB/s, both directions where they differ."""
        return " / ".join(dict.fromkeys(gigabytes(rate) for rate in self.rates))


@dataclass
class Shared:
    """A resource that copies of several places share, drawn as one box."""

    name: str
    capacities: list[float]
    total: float | None = None  # of both directions together, where that is less than their sum
    hosts: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)

    def rates(self) -> tuple[float, ...]:
        """Return what it carries, bytes/s: each different number once."""
        return tuple(dict.fromkeys(self.capacities))

    def text(self) -> str:
        """Return its name and capacity, as its box says them."""
        rates = " / ".join(gigabytes(rate) for rate in self.rates())
        each = f"{rates} GB/s" + (" each way" if len(self.capacities) > 1 else "")
        total = "" if self.total is None else f"\nboth ways {gigabytes(self.total)}"
        return f"{self.name}\n{each}{total}"


class Topology:
    """A machine, schema polypath.machine/1, as nodes and lines."""

    def __init__(self, machine: Document) -> None:
        self.gpus = [place for place in machine["places"] if place["kind"] == "gpu"]
        self.hosts = [place for place in machine["places"] if place["kind"] == "host"]
        self._kinds = {place["name"]: place["kind"] for place in machine["places"]}
        self._resources = {r["name"]: r for r in machine["resources"] if "capacity" in r}
        self._hops: list[Document] = machine["hops"]
        self._of_hosts = {name for hop in self._host_hops() for name in self._used(hop)}
        self.switched = self._is_switched()
        self.uplinks = self._uplinks()
        self.sockets: dict[str, Shared] = {}
        self.adapters = self._adapters(machine.get("network"))
        self.own_adapters = self._own_adapters()
        self.notes: list[str] = [*self._port_notes()]
        own = [*self._switch_lines(), *self._pair_lines()]  # finds out what shared ones lead to
        self.lines = list(dict.fromkeys([*own, *self._lines_of_shared()]))

    def memory_text(self, host: str) -> str:
        """Return how fast a host's memory is; nothing where it has no limit."""
        rates = {name: self._capacity(name) for name in self._resources if _owner(name) == host}
        if not rates:
            return ""
        total = min(max(rates.values()), rates.get(f"{host}.total", float("inf")))
        text = f"memory {bandwidth_text(total)}"
        for name, verb in (("read", "reads"), ("write", "writes")):
            rate = rates.get(f"{host}.{name}", total)
            if rate < total:
                text += f", {verb} {gigabytes(rate)}"
        return text

    # Resources.

    def _capacity(self, resource: str) -> float:
        return float(self._resources[resource]["capacity"]["value"])

    def _kind(self, resource: str) -> str:
        return str(self._resources[resource]["kind"])

    def _used(self, hop: Document) -> list[str]:
        """Return what has a capacity of what the hop uses, in its order."""
        return [u["resource"] for u in hop["uses"] if u["resource"] in self._resources]

    def _of_kind(self, hop: Document, kind: str) -> list[str]:
        return [name for name in self._used(hop) if self._kind(name) == kind]

    def _host_hops(self) -> list[Document]:
        return [hop for hop in self._hops if self._gpu_and_host(hop) is not None]

    def _gpu_and_host(self, hop: Document) -> tuple[str, str] | None:
        ends = {self._kinds[hop[end]]: str(hop[end]) for end in ("from", "to")}
        return (ends["gpu"], ends["host"]) if len(ends) == 2 else None

    def _shared_of(self, names: Iterable[str], title: str) -> Shared:
        """Return what goes by one name: a capacity for each way, maybe one for both together."""
        capacities = {name: self._capacity(name) for name in dict.fromkeys(names)}
        total = capacities.pop(f"{title}.total", None) if len(capacities) > 1 else None
        both = total if total is not None and total < sum(capacities.values()) else None
        return Shared(title, list(capacities.values()), both)

    # Switches between GPUs.

    def _is_switched(self) -> bool:
        """Return true if copies between GPUs use nothing but ports, which a switch joins."""
        hops = [self._used(hop) for hop in self._hops if hop["kind"] == "peer"]
        return bool(hops) and all(
            used and all(self._kind(name) == "port" for name in used) for used in hops
        )

    def _switch_lines(self) -> Iterator[Line]:
        """Return a line from each GPU to the switch, as fast as the GPU's ports."""
        for gpu in self.gpus if self.switched else []:
            ports = [n for n in self._resources if _owner(n) == gpu["name"]]
            rates = tuple(self._capacity(n) for n in ports if self._kind(n) == "port")
            yield Line(gpu["name"], SWITCH, "port", rates)

    def _port_notes(self) -> Iterator[str]:
        """Say what all links of a GPU carry together where that is less than their sum."""
        peers = [hop for hop in self._hops if hop["kind"] == "peer" and not self.switched]
        found: dict[float, list[str]] = {}
        for port in {name for hop in peers for name in self._of_kind(hop, "port")}:
            links = [hop["bandwidth"]["value"] for hop in peers if port in self._used(hop)]
            if sum(links) > self._capacity(port):
                found.setdefault(self._capacity(port), []).append(_owner(port))
        for capacity, gpus in sorted(found.items()):
            names = "each GPU" if len(set(gpus)) == len(self.gpus) else ", ".join(sorted(set(gpus)))
            yield f"All links of {names} together carry {gigabytes(capacity)} GB/s each way."

    # Lines between places.

    def _pair_lines(self) -> Iterator[Line]:
        borrowed: dict[tuple[str, str], list[Line]] = {}
        for hops in self._pairs().values():
            line = self._line(hops)
            if self._borrows(hops):
                borrowed.setdefault((line.kind, line.label()), []).append(line)
            elif self._gpu_and_host(hops[0]) is None:
                yield line
            else:
                yield from self._host_lines(hops, line)
        self.notes += [self._borrowed_text(lines) for lines in borrowed.values()]

    def _borrowed_text(self, lines: list[Line]) -> str:
        """Return what copies between GPUs take that have no link of their own."""
        staged = lines[0].kind == "driver_staged"
        how = "the driver stages copies in host memory" if staged else "copies take the host links"
        pairs = compress_pairs(((line.start, line.end) for line in lines), "\u2013")
        if len(lines) == len(self.gpus) * (len(self.gpus) - 1) / 2:
            pairs = "all GPUs"
        return f"Between {pairs} there is no link: {how}, {lines[0].label()} GB/s."

    def _pairs(self) -> dict[tuple[str, str], list[Document]]:
        """Return hops by their two places, GPUs first, but for those through the switch."""
        pairs: dict[tuple[str, str], list[Document]] = {}
        for hop in self._hops:
            if not (self.switched and hop["kind"] == "peer"):
                ends = sorted((hop["from"], hop["to"]), key=lambda name: (self._kinds[name], name))
                pairs.setdefault((ends[0], ends[1]), []).append(hop)
        return pairs

    def _line(self, hops: list[Document]) -> Line:
        start, end = sorted(
            (hops[0]["from"], hops[0]["to"]), key=lambda name: (self._kinds[name], name)
        )
        ordered = sorted(hops, key=lambda hop: bool(hop["from"] != start))
        return Line(start, end, hops[0]["kind"], tuple(h["bandwidth"]["value"] for h in ordered))

    def _borrows(self, hops: list[Document]) -> bool:
        """Return true if copies between two GPUs have no link but those to the host."""
        used = self._used(hops[0])
        between_gpus = self._gpu_and_host(hops[0]) is None and hops[0]["kind"] != "host"
        return between_gpus and bool(used) and set(used) <= self._of_hosts

    def _host_lines(self, hops: list[Document], line: Line) -> Iterator[Line]:
        """Return the line to what its copies share, or else to the host."""
        crossed = self._of_kind(hops[0], "socket")
        if crossed and self._goes_by_the_near_host(line, crossed):
            self._note_socket(hops, line)
            return
        for name in self._used(hops[0]):
            shared = self.uplinks.get(_owner(name))
            if shared:
                shared.hosts = list(dict.fromkeys([*shared.hosts, line.end]))
                yield Line(line.start, shared.name, "host", line.rates)
                return
        yield line

    def _near(self, gpu: str) -> list[Document]:
        """Return a GPU's hops to hosts that cross no socket."""
        return [
            hop
            for hop in self._host_hops()
            if hop["from"] == gpu and not self._of_kind(hop, "socket")
        ]

    def _goes_by_the_near_host(self, line: Line, crossed: list[str]) -> bool:
        rates = [hop["bandwidth"]["value"] for hop in self._near(line.start)]
        allowed = [min(max(rates, default=0.0), self._capacity(name)) for name in crossed]
        return bool(rates) and min(line.rates) >= ALIKE * min(allowed)

    def _note_socket(self, hops: list[Document], line: Line) -> None:
        names = [name for hop in hops for name in self._of_kind(hop, "socket")]
        title = _socket_title(names[0])
        near = [hop["to"] for hop in self._near(line.start)]
        known = self.sockets.setdefault(title, Shared(title, []))
        known.capacities = known.capacities or [self._capacity(name) for name in names]
        known.hosts = sorted({*known.hosts, line.end, *near})

    # Shared resources.

    def _uplinks(self) -> dict[str, Shared]:
        """Return what several GPUs use on the way to a host, by its name."""
        users: dict[str, list[str]] = {}
        names: dict[str, list[str]] = {}
        for hop in self._host_hops():
            ends = self._gpu_and_host(hop)
            for name in self._used(hop):
                if ends and _owner(name) not in self._kinds and self._kind(name) != "socket":
                    users.setdefault(_owner(name), []).append(ends[0])
                    names.setdefault(_owner(name), []).append(name)
        found: dict[str, Shared] = {}
        for title, gpus in users.items():
            if len(set(gpus)) > 1:
                found[title] = self._shared_of(names[title], title)
                found[title].gpus = list(dict.fromkeys(gpus))
        return found

    def _adapters(self, network: Document | None) -> dict[str, Shared]:
        """Return what joins the machine to others of its kind, by its name."""
        found: dict[str, Shared] = {}
        for end in network["ends"] if network else []:
            uses = [use["resource"] for way in ("out", "in") for use in end[way]]
            names = [n for n in uses if n in self._resources and self._kind(n) == "adapter"]
            if names:
                shared = found.setdefault(
                    _owner(names[0]), self._shared_of(names, _owner(names[0]))
                )
                (shared.hosts if self._kinds[end["place"]] == "host" else shared.gpus).append(
                    end["place"]
                )
        return found

    def _own_adapters(self) -> dict[str, Shared]:
        """Return the adapters that one GPU has for itself, by the GPU; they are part of its box."""
        own = [s for s in self.adapters.values() if not s.hosts and len(set(s.gpus)) == 1]
        for shared in own:
            del self.adapters[shared.name]
        return {shared.gpus[0]: shared for shared in own}

    def _lines_of_shared(self) -> Iterator[Line]:
        kinds = (("uplink", self.uplinks), ("socket", self.sockets), ("adapter", self.adapters))
        for kind, group in kinds:
            for shared in group.values():
                for place in shared.hosts or shared.gpus:
                    yield Line(shared.name, place, kind, shared.rates())


def _owner(resource: str) -> str:
    """Return whose a resource is: gpu0 of gpu0.pcie_in, switch1 of switch1.out."""
    return resource.rpartition(".")[0] or resource


def _socket_title(resource: str) -> str:
    """Return one name for both directions: "xgmi 0-1" of xgmi.0-1 and of xgmi.1-0."""
    ends = re.fullmatch(r"(.*)\.(\w+)-(\w+)", resource)
    return f"{ends[1]} {'-'.join(sorted((ends[2], ends[3])))}" if ends else resource
