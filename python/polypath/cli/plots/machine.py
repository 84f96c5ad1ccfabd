"""A machine as a picture: GPUs in a row, what joins them above, host memories below."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from polypath.cli.output import Document
from polypath.cli.plots.style import FAINT, INK, colour_of, new_figure, render
from polypath.cli.units import gigabytes

SPACING = 1.9  # between neighbouring GPUs
BOX = (1.4, 0.6)
MODEL_WIDTH = 20  # characters of a line in a box
HOST_LEVEL = -1.9
SWITCH_LEVEL = 1.6
MARGIN = 0.9
MOST_CLASSES = 6
MOST_LABELS = 12  # lines of a kind; more are told apart by the legend alone

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A line of the picture: all copies between two nodes, in either direction."""

    start: str
    end: str
    kind: str  # a key of _KINDS
    rates: tuple[float, ...]  # bytes/s; from start to end first, where there are both

    def label(self) -> str:
        """Return the line's GB/s, both directions where they differ."""
        return " / ".join(dict.fromkeys(gigabytes(rate) for rate in self.rates))


_KINDS = {
    "port": "GPU to switch",
    "peer": "GPU to GPU",
    "driver_staged": "GPU to GPU, staged by the driver",
    "host": "GPU to host",
}


def draw(machine: Document, file_format: str) -> bytes:
    """Return the picture of a machine, schema polypath.machine/1, as a file."""
    positions = _positions(machine)
    switched = _is_switched(machine)
    lines = list(_lines(machine, switched))
    left, right = _extent(positions)
    top = SWITCH_LEVEL + 0.5 if switched else _highest_arc(lines, positions) + 0.3
    width, height = right - left + 2 * MARGIN, top - HOST_LEVEL + 0.5
    figure = new_figure(max(7.5, 1.1 * width), 1.1 * height + 1.4)
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.set_xlim(left - MARGIN, right + MARGIN)
    axes.set_ylim(HOST_LEVEL - 0.5, top)
    axes.set_axis_off()
    if switched:
        _draw_switch(axes, left, right)
    _draw_lines(axes, lines, positions)
    for place in machine["places"]:
        _draw_place(axes, place, positions[place["name"]])
    figure.suptitle(machine["name"], fontweight="bold")
    axes.set_title(textwrap.fill(textwrap.shorten(machine["description"], 300), 95), fontsize=9)
    figure.legend(handles=_legend(lines), frameon=False, ncols=2, loc="outside lower center")
    return render(figure, file_format)


def _positions(machine: Document) -> dict[str, Point]:
    """Return GPUs in a row; each host below the middle of the GPUs of its NUMA node."""
    gpus = [place for place in machine["places"] if place["kind"] == "gpu"]
    hosts = [place for place in machine["places"] if place["kind"] == "host"]
    positions = {gpu["name"]: (SPACING * index, 0.0) for index, gpu in enumerate(gpus)}
    wanted = []
    for index, host in enumerate(hosts):
        near = [positions[g["name"]][0] for g in gpus if g["numa_node"] == host["numa_node"]]
        middle = SPACING * (len(gpus) - 1) * (index + 0.5) / len(hosts)
        wanted.append((sum(near) / len(near) if near else middle, host["name"]))
    rightmost = -math.inf
    for x, name in sorted(wanted):
        rightmost = max(x, rightmost + SPACING)
        positions[name] = (rightmost, HOST_LEVEL)
    return positions


def _extent(positions: dict[str, Point]) -> tuple[float, float]:
    return min(x for x, _ in positions.values()), max(x for x, _ in positions.values())


def _peer_hops(machine: Document) -> list[Document]:
    return [hop for hop in machine["hops"] if hop["kind"] == "peer"]


def _ports(machine: Document) -> dict[str, float]:
    """Return the capacity, in bytes/s, of each port."""
    return {
        resource["name"]: resource["capacity"]["value"]
        for resource in machine["resources"]
        if resource["kind"] == "port" and "capacity" in resource
    }


def _is_switched(machine: Document) -> bool:
    """Return true if all copies between GPUs pass ports, which a switch joins."""
    ports, hops = _ports(machine), _peer_hops(machine)
    return bool(hops) and all(any(use["resource"] in ports for use in h["uses"]) for h in hops)


def _lines(machine: Document, switched: bool) -> Iterator[Line]:
    if switched:
        yield from _switch_lines(machine)
    kinds = {place["name"]: place["kind"] for place in machine["places"]}
    pairs: dict[tuple[str, str], list[Document]] = {}
    for hop in machine["hops"]:
        if not (switched and hop["kind"] == "peer"):
            # GPUs first: "gpu" sorts before "host".
            ends = sorted((hop["from"], hop["to"]), key=lambda name: (kinds[name], name))
            pairs.setdefault((ends[0], ends[1]), []).append(hop)
    for (start, end), hops in pairs.items():
        hops.sort(key=lambda hop: hop["from"] != start)
        yield Line(start, end, hops[0]["kind"], tuple(h["bandwidth"]["value"] for h in hops))


def _switch_lines(machine: Document) -> Iterator[Line]:
    """Return a line from each GPU to the switch, as fast as the GPU's ports."""
    ports = _ports(machine)
    rates: dict[str, list[float]] = {}
    for direction in ("from", "to"):
        found: dict[str, float | None] = {}
        for hop in _peer_hops(machine):
            for use in hop["uses"]:
                if use["resource"].partition(".")[0] == hop[direction]:
                    found[hop[direction]] = ports.get(use["resource"], found.get(hop[direction]))
        for gpu, rate in found.items():
            if rate is not None:
                rates.setdefault(gpu, []).append(rate)
    for gpu, both in rates.items():
        yield Line(gpu, "switch", "port", tuple(both))


def _classes(lines: list[Line]) -> dict[Line, str]:
    """Return the legend's entry for each line: few enough that their colours differ."""
    for digits in (3, 2, 1):
        named = {line: f"{_KINDS[line.kind]}, {_rounded(line, digits)} GB/s" for line in lines}
        if len(set(named.values())) <= MOST_CLASSES:
            return named
    return {line: _KINDS[line.kind] for line in lines}


def _rounded(line: Line, digits: int) -> str:
    if digits == 3:
        return line.label()
    value = max(line.rates) / 1e9
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return f"about {round(value / step) * step:g}"


def _ranking(lines: list[Line]) -> dict[str, int]:
    """Return the classes, the fastest first, each with its place in that order."""
    classes = _classes(lines)
    fastest: dict[str, float] = {}
    for line, name in classes.items():
        fastest[name] = max(fastest.get(name, 0), *line.rates)
    ranked = sorted(fastest, key=lambda name: (-fastest[name], name))
    return {name: rank for rank, name in enumerate(ranked)}


def _legend(lines: list[Line]) -> list[Line2D]:
    return [
        Line2D([], [], color=colour_of(rank), linewidth=2.2, label=name)
        for name, rank in _ranking(lines).items()
    ]


def _draw_lines(axes: Axes, lines: list[Line], positions: dict[str, Point]) -> None:
    classes, ranking = _classes(lines), _ranking(lines)
    counts = Counter(line.kind for line in lines)
    for line in lines:
        colour = colour_of(ranking[classes[line]])
        start, end, is_arc = _ends(line, positions)
        _draw_line(axes, line, start, end, colour)
        if counts[line.kind] <= MOST_LABELS:
            x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
            _draw_label(axes, (x, _apex(start, end) if is_arc else y), line.label(), colour)


def _ends(line: Line, positions: dict[str, Point]) -> tuple[Point, Point, bool]:
    """Return where a line starts and ends, and whether it is an arc between GPUs."""
    x, y = positions[line.start]
    if line.kind == "port":
        return (x, y + BOX[1] / 2), (x, SWITCH_LEVEL), False
    end = positions[line.end]
    if end[1] == y:
        left, right = min(x, end[0]), max(x, end[0])
        return (left, y + BOX[1] / 2), (right, y + BOX[1] / 2), True
    return (x, y - BOX[1] / 2), (end[0], end[1] + BOX[1] / 2), False


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


def _apex(start: Point, end: Point) -> float:
    """Return the height of an arc's highest point: halfway to its control point."""
    return start[1] + 0.5 * _bend(start, end) * abs(end[0] - start[0])


def _highest_arc(lines: list[Line], positions: dict[str, Point]) -> float:
    arcs = [_ends(line, positions) for line in lines]
    return max((_apex(start, end) for start, end, is_arc in arcs if is_arc), default=BOX[1])


def _draw_label(axes: Axes, position: Point, text: str, colour: str) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "zorder": 2}
    axes.text(*position, text, color=colour, bbox=box, **style)


def _draw_switch(axes: Axes, left: float, right: float) -> None:
    size = (right - left + BOX[0], 0.4)
    _draw_box(axes, ((left + right) / 2, SWITCH_LEVEL), size, FAINT, "switch")


def _draw_place(axes: Axes, place: Document, position: Point) -> None:
    colour = "#eaf3fa" if place["kind"] == "gpu" else "#f6efe2"
    model = textwrap.shorten(place["model"], MODEL_WIDTH, placeholder="…")
    _draw_box(axes, position, BOX, colour, f"{place['name']}\n{model}")


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
