"""What `lstopo --of xml` writes, as data: GPUs, adapters, their PCIe links, bridges and NUMA nodes.

The format is that of hwloc 1 and 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from polypath.cli.errors import UserError
from polypath.cli.skeleton.bandwidths import Bandwidths, bandwidths_of

HWLOC = "lstopo --of xml"
NVIDIA = "10de"
RDMA = "3"  # the kind of an adapter's device that other nodes' memory is read and written by

LONGEST_SET = 4096  # letters: some 12000 CPUs
_SET = re.compile(r"(0xf\.\.\.f,?)?((0x[0-9a-f]{1,8})?,)*(0x[0-9a-f]{1,8})?")
_TYPE = re.compile(r"(?P<kind>[0-9a-f]{4}) \[(?P<vendor>[0-9a-f]{4}):", re.IGNORECASE)
_DISPLAYS = ("0300", "0302")  # kinds of PCI devices: with an output for a screen, and without
_FABRICS = ("0207", "0208")  # InfiniBand, Omni-Path
_REMEDY = f"Write the file on that computer with: {HWLOC} > hwloc.xml"


class Around(NamedTuple):
    """What encloses a device."""

    nodes: str = ""  # sets of bits, as written
    cpus: str = ""
    bridge: str = ""  # the outermost bridge below the host's: its address
    speed: float = 0.0  # GB/s of that bridge's link


class Device(NamedTuple):
    """A GPU or an adapter."""

    address: str
    name: str  # of an adapter: mlx5_0. Of a GPU: its model, or nothing
    speed: float  # GB/s of its PCIe link in each direction, as found; 0 where unknown
    around: Around

    def node(self) -> int:
        """Return the NUMA node that is nearest."""
        return min(bits_of(self.around.nodes), default=0)


class Hardware(NamedTuple):
    """A computer, its devices in the order of their addresses."""

    gpus: list[Device]
    adapters: list[Device]
    nvlinks: Bandwidths


def read_hwloc(text: str) -> Hardware:
    """Return what the file says; refuse what is no such file, or shows no GPU."""
    root = _parsed(text)
    devices = sorted(_devices(root), key=lambda each: each[0].get("pci_busid", ""))
    gpus = [_gpu(*each) for each in devices if _is_gpu(each[0])]
    adapters = [_adapter(*each) for each in devices if _is_adapter(each[0])]
    if not gpus:
        why = "no PCI device in it is a display or 3D controller of NVIDIA"
        raise UserError("hwloc's file shows no GPU", why, _REMEDY)
    places = {each.get("pci_busid", ""): number for number, each in
              enumerate(device for device, _ in devices if _is_gpu(device))}  # fmt: skip
    return Hardware(gpus, adapters, bandwidths_of(root, places))


def bits_of(text: str) -> set[int]:
    """Return the members of a set as hwloc writes it: "0x3,,0x1" is 0, 64 and 65."""
    if len(text) > LONGEST_SET or not _SET.fullmatch(text):
        raise UserError(f"the set '{text[:40]}' cannot be read", "it is no mask of hwloc", _REMEDY)
    words = enumerate(text.removeprefix("0xf...f").split(",")[::-1])
    value = sum(int(word, 16) << (32 * number) for number, word in words if word)
    return {bit for bit in range(value.bit_length()) if value >> bit & 1}


def _parsed(text: str) -> ElementTree.Element:
    try:
        if "<!ENTITY" in text:
            raise ValueError("it defines entities, and hwloc writes none")
        root = ElementTree.fromstring(text)
        if root.tag != "topology":
            raise ValueError(f"it begins with <{root.tag}>, and hwloc's with <topology>")
    except (ElementTree.ParseError, ValueError) as error:
        raise UserError("hwloc's file cannot be read", str(error), _REMEDY) from None
    return root


def _devices(root: ElementTree.Element) -> Iterator[tuple[ElementTree.Element, Around]]:
    """Return the PCI devices, each with what encloses it."""
    waiting = [(root, Around())]
    while waiting:
        parent, around = waiting.pop()
        for each in parent.iterfind("object"):
            if each.get("type") == "PCIDev":
                yield each, around
            waiting.append((each, _within(each, around)))


def _within(element: ElementTree.Element, around: Around) -> Around:
    nodes, cpus = element.get("nodeset", ""), element.get("cpuset", "")
    if nodes or cpus:
        around = around._replace(nodes=nodes or around.nodes, cpus=cpus or around.cpus)
    if element.get("type") == "Bridge" and not around.bridge:
        address = element.get("pci_busid", "")  # the host's own has none
        around = around._replace(bridge=address, speed=_speed(element) if address else 0.0)
    return around


def _gpu(device: ElementTree.Element, around: Around) -> Device:
    said = {each.get("name"): each.get("value", "") for each in device.iter("info")}
    return _device(device, around, said.get("GPUModel", "").removeprefix("NVIDIA "))


def _adapter(device: ElementTree.Element, around: Around) -> Device:
    inside = sorted(device.iterfind("object"), key=lambda each: each.get("osdev_type") != RDMA)
    return _device(device, around, next((each.get("name", "") for each in inside), ""))


def _device(device: ElementTree.Element, around: Around, name: str) -> Device:
    return Device(device.get("pci_busid", ""), name, _speed(device), around)


def _speed(element: ElementTree.Element) -> float:
    text = element.get("pci_link_speed", "0")
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < 1e6:
        raise UserError(
            f"pci_link_speed of {element.get('pci_busid', 'a bridge')} is '{text}'",
            "it is a number of GB/s",
            "Correct it.",
        )
    return speed


def _kind(device: ElementTree.Element) -> tuple[str, str]:
    """Return the PCI class and the vendor, as hexadecimal digits."""
    found = _TYPE.match(device.get("pci_type", ""))
    return (found["kind"], found["vendor"].lower()) if found else ("", "")


def _is_gpu(device: ElementTree.Element) -> bool:
    kind, vendor = _kind(device)
    return kind in _DISPLAYS and vendor == NVIDIA


def _is_adapter(device: ElementTree.Element) -> bool:
    inside = {each.get("osdev_type") for each in device.iterfind("object")}
    return _kind(device)[0] in _FABRICS or RDMA in inside
