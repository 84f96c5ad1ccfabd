"""Entries of a machine file that people fill in: what is alike stands there once."""

from __future__ import annotations

import itertools
import json

from polypath.cli.machine_tables import compress
from polypath.cli.output import Document
from polypath.cli.skeleton.hops import Hop


def resource_entries(resources: dict[str, Document], gpus: list[str]) -> list[Document]:
    """Return the resources; one entry, gpu*.pcie, where all GPUs have the same."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, rest in resources.items():
        groups.setdefault((_pattern_of(name, gpus), json.dumps(rest)), []).append(name)
    complete = {1: len(gpus), 2: len(gpus) * (len(gpus) - 1)}  # by the pattern's stars
    found = []
    for (pattern, _), names in groups.items():
        whole = len(names) == complete.get(pattern.count("*"))
        found += [(name, resources[names[0]]) for name in ([pattern] if whole else names)]
    return [{"name": name, **rest} for name, rest in found]


def _pattern_of(name: str, gpus: list[str]) -> str:
    head, dot, end = name.partition(".")
    return "-".join("gpu*" if part in gpus else part for part in head.split("-")) + dot + end


def hop_entries(hops: list[Hop]) -> list[Document]:
    """Return the hops; one entry for those that are alike between neighbours."""
    groups: dict[str, list[Hop]] = {}
    for hop in hops:
        groups.setdefault(json.dumps(hop.rest), []).append(hop)
    return [entry for group in groups.values() for entry in _entries(group)]


def _entries(group: list[Hop]) -> list[Document]:
    sources, destinations = {hop.source for hop in group}, {hop.destination for hop in group}
    every = [pair for pair in itertools.product(sources, destinations) if len({*pair}) == 2]
    ends = compress(sources), compress(destinations)
    if len(every) == len(group) and "," not in "".join(ends):
        return [{"from": ends[0], "to": ends[1], **group[0].rest}]
    return [{"from": hop.source, "to": hop.destination, **hop.rest} for hop in group]


def text_of(machine: Document) -> str:
    """Return the file's text, with a line for each entry."""
    parts = [f"{json.dumps(name)}: {_value(value)}" for name, value in machine.items()]
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


def _value(value: object) -> str:
    if isinstance(value, list):
        return "[\n    " + ",\n    ".join(json.dumps(each) for each in value) + "\n  ]"
    if isinstance(value, dict):
        lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in value.items()]
        return "{\n    " + ",\n    ".join(lines) + "\n  }"
    return json.dumps(value)
