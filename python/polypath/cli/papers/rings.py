"""How much faster rings over all links are than one ring: what NCCL gains on a mesh.

A ring visits every GPU once. Each byte of it occupies a resource for (its uses there) / capacity,
and a hop for 1 / its bandwidth. One ring goes at 1 / (the busiest of these); several together at
1 / (the busiest of their mean), for the best means that are found by letting equal parts of the
message choose in turn.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

from polypath import reports

PARTS = 60  # of the message
ROUNDS = 4  # in which each chooses anew
POWER = 8  # of busy times, whose sum the parts keep low

Busy = dict[str, float]


def gain_of_all_links(machine: str) -> float:
    """Return how many times as fast as one ring several are, at best.

    1 if not all GPUs can be in a ring of direct links: then one goes across what there is.
    """
    document = reports.machine(machine)
    gpus = [place["name"] for place in document["places"] if place["kind"] == "gpu"]
    direct = {(hop["from"], hop["to"]): hop for hop in document["hops"] if hop["kind"] == "peer"}
    rings = []
    for others in permutations(gpus[1:]):
        hops = [
            direct.get(ends) for ends in zip((gpus[0], *others), (*others, gpus[0]), strict=True)
        ]
        if all(hops):
            rings.append(_busy(document, hops))
    if not rings:
        return 1.0
    total: Busy = dict.fromkeys({row for ring in rings for row in ring}, 0.0)
    taken: list[Busy] = [{}] * PARTS
    for part in list(range(PARTS)) * ROUNDS:
        _add(total, taken[part], -1)
        taken[part] = min(rings, key=lambda ring: _cost(total, ring))
        _add(total, taken[part], 1)
    one = min(max(ring.values()) for ring in rings)
    return one / (max(total.values()) / PARTS)


def _add(total: Busy, ring: Busy, sign: int) -> None:
    for row, seconds in ring.items():
        total[row] += sign * seconds


def _cost(total: Busy, ring: Busy) -> float:
    unit = max(*total.values(), *ring.values())
    return sum(
        ((total[row] + seconds) / unit) ** POWER - (total[row] / unit) ** POWER
        for row, seconds in ring.items()
    )


def _busy(document: dict[str, Any], hops: list[Any]) -> Busy:
    """Return the seconds per byte of each resource and hop."""
    capacities = {
        resource["name"]: resource["capacity"]["value"]
        for resource in document["resources"]
        if "capacity" in resource
    }
    busy: Busy = {}
    for hop in hops:
        busy[f"{hop['from']} to {hop['to']}"] = 1 / hop["bandwidth"]["value"]
        for use in hop["uses"]:
            name = use["resource"]
            if name in capacities:
                busy[name] = busy.get(name, 0.0) + use.get("weight", 1) / capacities[name]
    return busy
