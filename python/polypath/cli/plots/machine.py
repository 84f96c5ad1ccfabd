"""A machine as a picture: GPUs in a row, what joins them above, what they share and hosts below."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from polypath.cli.output import Document
from polypath.cli.plots.machine_legend import colours_of, legend_of
from polypath.cli.plots.style import FAINT, INK, footer, new_figure, render
from polypath.cli.plots.topology import SWITCH, Line, Shared, Topology

SPACING = 1.9  # between neighbouring boxes
BOX_WIDTH = 1.6
TEXT_WIDTH = 20  # characters of a line in a box
LINE_HEIGHT = 0.17  # of text in a box
SWITCH_LEVEL = 1.6
LEVEL_STEP = 1.9  # from GPUs down to what they share, to hosts, to what hosts share
MARGIN = 0.9
UNIT, SMALL_UNIT = 1.1, 0.9  # inches; text of a picture that is fitted in is larger by the second
MANY_GPUS = 6
MOST_LABELS = 12  # lines of a kind; more are told apart by the legend alone
NEAR_START = 0.3  # where a line down has its label: other lines cross it further on

Point = tuple[float, float]
GPU, HOST, SHARED = "#eaf3fa", "#f6efe2", "#f3e3ec"


def draw(machine: Document, file_format: str, simulated: bool = True) -> bytes:
    """Return the picture of a machine, schema polypath.machine/1, as a file."""
    return render(figure_of(machine, simulated), file_format)


def figure_of(machine: Document, simulated: bool = True) -> Figure:
    """Return the picture of a machine, schema polypath.machine/1."""
    topology = Topology(machine)
    layout = Layout(topology)
    width, height = layout.size()
    unit = UNIT if len(topology.gpus) < MANY_GPUS else SMALL_UNIT
    figure = new_figure(max(7.5, unit * width), unit * height + 1.7)
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.set_xlim(*layout.across)
    axes.set_ylim(*layout.up)
    axes.set_axis_off()
    _draw_lines(axes, topology.lines, layout)
    for name, text in layout.texts.items():
        _draw_box(axes, layout.positions[name], layout.box_of(name), layout.colours[name], text)
    figure.suptitle(machine["name"], fontweight="bold")
    described = textwrap.shorten(machine["description"], 300)
    axes.set_title(textwrap.fill(described, int(12 * figure.get_figwidth())), fontsize=9)
    origin = "Simulated machine, rates as described." if simulated else "This computer's GPUs."
    remarks = "\n".join([f"{origin} Numbers are GB/s.", *topology.notes])
    footer(figure, remarks, legend_of(topology.lines), ncols=2)
    return figure


class Layout:
    """Where each box of a machine's picture is, how large, and what it says."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self.positions: dict[str, Point] = {}
        self.texts: dict[str, str] = {}
        self.colours: dict[str, str] = {}
        for index, gpu in enumerate(topology.gpus):
            text = f"{gpu['name']}\n{_wrapped(gpu['model'])}{self._adapter_text(gpu['name'])}"
            self._add(gpu["name"], (SPACING * index, 0.0), text, GPU)
        self._middle = SPACING * (len(topology.gpus) - 1) / 2
        level = -LEVEL_STEP
        if topology.uplinks:
            self._add_shared(list(topology.uplinks.values()), level, below=False)
            level -= LEVEL_STEP
        self._add_hosts(level)
        of_hosts = [*topology.sockets.values(), *topology.adapters.values()]
        self._add_shared(of_hosts, level - LEVEL_STEP, below=True)
        self.across = self._across()
        self.up = self._up()
        if topology.switched:
            self._add(SWITCH, (sum(self.across) / 2, SWITCH_LEVEL), "switch", FAINT)

    def size(self) -> Point:
        """Return width and height."""
        return self.across[1] - self.across[0], self.up[1] - self.up[0]

    def box_of(self, name: str) -> Point:
        """Return width and height of a box: as high as its text, the switch as wide as all."""
        if name == SWITCH:
            return self.across[1] - self.across[0] - 2 * MARGIN + BOX_WIDTH, 0.4
        return BOX_WIDTH, 0.25 + LINE_HEIGHT * (1 + self.texts[name].count("\n"))

    def ends(self, line: Line) -> tuple[Point, Point, bool]:
        """Return where a line starts and ends, and whether it is an arc between neighbours."""
        start, end = self.positions[line.start], self.positions[line.end]
        half = self.box_of(line.start)[1] / 2
        if line.kind == "port":
            return (start[0], start[1] + half), (start[0], SWITCH_LEVEL), False
        if start[1] == end[1]:
            left, right = min(start[0], end[0]), max(start[0], end[0])
            return (left, start[1] + half), (right, start[1] + half), True
        down = 1 if end[1] < start[1] else -1
        end_half = self.box_of(line.end)[1] / 2
        return (start[0], start[1] - down * half), (end[0], end[1] + down * end_half), False

    def _adapter_text(self, gpu: str) -> str:
        own = self._topology.own_adapters.get(gpu)
        return f"\n{own.text()}" if own else ""

    def _add(self, name: str, position: Point, text: str, colour: str) -> None:
        self.positions[name], self.texts[name], self.colours[name] = position, text, colour

    def _add_hosts(self, level: float) -> None:
        """Place each host below the middle of the GPUs of its NUMA node."""
        hosts, gpus = self._topology.hosts, self._topology.gpus
        wanted = {}
        for index, host in enumerate(hosts):
            near = [g["name"] for g in gpus if g["numa_node"] == host["numa_node"]]
            spread = 2 * self._middle * (index + 0.5) / len(hosts)
            wanted[host["name"]] = self._mean(near, spread)
        places = _apart(wanted)
        for host in hosts:
            memory = _wrapped(self._topology.memory_text(host["name"]))
            text = "\n".join(filter(None, (host["name"], _wrapped(host["model"]), memory)))
            self._add(host["name"], (places[host["name"]], level), text, HOST)

    def _add_shared(self, shared: list[Shared], level: float, below: bool) -> None:
        """Place each shared resource amid what uses it: below hosts, or above them below GPUs."""
        users = {each.name: (below and each.hosts) or each.gpus for each in shared}
        places = _apart({name: self._mean(mine, self._middle) for name, mine in users.items()})
        for each in shared:
            self._add(each.name, (places[each.name], level), each.text(), SHARED)

    def _mean(self, names: list[str], otherwise: float) -> float:
        found = [self.positions[name][0] for name in names]
        return sum(found) / len(found) if found else otherwise

    def _across(self) -> Point:
        places = [x for x, _ in self.positions.values()]
        return min(places) - MARGIN, max(places) + MARGIN

    def _up(self) -> Point:
        lowest = min(self.positions, key=lambda name: self.positions[name][1])
        bottom = self.positions[lowest][1] - self.box_of(lowest)[1] / 2 - 0.2
        if self._topology.switched:
            return bottom, SWITCH_LEVEL + 0.5
        arcs = [self.ends(line) for line in self._topology.lines]
        tops = [apex(start, end) for start, end, is_arc in arcs if is_arc]
        return bottom, max(tops, default=0.6) + 0.3


def _wrapped(text: str) -> str:
    return textwrap.fill(textwrap.shorten(text, 3 * TEXT_WIDTH, placeholder="…"), TEXT_WIDTH)


def _apart(wanted: dict[str, float]) -> dict[str, float]:
    """Return places as wanted, but for those moved to the right that would be too close."""
    places, rightmost = {}, -math.inf
    for name, x in sorted(wanted.items(), key=lambda item: (item[1], item[0])):
        rightmost = max(x, rightmost + SPACING)
        places[name] = rightmost
    return places


def _draw_lines(axes: Axes, lines: list[Line], layout: Layout) -> None:
    colours = colours_of(lines)
    counts = Counter(line.kind for line in lines)
    for line in lines:
        start, end, is_arc = layout.ends(line)
        _draw_line(axes, line, start, end, colours[line])
        named_by_box = line.kind in ("uplink", "socket", "adapter")
        if counts[line.kind] <= MOST_LABELS and not named_by_box:
            _draw_label(axes, _label_place(line, start, end, is_arc), line.label(), colours[line])


def _label_place(line: Line, start: Point, end: Point, is_arc: bool) -> Point:
    if is_arc:
        return (start[0] + end[0]) / 2, apex(start, end)
    part = 0.5 if line.kind == "port" else NEAR_START
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])


def _draw_line(axes: Axes, line: Line, start: Point, end: Point, colour: str) -> None:
    is_arc = start[1] == end[1]
    patch = FancyArrowPatch(
        start,
        end,
        connectionstyle=f"arc3,rad={-_bend(start, end)}" if is_arc else "arc3",
        arrowstyle="-",
        color=colour,
        linewidth=_width(line),
        linestyle="--" if line.kind == "driver_staged" else "-",
        shrinkA=0,
        shrinkB=0,
        zorder=1,
    )
    axes.add_patch(patch)


def _width(line: Line) -> float:
    """Return a line width that tells 10, 100 and 1000 GB/s apart."""
    return 0.8 + 1.2 * max(0.0, math.log10(max(line.rates) / 4e9))


def _bend(start: Point, end: Point) -> float:
    """Return how far an arc's control point is off, as a fraction of the arc's length."""
    return 0.45 + 0.25 * SPACING / max(SPACING, abs(end[0] - start[0]))


def apex(start: Point, end: Point) -> float:
    """Return the height of an arc's highest point: halfway to its control point."""
    return start[1] + 0.5 * _bend(start, end) * abs(end[0] - start[0])


def _draw_label(axes: Axes, position: Point, text: str, colour: str) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "zorder": 2}
    axes.text(*position, text, color=colour, bbox=box, **style)


def _draw_box(axes: Axes, middle: Point, size: Point, colour: str, text: str) -> None:
    corner = (middle[0] - size[0] / 2 + 0.05, middle[1] - size[1] / 2 + 0.05)
    box = FancyBboxPatch(
        corner,
        size[0] - 0.1,
        size[1] - 0.1,
        boxstyle="round,pad=0.05",
        facecolor=colour,
        edgecolor=INK,
        zorder=3,
    )
    axes.add_patch(box)
    axes.text(*middle, text, ha="center", va="center", fontsize=8, zorder=4)
