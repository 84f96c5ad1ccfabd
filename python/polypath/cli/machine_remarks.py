"""What is odd about a machine: it can be used, and may not be what the file's author means."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polypath.cli.machine_tables import compress, resource_names
from polypath.cli.output import Document
from polypath.cli.units import bandwidth_text, time_text
from polypath.messages import message

# Beyond what drivers and links of today take, by a factor of ten: a unit is likely to be wrong.
LONG_LATENCY = 200e-6  # seconds; hops have 1 to 20 us
LONG_CALL = 1e-3  # seconds; driver calls have 1 to 100 us
LOW_BANDWIDTH = 1e9  # bytes/s; links have 10 to 1000 GB/s
HIGH_BANDWIDTH = 10e12


def remarks_on(machine: Document) -> list[str]:
    """Return a line for each oddity, in the form of errors."""
    return [
        *_latencies(machine),
        *_bandwidths(machine),
        *_calls(machine),
        *_without_host(machine),
        *_unused(machine),
    ]


def _latencies(machine: Document) -> Iterator[str]:
    hops = [hop for hop in machine["hops"] if hop["latency"]["value"] > LONG_LATENCY]
    for text in _by_value(hops, "latency"):
        yield message(f"latency of {text}", "copies start within some microseconds", "Is it us?")
    for place in machine["places"]:
        latency = place["staging_latency"]["value"]
        if latency > LONG_LATENCY:
            yield message(
                f"staging latency of {place['name']} is {time_text(latency)}",
                "it is some microseconds elsewhere",
                "Is it us?",
            )


def _bandwidths(machine: Document) -> Iterator[str]:
    low = [hop for hop in machine["hops"] if hop["bandwidth"]["value"] < LOW_BANDWIDTH]
    high = [hop for hop in machine["hops"] if hop["bandwidth"]["value"] > HIGH_BANDWIDTH]
    for text in _by_value(low, "bandwidth"):
        yield message(f"bandwidth of {text}", "links carry 10 GB/s and more", "Is it GB/s?")
    for text in _by_value(high, "bandwidth"):
        yield message(f"bandwidth of {text}", "no link carries as much", "Is it GB/s?")


def _by_value(hops: list[Document], quantity: str) -> Iterator[str]:
    """Return "gpu[0-3] to gpu[0-3] is 3.300 ms" for hops with one value."""
    shown = {"latency": time_text, "bandwidth": bandwidth_text}[quantity]
    for value in dict.fromkeys(hop[quantity]["value"] for hop in hops):
        alike = [hop for hop in hops if hop[quantity]["value"] == value]
        ends = (compress(hop[end] for hop in alike) for end in ("from", "to"))
        yield f"{' to '.join(ends)} is {shown(value)}"


def _calls(machine: Document) -> Iterator[str]:
    for name, cost in machine["costs"].items():
        if cost["value"] > LONG_CALL:
            yield message(
                f"cost {name} is {time_text(cost['value'])}",
                "driver calls take some microseconds",
                "Is it us?",
            )


def _unused(machine: Document) -> Iterator[str]:
    used = {use["resource"] for hop in machine["hops"] for use in hop["uses"]}
    for end in machine.get("network", {}).get("ends", ()):
        used |= {use["resource"] for use in (*end["out"], *end["in"])}
    groups: dict[str, list[str]] = {}
    for resource in machine["resources"]:
        if resource["name"] not in used:
            groups.setdefault(re.sub(r"\d+", "#", resource["name"]), []).append(resource["name"])
    for names in groups.values():
        verb = "is" if len(names) == 1 else "are"
        yield message(
            f"{resource_names(names)} {verb} not used",
            "no hop names it, so that nothing is shared by it",
            "Name it in the hops that go through it, or leave it out.",
        )


def _without_host(machine: Document) -> Iterator[str]:
    hosts = {place["name"] for place in machine["places"] if place["kind"] == "host"}
    joined = {end for hop in machine["hops"] if {hop["from"], hop["to"]} & hosts
              for end in (hop["from"], hop["to"])}  # fmt: skip
    alone = [place["name"] for place in machine["places"]
             if place["kind"] == "gpu" and place["name"] not in joined]  # fmt: skip
    if alone:
        yield message(
            f"{compress(alone)} has no hop from or to a host" if len(alone) == 1
            else f"{compress(alone)} have no hops from or to a host",
            "programs copy between them, and so do paths through the host",
            "Add hops of both directions.",
        )  # fmt: skip
