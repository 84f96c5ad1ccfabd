"""The machine file: structure as printed, and placeholders for all that is to be measured."""

from __future__ import annotations

from polypath.cli.output import Document
from polypath.cli.skeleton.entries import hop_entries, resource_entries, text_of
from polypath.cli.skeleton.hops import Hops
from polypath.cli.skeleton.network import network_of
from polypath.cli.skeleton.rates import SOURCES, STAGING, costs, time
from polypath.cli.skeleton.resources import resources_of
from polypath.cli.skeleton.structure import Structure


def machine_text(structure: Structure, name: str, model: str, origin: str) -> str:
    """Return the text of a machine file whose structure is from `origin`."""
    known = resources_of(structure)
    ports, network = network_of(structure, known)
    hops = Hops(structure, known).all()
    used = {resource for hop in hops for resource in hop.used()}
    shared = {each: rest for each, rest in known.items() if each in used}
    entries = {
        "places": _places(structure, model),
        "resources": resource_entries({**shared, **ports}, structure.gpus),
        "hops": hop_entries(hops),
        **network,
        "costs": costs(),
    }
    named = text_of(entries)
    head = {
        "schema": "polypath.machine/1",
        "name": name,
        "description": f"{len(structure.gpus)} x {model}, joined as in {origin}; rates, "
        "latencies and costs are placeholders, not measured.",
        "sources": {key: text for key, text in SOURCES.items() if f'"source": "{key}"' in named},
    }
    return text_of({**head, **entries})


def _places(structure: Structure, model: str) -> list[Document]:
    places = [(gpu, "gpu", model, node) for gpu, node in structure.node_of.items()]
    for node, host in structure.hosts.items():
        places.append((host, "host", f"CPUs {structure.cpus(node) or 'unknown'}", node))
    staging = time(STAGING, "latency")
    return [
        {"name": name, "kind": kind, "model": what, "numa_node": node, "staging_latency": staging}
        for name, kind, what, node in places
    ]
