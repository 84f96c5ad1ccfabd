"""What `nvidia-smi topo -m` prints, as data: GPUs, adapters, how they are joined, near CPUs."""

from __future__ import annotations

import re
from typing import NamedTuple

from polypath.cli.errors import UserError

COMMAND = "nvidia-smi topo -m"
ITSELF = "X"
SAME_SWITCH = ("PIX", "PXB", "PSB")  # no host bridge in between
SAME_NODE = ("PHB", "NODE")
OTHER_NODE = ("SYS", "SOC")  # SOC in old drivers

_UNDERLINE = re.compile(r"\x1b\[[0-9;]*m")  # of the header, in a terminal
_GPU = re.compile(r"GPU\d+$")
_LINKS = re.compile(r"NV(\d+)$")
_FIRST_NUMBER = re.compile(r"\d+")


class Topology(NamedTuple):
    """The table, with devices by their printed names."""

    gpus: list[str]
    relations: dict[tuple[str, str], str]  # of two devices, adapters too: "NV2", "PIX"
    cpus: dict[str, str]  # near a GPU: "0-19,40-59", or nothing
    nodes: dict[str, int]  # the NUMA node of each GPU

    def links(self, one: str, other: str) -> int:
        """Return how many NVLinks join two GPUs."""
        found = _LINKS.match(self.relations[one, other])
        return int(found[1]) if found else 0


def read_topology(text: str) -> Topology:
    """Return what the command printed; refuse what is not its table, or part of it."""
    lines = [_UNDERLINE.sub("", line).split() for line in text.splitlines()]
    devices, rows = _table(lines)
    gpus = [name for name in devices if _GPU.match(name)]
    for name in gpus:
        _check_row(name, rows.get(name, []), devices)
    relations = {
        (name, other): relation for name, row in rows.items()
        for other, relation in zip(devices, row)
    }  # fmt: skip
    _check_both_ways(relations)
    rest = {name: rows[name][len(devices) :] for name in gpus}
    cpus = {name: words[0] if words and words[0] != "N/A" else "" for name, words in rest.items()}
    return Topology(gpus, relations, cpus, _nodes(rest, cpus))


def _table(lines: list[list[str]]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the columns that are devices, those before the CPU affinity, and their rows."""
    for number, words in enumerate(lines):
        if _is_header(words):
            devices = words[: words.index("CPU")] if "CPU" in words else words
            below = [line for line in lines[number + 1 :] if line and line[0] in devices]
            return devices, {row[0]: row[1:] for row in below}
    raise UserError(
        "the topology cannot be read",
        f"no line is the header that '{COMMAND}' prints: GPU0, GPU1, ..., CPU Affinity",
        f"Write the file with: {COMMAND} > topo.txt",
    )


def _is_header(words: list[str]) -> bool:
    """Return whether a line begins with two devices, or with one and the CPUs' column."""
    after = words[1] if len(words) > 1 else ""
    return bool(words and _GPU.match(words[0])) and (bool(_GPU.match(after)) or "CPU" in words)


def _check_row(name: str, row: list[str], devices: list[str]) -> None:
    relations = row[: len(devices)]
    if len(relations) < len(devices):
        raise UserError(
            f"the row of {name} cannot be read",
            f"it has {len(relations)} of {len(devices)} columns",
            f"Write the file anew, with long lines whole: {COMMAND} > topo.txt",
        )
    known = (ITSELF, *SAME_SWITCH, *SAME_NODE, *OTHER_NODE)
    for other, relation in zip(devices, relations):
        if relation not in known and not _LINKS.match(relation):
            raise UserError(
                f"{name} to {other} is '{relation}'",
                f"the table has {', '.join(known)} and NV with a number",
                "Correct it.",
            )


def _check_both_ways(relations: dict[tuple[str, str], str]) -> None:
    for (one, other), relation in relations.items():
        back = relations.get((other, one), relation)
        if relation != back:
            raise UserError(
                f"{one} to {other} is '{relation}', and back it is '{back}'",
                "both directions are the same",
                "Correct one of them.",
            )


def _nodes(rest: dict[str, list[str]], cpus: dict[str, str]) -> dict[str, int]:
    """Return NUMA nodes: as stated, else one for all GPUs that are near the same CPUs."""
    stated = {name: _FIRST_NUMBER.match(words[1]) if len(words) > 1 else None
              for name, words in rest.items()}  # fmt: skip
    if all(stated.values()):
        return {name: int(found[0]) for name, found in stated.items() if found}
    groups = sorted(set(cpus.values()), key=_first_cpu)
    return {name: groups.index(cpus[name]) for name in cpus}


def _first_cpu(cpus: str) -> int:
    found = _FIRST_NUMBER.match(cpus)
    return int(found[0]) if found else -1
