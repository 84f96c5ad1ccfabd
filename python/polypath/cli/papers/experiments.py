"""All experiments by name. To add one: a module with `run(Bench) -> Outcome`, and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from polypath.cli.errors import UserError
from polypath.cli.papers import (
    collectives,
    graph_phases,
    jacobi,
    nodes,
    prediction,
    put,
    shares,
    windows,
)
from polypath.cli.papers.findings import Bench, Outcome
from polypath.cli.suggestions import did_you_mean


@dataclass(frozen=True)
class Experiment:
    """One experiment: what it is, and what runs it."""

    name: str
    title: str
    run: Callable[[Bench], Outcome]


EXPERIMENTS = (
    Experiment("put", "UCX put, and osu_bw with window 64", put.run),
    Experiment("windows", "osu_bw and osu_bibw over window, paths and executor", windows.run),
    Experiment("shares", "Shares of the message over its size", shares.run),
    Experiment("prediction", "Predicted, dynamic and tuned; cost of the model", prediction.run),
    Experiment("graphs", "Nodes and phases of graphs, small messages", graph_phases.run),
    Experiment("jacobi", "Jacobi solver over four GPUs", jacobi.run),
    Experiment("collectives", "All-reduce and all-to-all", collectives.run),
    Experiment("nodes", "All-reduce among nodes", nodes.run),
)
NAMES = tuple(experiment.name for experiment in EXPERIMENTS)


def chosen(names: list[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names, all without names; refuse one that there is not."""
    for name in names:
        if name not in NAMES:
            raise UserError(
                f"experiment '{name}' is unknown",
                f"the experiments are {', '.join(NAMES)}",
                f"Name some of them, or none for all.{did_you_mean(name, NAMES)}",
            )
    return tuple(e for e in EXPERIMENTS if not names or e.name in names)
