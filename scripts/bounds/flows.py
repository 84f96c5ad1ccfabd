"""
What all bounds have in common: traffic over hops, limits of resources, flows between places.

**Traffic.** t(h) is what goes over hop h in all, in bytes, and T the time in which bytes move. A
copy over h takes w(h, r) of resource r for each of its bytes:

    Σ_h w(h, r)·t(h) <= C(r)·T                  a capacity
    Σ_h w(h, r)·t(h) <= B(r)·T, S(r) + C(r)·T   one with a burst of S bytes at rate B
    Σ_h t(h)/β(h) <= m·T                        an engine that makes m copies at a time

Several copies over one hop may be under way at the same time, so that β(h) limits none of them by
itself. Kernels use no engine, but reach only the part e of a hop; where an engine is not the same
limit as a capacity, t(h) = c(h) + k(h), with k(h)/e in place of k(h) above, and k(h) <= 2·e·β(h)·T:
one kernel of either end.

Left out are latencies beyond the first, calls beyond the first, reductions, and that the last
bytes of a pipeline arrive after those that fill it. All of these only add to the time.

**Flows.** A flow has a supply at each place, negative where it ends; what comes in goes out
elsewhere. Relays by way of GPUs and hosts are flows like others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bounds.machine import BY_KERNELS, Machine
from bounds.program import LinearProgram

# A supply: a number, and variables with factors.
Supply = tuple[float, list[tuple[int, float]]]


@dataclass(frozen=True)
class Route:
    """Hops that lead from a GPU to another one, by way of hosts only."""

    source: str
    destination: str
    hops: tuple[int, ...]


def fixed(amount: float) -> Supply:
    """Return a supply that is known."""
    return amount, []


def routes_of(machine: Machine) -> list[Route]:
    """Return all routes that visit no host twice."""
    leaving: dict[str, list[int]] = defaultdict(list)
    for index, hop in enumerate(machine.hops):
        leaving[hop.source].append(index)
    found: list[Route] = []

    def follow(first: str, here: str, hops: tuple[int, ...], seen: frozenset[str]) -> None:
        for index in leaving[here]:
            there = machine.hops[index].destination
            if there in machine.gpus and there != first:
                found.append(Route(first, there, (*hops, index)))
            elif there in machine.hosts and there not in seen:
                follow(first, there, (*hops, index), seen | {there})

    for gpu in machine.gpus:
        follow(gpu, gpu, (), frozenset())
    return found


class Traffic:
    """A machine's traffic as a linear program; bytes are in units of `unit`."""

    def __init__(self, machine: Machine, unit: float) -> None:
        self.machine = machine
        self.unit = unit
        self.program = LinearProgram()
        self.over = self.program.block(len(machine.hops))
        self.by_engine, self.by_kernel = self._two_ways()
        self._limit_resources()

    def _binding_engines(self) -> dict[str, int]:
        """Return the engines that say more than a capacity of all their hops does."""
        users = self._users()
        found = {}
        for name, resource in self.machine.resources.items():
            if resource.engine is None:
                continue
            hops = [self.machine.hops[index] for index in users[name]]
            implied = resource.engine == 1 and any(
                each.capacity is not None
                and all(h.uses.get(each.name, 0) * h.bandwidth >= each.capacity for h in hops)
                for each in self.machine.resources.values()
            )
            if hops and not implied:
                found[name] = resource.engine
        return found

    def _users(self) -> dict[str, list[int]]:
        users: dict[str, list[int]] = defaultdict(list)
        for index, hop in enumerate(self.machine.hops):
            for name in hop.uses:
                users[name].append(index)
        return users

    def _two_ways(self) -> tuple[dict[int, int], dict[int, int]]:
        """Divide the traffic of hops with binding engines into that of copies and of kernels."""
        self.engines = self._binding_engines()
        by_engine, by_kernel = {}, {}
        reached = self.machine.kernel_efficiency
        for index, hop in enumerate(self.machine.hops):
            if hop.kind not in BY_KERNELS or not self.engines.keys() & hop.uses.keys():
                continue
            copies, kernels = self.program.block(2)
            by_engine[index], by_kernel[index] = copies, kernels
            self.program.equal.add([(self.over[index], 1), (copies, -1), (kernels, -1)], 0)
            most = 2 * reached * hop.bandwidth / self.unit
            self.program.at_most.add([(kernels, 1), (LinearProgram.TIME, -most)], 0)
        return by_engine, by_kernel

    def _claims(self, index: int, weight: float) -> list[tuple[int, float]]:
        if index not in self.by_kernel:
            return [(self.over[index], weight)]
        slower = weight / self.machine.kernel_efficiency
        return [(self.by_engine[index], weight), (self.by_kernel[index], slower)]

    def _limit_resources(self) -> None:
        users = self._users()
        rows, time, unit = self.program.at_most, LinearProgram.TIME, self.unit
        for name, resource in self.machine.resources.items():
            hops = [(index, self.machine.hops[index]) for index in users[name]]
            if resource.capacity is not None:
                taken = [each for i, hop in hops for each in self._claims(i, hop.uses[name])]
                rate, size = resource.burst or (resource.capacity, 0)
                rows.add([*taken, (time, -rate / unit)], 0)
                if resource.burst:
                    rows.add([*taken, (time, -resource.capacity / unit)], size / unit)
            if name in self.engines:
                copies = [
                    (self.by_engine.get(i, self.over[i]), unit / h.bandwidth) for i, h in hops
                ]
                rows.add([*copies, (time, -self.engines[name])], 0)

    def flow(self, supplies: Mapping[str, Supply]) -> list[int]:
        """Return the variables of a new flow over hops, by hop."""
        ends = [(hop.source, hop.destination) for hop in self.machine.hops]
        return self._flow(ends, supplies)

    def flow_on(self, routes: Sequence[Route], supplies: Mapping[str, Supply]) -> list[int]:
        """Return the variables of a new flow over routes, by route."""
        return self._flow([(each.source, each.destination) for each in routes], supplies)

    def _flow(self, ends: Sequence[tuple[str, str]], supplies: Mapping[str, Supply]) -> list[int]:
        flow = self.program.block(len(ends))
        balance: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for variable, (source, destination) in zip(flow, ends, strict=True):
            balance[source].append((variable, 1))
            balance[destination].append((variable, -1))
        for place in {*balance, *supplies}:
            amount, terms = supplies.get(place, fixed(0))
            less = [(variable, -factor) for variable, factor in terms]
            self.program.equal.add([*balance[place], *less], amount)
        return flow

    def carry(self, *blocks: Sequence[int]) -> None:
        """Make the traffic over hops at least the sum of these, each by hop."""
        for index, total in enumerate(self.over):
            self.program.at_most.add([*((b[index], 1) for b in blocks), (total, -1)], 0)

    def cover(self, carrier: Sequence[int], flow: Sequence[int]) -> None:
        """Make each of `carrier` at least what the flow has there."""
        for whole, part in zip(carrier, flow, strict=True):
            self.program.at_most.add([(part, 1), (whole, -1)], 0)

    def hops_of(self, routes: Sequence[Route], carried: Sequence[int]) -> list[int]:
        """Return what traffic over routes is over hops, by hop."""
        hops = self.program.block(len(self.over))
        terms: list[list[tuple[int, float]]] = [[(variable, -1)] for variable in hops]
        for route, variable in zip(routes, carried, strict=True):
            for index in route.hops:
                terms[index].append((variable, 1))
        for each in terms:
            self.program.equal.add(each, 0)
        return hops

    def at_least(
        self, traffic: Sequence[int], end: Callable[[int], bool], amount: float, less: int
    ) -> None:
        """Make the traffic over the hops for which `end` holds at least amount·(1 - less)."""
        terms = [(variable, -1.0) for index, variable in enumerate(traffic) if end(index)]
        self.program.at_most.add([*terms, (less, -amount)], -amount)
