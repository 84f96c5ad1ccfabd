"""The schema polypath.paper/1: experiments with their rows and plots as a dictionary."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from polypath.cli.papers.findings import Outcome, Plot, Row
from polypath.cli.papers.sources import PAPERS

SCHEMA = "polypath.paper/1"


def document_of(real: bool, outcomes: list[tuple[str, str, Outcome]]) -> dict[str, Any]:
    """Return everything that was found; `outcomes` are (name, title, outcome)."""
    return {
        "schema": SCHEMA,
        "simulated": not real,
        "papers": [{**asdict(paper), "citation": paper.citation} for paper in PAPERS],
        "experiments": [
            {
                "name": name,
                "title": title,
                "rows": [_row(row) for row in outcome.rows],
                "plots": [_plot(plot) for plot in outcome.plots],
            }
            for name, title, outcome in outcomes
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "sources": [paper.key for paper in row.papers],
        "what": row.what,
        "machine": row.machine,
        "stated": row.stated,
        "paper": row.paper,
        "at_most": row.at_most,
        "ours": row.ours,
        "found": row.found,
        "deviation": row.deviation,
        "verdict": row.verdict,
        "sentence": row.sentence,
        "command": row.command,
    }


def _plot(plot: Plot) -> dict[str, Any]:
    curves = [{"name": c.name, "points": [list(point) for point in c.points]} for c in plot.curves]
    return {"title": plot.title, "x": plot.x, "y": plot.y, "curves": curves}
