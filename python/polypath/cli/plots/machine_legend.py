"""Which lines of a machine's picture look alike, and the legend that says so."""

from __future__ import annotations

import math

from matplotlib.lines import Line2D

from polypath.cli.plots.style import colour_of
from polypath.cli.plots.topology import Line

MOST_CLASSES = 6
KINDS = {
    "port": "GPU to switch",
    "peer": "GPU to GPU",
    "driver_staged": "GPU to GPU, staged by the driver",
    "host": "GPU to host",
    "uplink": "uplink that GPUs share",
    "socket": "between sockets",
    "adapter": "network adapter",
}


def classes_of(lines: list[Line]) -> dict[Line, str]:
    """Return the legend's entry for each line: few enough that their colours differ."""
    for digits in (3, 2, 1):
        named = {line: f"{KINDS[line.kind]}, {_rounded(line, digits)} GB/s" for line in lines}
        if len(set(named.values())) <= MOST_CLASSES:
            return named
    return {line: KINDS[line.kind] for line in lines}


def _rounded(line: Line, digits: int) -> str:
    if digits == 3:
        return line.label()
    value = max(line.rates) / 1e9
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return f"about {round(value / step) * step:g}"


def _ranking(lines: list[Line]) -> dict[str, int]:
    """Return the classes, the fastest first, each with its place in that order."""
    fastest: dict[str, float] = {}
    for line, name in classes_of(lines).items():
        fastest[name] = max(fastest.get(name, 0), *line.rates)
    ranked = sorted(fastest, key=lambda name: (-fastest[name], name))
    return {name: rank for rank, name in enumerate(ranked)}


def colours_of(lines: list[Line]) -> dict[Line, str]:
    """Return the colour of each line: that of its entry in the legend."""
    ranking = _ranking(lines)
    return {line: colour_of(ranking[name]) for line, name in classes_of(lines).items()}


def legend_of(lines: list[Line]) -> list[Line2D]:
    """Return the entries of the legend, the fastest first."""
    return [
        Line2D([], [], color=colour_of(rank), linewidth=2.2, label=name)
        for name, rank in _ranking(lines).items()
    ]
