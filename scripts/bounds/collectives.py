"""
Lower bounds of collectives: for each a relaxation whose linear program holds all schedules.

N is the message, the largest memory of a rank, n the number of ranks; a block is N/n. What a rank
has for itself costs nothing. bounds/flows.py has the limits of machines.

**Broadcast, all-gather.** Data may be copied on the way, also by several readers of one memory. So
traffic is at least the largest of the flows f_d, one to each rank d, not their sum:

    t(h) >= f_d(h)      f_d: N from the root to d; of an all-gather a block from every other rank

For one root and no hosts this is exact, as traffic that is as large as each of these flows is a sum
of spanning trees (J. Edmonds, Edge-disjoint branchings, 1973); with several roots, too. With hosts
it is a relaxation (directed Steiner trees).

**Reduce, reduce-scatter.** The same backwards, over routes: sums are made at GPUs, and what two of
them write into a host's memory stays two values there (bounds.flows.Route).

    R(p) >= f_s(p)      f_s: N from s to the root; of a reduce-scatter a block to every other rank

**All-to-all.** Every byte is wanted once: t(h) = Σ_s f_s(h), with f_s a block from s to every other
rank. This is exact but for latencies.

**All-reduce.** Take one element, and let r be the first rank that has its whole sum, at a time τ.
What arrived before τ has a tree into r, of messages of all others. After τ a message arrives at
each of the n - 1 others, which lacks something before. So with λ_r the share of the elements with
this r, one of each holds:

    t = R + A,  R(p) >= f_s(p), f_s from s to each r: λ_r·N
                Σ A(h) over hops into d >= (1 - λ_d)·N

The same holds backwards: let r be the last rank from which all others can still be reached, by
messages that leave after τ, the last time that this is true of one. Before τ a message leaves each
of the others. And all ranks reach each other: a flow of N goes from rank 0 to each, and back. All
of this is one linear program. On a switch it gives 2(n - 1)/n·N for each port (P. Patarasuk and
X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009; for whole
messages, 2(n - 1) of them, it is the gossip problem with one-way calls, F. Harary and
A. Schwenk, The communication problem on graphs and digraphs, 1974).

**In rank order** only x0 ∘ x1 ∘ ... from the left can be made, on several nodes that of each node
and then the nodes' sums from the left. Every value of this expression is a flow from where it is
made to where it is used; a(i, v) is how much of value i is made at GPU v from its two operands,
which both arrive there. The flows add up, because every value is used once. An all-reduce has this
in place of the tree into r.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bounds.flows import Supply, Traffic, fixed, routes_of
from bounds.machine import Machine

COLLECTIVES = ("allreduce", "reduce", "reducescatter", "allgather", "alltoall", "broadcast")
REDUCING = ("allreduce", "reduce", "reducescatter")
ROOTED = ("reduce", "broadcast")
# Without bursts times are in proportion to the message, and are found for one of this size.
USUAL = 1e9
Wanted = dict[int, Supply]


@dataclass(frozen=True)
class Request:
    """A collective of all GPUs; `message` is in bytes."""

    collective: str
    message: float
    root: int = 0
    in_order: bool = False


class LowerBounds:
    """The bounds of one machine; what is alike but for the size is solved once."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.solved: dict[Request, float] = {}
        self.in_proportion = all(each.burst is None for each in machine.resources.values())

    def of(self, request: Request) -> float:
        """Return seconds that no schedule of the collective stays below."""
        if len(self.machine.gpus) < 2:
            return 0.0
        standing = replace(request, message=USUAL) if self.in_proportion else request
        if standing not in self.solved:
            self.solved[standing] = self._moving(standing)
        moving = self.solved[standing] * request.message / standing.message
        return self.machine.first_byte + moving + self.machine.wake_up

    def _moving(self, request: Request) -> float:
        """Return the least time in which all bytes move."""
        traffic = Traffic(self.machine, request.message)
        builders = IN_ORDER if request.in_order else ANY_ORDER
        builders[request.collective](traffic, request)
        return traffic.program.least_time()


def supplies(traffic: Traffic, amounts: Mapping[int, Supply]) -> dict[str, Supply]:
    """Return what each rank supplies by the name of its GPU."""
    return {traffic.machine.gpus[rank]: amount for rank, amount in amounts.items()}


def minus(supply: Supply) -> Supply:
    """Return what is wanted as what is supplied."""
    amount, terms = supply
    return -amount, [(variable, -factor) for variable, factor in terms]


def total(amounts: Mapping[int, Supply]) -> Supply:
    """Return the sum."""
    return (
        sum(amount for amount, _ in amounts.values()),
        [term for _, terms in amounts.values() for term in terms],
    )


def others(wanted: Wanted, rank: int) -> Wanted:
    """Return the part of all ranks but one."""
    return {each: amount for each, amount in wanted.items() if each != rank}


def blocks(traffic: Traffic) -> Wanted:
    """Return a block for each rank."""
    ranks = len(traffic.machine.gpus)
    return {rank: fixed(1 / ranks) for rank in range(ranks)}


def shares(traffic: Traffic) -> dict[int, int]:
    """Return variables that add up to 1, one for each rank."""
    ranks = range(len(traffic.machine.gpus))
    found = dict(zip(ranks, traffic.program.block(len(ranks)), strict=True))
    traffic.program.equal.add([(variable, 1) for variable in found.values()], 1)
    return found


def of_shares(found: Mapping[int, int]) -> Wanted:
    """Return what each rank wants: its share of the message."""
    return {rank: (0.0, [(variable, 1.0)]) for rank, variable in found.items()}


def gathered(traffic: Traffic, wanted: Wanted, ranks: Callable[[int], bool]) -> list[int]:
    """Return traffic by hop that brings every rank's part of `wanted` to each of `ranks`."""
    carried = traffic.program.block(len(traffic.over))
    for rank in filter(ranks, range(len(traffic.machine.gpus))):
        parts = others(wanted, rank)
        flow = traffic.flow(supplies(traffic, {**parts, rank: minus(total(parts))}))
        traffic.cover(carried, flow)
    return carried


def scattered(traffic: Traffic, wanted: Wanted, ranks: Callable[[int], bool]) -> list[int]:
    """Return traffic by hop that brings a sum of all ranks to each that wants it."""
    routes = routes_of(traffic.machine)
    carried = traffic.program.block(len(routes))
    for rank in filter(ranks, range(len(traffic.machine.gpus))):
        parts = others(wanted, rank)
        ends = {each: minus(amount) for each, amount in parts.items()}
        flow = traffic.flow_on(routes, supplies(traffic, {**ends, rank: total(parts)}))
        traffic.cover(carried, flow)
    return traffic.hops_of(routes, carried)


def broadcast(traffic: Traffic, request: Request) -> None:
    """Say what a broadcast moves."""
    root = {request.root: fixed(1)}
    traffic.carry(gathered(traffic, root, lambda rank: rank != request.root))


def all_gather(traffic: Traffic, _: Request) -> None:
    """Say what an all-gather moves."""
    traffic.carry(gathered(traffic, blocks(traffic), lambda _: True))


def reduce(traffic: Traffic, request: Request) -> None:
    """Say what a reduce in any order moves."""
    root = {request.root: fixed(1)}
    traffic.carry(scattered(traffic, root, lambda rank: rank != request.root))


def reduce_scatter(traffic: Traffic, _: Request) -> None:
    """Say what a reduce-scatter in any order moves."""
    traffic.carry(scattered(traffic, blocks(traffic), lambda _: True))


def all_to_all(traffic: Traffic, _: Request) -> None:
    """Say what an all-to-all moves."""
    flows = []
    for rank in range(len(traffic.machine.gpus)):
        parts = others(blocks(traffic), rank)
        ends = {each: minus(amount) for each, amount in parts.items()}
        flows.append(traffic.flow(supplies(traffic, {**ends, rank: total(parts)})))
    traffic.carry(*flows)


def all_reduce(traffic: Traffic, _: Request) -> None:
    """Say what an all-reduce in any order moves."""
    first = shares(traffic)
    complete(traffic, scattered(traffic, of_shares(first), lambda _: True), first)
    spread(traffic)
    connect(traffic)


def complete(traffic: Traffic, sums: list[int], first: Mapping[int, int]) -> None:
    """Say that after the first sums a message arrives at each other rank."""
    later = traffic.program.block(len(traffic.over))
    for rank, share in first.items():
        gpu = traffic.machine.gpus[rank]
        into = [hop.destination == gpu for hop in traffic.machine.hops]
        traffic.at_least(later, into.__getitem__, 1, share)
    traffic.carry(sums, later)


def spread(traffic: Traffic) -> None:
    """Say that before the last broadcasts a message leaves each other rank."""
    last = shares(traffic)
    trees = gathered(traffic, of_shares(last), lambda _: True)
    before = traffic.program.block(len(traffic.over))
    for rank, share in last.items():
        gpu = traffic.machine.gpus[rank]
        out_of = [hop.source == gpu for hop in traffic.machine.hops]
        traffic.at_least(before, out_of.__getitem__, 1, share)
    traffic.carry(trees, before)


def connect(traffic: Traffic) -> None:
    """Say that a message goes from rank 0 to each other one, and back."""
    for rank in range(1, len(traffic.machine.gpus)):
        for source, destination in ((0, rank), (rank, 0)):
            ends = {source: fixed(1), destination: fixed(-1)}
            traffic.cover(traffic.over, traffic.flow(supplies(traffic, ends)))


class Expression:
    """The sum of all ranks' values from the left, in each node and then of the nodes."""

    def __init__(self, traffic: Traffic) -> None:
        self.traffic = traffic
        self.flows: list[list[int]] = []

    def send(self, wanted: Wanted) -> None:
        """Bring the whole sum to where it is wanted."""
        sums = self._of_nodes(len(self.traffic.machine.nodes) - 1)
        self._flow(sums, wanted)

    def _of_nodes(self, last: int) -> Wanted:
        """Return where the sum of the first nodes is made."""
        nodes = self.traffic.machine.nodes
        own = self._of_node(nodes[last], len(nodes[last]) - 1)
        return own if last == 0 else self._joined(self._of_nodes(last - 1), own)

    def _of_node(self, ranks: list[int], last: int) -> Wanted:
        """Return where the sum of the first ranks of a node is made."""
        own = {ranks[last]: fixed(1)}
        return own if last == 0 else self._joined(self._of_node(ranks, last - 1), own)

    def _joined(self, left: Wanted, right: Wanted) -> Wanted:
        made = of_shares(shares(self.traffic))
        self._flow(left, made)
        self._flow(right, made)
        return made

    def _flow(self, made: Wanted, wanted: Wanted) -> None:
        ranks = made.keys() | wanted.keys()
        ends = {
            rank: total({0: made.get(rank, fixed(0)), 1: minus(wanted.get(rank, fixed(0)))})
            for rank in ranks
        }
        self.flows.append(self.traffic.flow(supplies(self.traffic, ends)))


def ordered(traffic: Traffic, wanted: Wanted) -> list[list[int]]:
    """Return flows by hop that bring sums in rank order to where they are wanted."""
    expression = Expression(traffic)
    expression.send(wanted)
    return expression.flows


def all_reduce_in_order(traffic: Traffic, _: Request) -> None:
    """Say what an all-reduce in rank order moves."""
    first = shares(traffic)
    flows = ordered(traffic, of_shares(first))
    sums = traffic.program.block(len(traffic.over))
    for index, whole in enumerate(sums):
        terms = [(flow[index], 1.0) for flow in flows]
        traffic.program.equal.add([*terms, (whole, -1)], 0)
    complete(traffic, sums, first)
    spread(traffic)
    connect(traffic)


Builder = Callable[[Traffic, Request], None]
ANY_ORDER: dict[str, Builder] = {
    "allreduce": all_reduce,
    "reduce": reduce,
    "reducescatter": reduce_scatter,
    "allgather": all_gather,
    "alltoall": all_to_all,
    "broadcast": broadcast,
}
IN_ORDER: dict[str, Builder] = {
    "allreduce": all_reduce_in_order,
    "reduce": lambda traffic, request: traffic.carry(*ordered(traffic, {request.root: fixed(1)})),
    "reducescatter": lambda traffic, _: traffic.carry(*ordered(traffic, blocks(traffic))),
}
