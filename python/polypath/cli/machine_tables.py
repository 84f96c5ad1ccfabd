"""A machine as tables, with what is alike on many GPUs in one row."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.table import Table

from polypath.cli.output import Document
from polypath.cli.tables import new_table
from polypath.cli.units import bandwidth_text, gigabytes, size_text, time_text


def places_table(machine: Document) -> Table:
    """Return the memories that can hold bytes."""
    table = new_table("place", "kind", "model", "NUMA node", "staging latency")
    for place in machine["places"]:
        table.add_row(
            place["name"],
            place["kind"],
            place["model"],
            str(place["numa_node"]),
            time_text(place["staging_latency"]["value"]),
        )
    return table


def bandwidth_table(machine: Document) -> Table:
    """Return the bandwidth of every hop in GB/s: rows are sources, columns destinations."""
    names = [place["name"] for place in machine["places"]]
    table = new_table("GB/s from", *names, right=tuple(names))
    rates = {(hop["from"], hop["to"]): hop for hop in machine["hops"]}
    for source in names:
        cells = []
        for destination in names:
            hop = rates.get((source, destination))
            cells.append(gigabytes(hop["bandwidth"]["value"]) if hop else "-")
        table.add_row(source, *cells)
    return table


def hops_table(machine: Document) -> Table:
    """Return the kinds of hops: which places, how fast, and what a copy over it occupies."""
    groups: dict[tuple[str, ...], list[Document]] = {}
    for hop in machine["hops"]:
        groups.setdefault(_hop_kind(hop), []).append(hop)
    table = new_table(
        "from", "to", "hops", "kind", "GB/s", "latency", "occupies",
        right=("hops", "GB/s"), spare=("hops", "kind"),
    )  # fmt: skip
    for (kind, rate, latency, *uses), hops in groups.items():
        sources = compress(hop["from"] for hop in hops)
        destinations = compress(hop["to"] for hop in hops)
        row = (sources, destinations, str(len(hops)), kind, rate, latency)
        table.add_row(*row, ", ".join(uses) or "nothing shared")
    return table


def _hop_kind(hop: Document) -> tuple[str, ...]:
    """Return what hops of one row have in common."""
    rate = gigabytes(hop["bandwidth"]["value"])
    latency = time_text(hop["latency"]["value"])
    return (hop["kind"].replace("_", " "), rate, latency, *(_use(hop, use) for use in hop["uses"]))


def _use(hop: Document, use: Document) -> str:
    """Return a used resource with the hop's places called "from" and "to"."""
    head, dot, rest = use["resource"].partition(".")
    roles = {hop["from"]: "from", hop["to"]: "to"}
    name = "-".join(roles.get(part, part) for part in head.split("-")) + dot + rest
    return name if use["weight"] == 1 else f"{use['weight']:g} x {name}"


def resources_table(machine: Document) -> Table:
    """Return what copies share, equal ones together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for resource in machine["resources"]:
        capacity = resource.get("capacity")
        rate = bandwidth_text(capacity["value"]) if capacity else "-"
        if "burst" in resource:
            rate += _burst_text(resource["burst"])
        at_once = str(resource.get("copies_at_once", "any"))
        shape = re.sub(r"\d+", "#", resource["name"])
        groups.setdefault((shape, resource["kind"], rate, at_once), []).append(resource["name"])
    numbers = ("how many", "capacity of each", "copies at once")
    table = new_table("resource", "kind", *numbers, right=numbers)
    for (_, kind, rate, at_once), names in groups.items():
        table.add_row(resource_names(names), kind, str(len(names)), rate, at_once)
    return table


def _burst_text(burst: Document) -> str:
    """Return what a resource carries more for a while, behind its capacity."""
    rate, size = burst["rate"]["value"], burst["size"]["value"]
    return f", at first {size_text(size)} more at {bandwidth_text(rate)}"


def resource_names(names: list[str]) -> str:
    """Return names that differ in their places only as "gpu[0-3].egress"."""
    if len(names) == 1:
        return names[0]
    heads = [name.partition(".")[0].split("-") for name in names]
    if len({len(head) for head in heads}) > 1:
        return ", ".join(names)
    tail = {name.partition(".")[2] for name in names}
    head = "-".join(compress(parts) for parts in zip(*heads))
    return f"{head}.{compress(tail)}" if "" not in tail else head


def compress(names: Iterable[str]) -> str:
    """Return names that end in numbers in short: gpu0, gpu1, gpu3 as "gpu[0-1,3]"."""
    numbers: dict[str, set[int]] = {}
    for name in names:
        stem = name.rstrip("0123456789")
        numbers.setdefault(stem, set()).update([int(name[len(stem) :] or -1)])
    return ",".join(stem + _ranges(sorted(found)) for stem, found in sorted(numbers.items()))


def compress_pairs(pairs: Iterable[tuple[str, str]], between: str) -> str:
    """Return pairs in short: gpu0 and gpu1 to gpu2 and gpu3 as "gpu[0-1] -> gpu[2-3]".

    Where both sides are alike, as in "gpu[0-3] -> gpu[0-3]", no place is paired with itself.
    """
    ends: dict[str, set[str]] = {}
    for source, destination in pairs:
        ends.setdefault(source, set()).add(destination)
    rows: dict[frozenset[str], list[str]] = {}
    for source, found in ends.items():
        alike = sum(other == found for other in ends.values()) > 1
        rows.setdefault(frozenset(found if alike else found | {source}), []).append(source)
    return ", ".join(
        f"{compress(sources)}{between}{compress(found - set(sources[:1] * (len(sources) == 1)))}"
        for found, sources in rows.items()
    )


def _ranges(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0]) if numbers[0] >= 0 else ""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"[{','.join(parts)}]"


def network_table(network: Document) -> Table:
    """Return what joins a node to others like it: which places send and receive, and through what.

    Places that go through the same share a row.
    """
    table = new_table("ends", "GB/s", "latency", "out", "in", right=("GB/s",))
    rate, latency = gigabytes(network["bandwidth"]["value"]), network["latency"]["value"]
    groups: dict[tuple[str, str], list[str]] = {}
    for end in network["ends"]:
        ways = (", ".join(_own_use(end["place"], use) for use in end[way]) for way in ("out", "in"))
        groups.setdefault((next(ways), next(ways)), []).append(end["place"])
    for (out, back), places in groups.items():
        table.add_row(compress(places), rate, time_text(latency), out, back)
    return table


def _own_use(place: str, use: Document) -> str:
    """Return a resource with the place called "end"."""
    name = re.sub(rf"^{place}(?=\.)", "end", use["resource"])
    return name if use["weight"] == 1 else f"{use['weight']:g} x {name}"


CALLS = {
    "copy": "enqueue one copy",
    "event_record": "record an event",
    "event_wait": "make a stream wait for an event",
    "synchronize": "from completion until the waiting thread runs",
    "graph_launch": "launch a graph",
    "graph_launch_node": "  more per node",
    "graph_instantiate": "make a graph executable",
    "graph_instantiate_node": "  more per node",
    "graph_update_node": "change one node of an executable graph",
    "threads_hold_up": "each call, more while another thread calls",
}


def costs_table(machine: Document) -> Table:
    """Return what driver calls cost the thread that makes them."""
    table = new_table("driver call", "CPU time", right=("CPU time",))
    for key, meaning in CALLS.items():
        if key in machine["costs"]:
            table.add_row(meaning, time_text(machine["costs"][key]["value"]))
    return table


FOUND_OF_THE_DRIVER = {
    "least_gain": "several paths must gain, for certain",
    "least_gain_two_threads": "  both ways at once, from two threads",
    "least_gain_one_thread": "  both ways at once, from one thread",
    "least_gain_driver_staged": "  over a copy that the driver stages",
    "driver_staged_steps_below": "  up to which size that holds",
    "brief_copy": "a native copy this brief is not planned beside others",
    "pageable_in": "its own copies of pageable memory into a GPU",
    "pageable_out": "  out of a GPU",
    "pageable_in_waits_from": "  from which size on they wait for the stream",
    "windows_cost": "to make pinned windows takes",
    "windows_gain_in": "  into a GPU they gain the bytes by",
    "windows_gain_out": "  out of a GPU they gain the bytes by",
    "windows_threads": "  threads at most",
    "windows_threads_least": "  CPUs at least",
    "stream_entries": "entries of a stream that are used at most",
    "batch_copy": "a further copy of a batch takes the thread",
    "batch_latency": "  and its copy engine",
    "least_gain_batch": "  several paths must gain over a batch",
    "kernel_launch": "a kernel that copies small pieces takes the thread",
    "kernel_latency": "  until its first instruction",
    "kernel_efficiency": "  part of a link that it reaches",
    "kernel_blocks": "  with so many blocks",
    "flag_call": "a call that writes or awaits a flag takes the thread",
    "flag_latency": "  until the other GPU has seen it",
    "mail_latency": "a kernel that exchanges messages takes",
    "mail_share_latency": "more if it shares what it has reduced",
    "mail_efficiency": "  part of a link that its lines reach",
    "parcel_latency": "the same of messages in parcels",
    "parcel_efficiency": "  part of a link that they reach",
    "context_beside_allocations": "preparing counts as much more beside allocations",
}


def driver_table(machine: Document) -> Table:
    """Return what was found of the driver that neither copies nor call costs tell."""
    table = new_table("the driver", "value", right=("value",))
    for key, meaning in FOUND_OF_THE_DRIVER.items():
        table.add_row(meaning, _quantity_text(machine["driver"][key]))
    return table


def _quantity_text(quantity: Document) -> str:
    value, unit = quantity["value"], quantity["unit"]
    texts = {"s": time_text, "B/s": bandwidth_text, "B": size_text}
    return texts[unit](value) if unit in texts else f"{value:g}"
