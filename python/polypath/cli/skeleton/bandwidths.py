"""Bandwidths of NVLinks, which hwloc writes where it was built with NVIDIA's management library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from polypath.cli.errors import UserError

MATRIX = "NVLinkBandwidth"
A_LINK = 25000  # MB/s in each direction, as hwloc counts; 20000 of the first NVLinks


class Bandwidths(NamedTuple):
    """NVLinks between GPUs, by their numbers, and those of a GPU to a switch."""

    pairs: dict[tuple[int, int], int]  # how many join two GPUs
    ports: dict[int, int]  # how many lead from a GPU to switches

    def links(self, one: int, other: int) -> int:
        """Return how many join two GPUs, or each of them to a switch."""
        ports = min(self.ports.get(one, 0), self.ports.get(other, 0))
        return ports or self.pairs.get((one, other), 0)


def bandwidths_of(root: ElementTree.Element, gpus: dict[str, int]) -> Bandwidths:
    """Return what a file says of NVLinks, given the GPUs' numbers by address; nothing is usual."""
    pairs: dict[tuple[int, int], int] = {}
    ports: dict[int, int] = {}
    addresses = _addresses(root)
    for matrix in _matrices(root):
        names = [addresses.get(each.rpartition(":")[2], "") for each in _words(matrix, "indexes")]
        for (row, column), value in _cells(matrix, len(names)):
            one, other = gpus.get(names[row]), gpus.get(names[column])
            if one is None or one == other or not value:
                continue
            if other is not None:
                pairs[one, other] = _links(value)
            elif names[column]:  # neither a GPU nor, as processors are, no PCI device: a switch
                ports[one] = ports.get(one, 0) + _links(value)
    return Bandwidths(pairs, ports)


def _links(value: int) -> int:
    return max(1, round(value / A_LINK))


def _matrices(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    for tag in ("distances2", "distances2hetero"):
        yield from (each for each in root.iterfind(tag) if each.get("name") == MATRIX)


def _addresses(root: ElementTree.Element) -> dict[str, str]:
    """Return the PCI addresses of devices, and of what is inside them, by hwloc's numbers."""
    found = {}
    for device in root.iter("object"):
        if device.get("type") == "PCIDev":
            for each in device.iter("object"):
                found[each.get("gp_index", "")] = device.get("pci_busid", "")
    return found


def _words(matrix: ElementTree.Element, tag: str) -> list[str]:
    return [word for each in matrix.iterfind(tag) for word in (each.text or "").split()]


def _cells(matrix: ElementTree.Element, width: int) -> Iterator[tuple[tuple[int, int], int]]:
    values = _words(matrix, "u64values")
    if len(values) != width * width or not all(value.isdecimal() for value in values):
        raise UserError(
            f"hwloc's {MATRIX} cannot be read",
            f"it has {len(values)} values for {width} devices, or some that are no numbers",
            "Write the file anew.",
        )
    return ((divmod(number, width), int(value)) for number, value in enumerate(values))
