"""The report as one HTML file that asks the network for nothing.

Plots are SVG, made by the page from the numbers in it: hovering shows a point's values, a click on
a name hides or shows its curve. x is logarithmic to the base 2.
"""

from __future__ import annotations

import html
import json
from importlib import resources

from polypath.cli.output import Document
from polypath.cli.papers.tables import deviation_text

HEAD = ("source", "experiment", "machine", "paper", "ours", "deviation", "why", "run it")


def page_of(document: Document) -> str:
    """Return the whole page."""
    parts = [_experiment(experiment) for experiment in document["experiments"]]
    plots = [plot for experiment in document["experiments"] for plot in experiment["plots"]]
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    papers = "".join(f"<li>{p['key']}: {_text(p['citation'])}</li>" for p in document["papers"])
    return (
        template.replace("{{kind}}", "simulated" if document["simulated"] else "measured")
        .replace("{{experiments}}", _numbered("".join(parts)))
        .replace("{{papers}}", papers)
        .replace("{{plots}}", json.dumps(plots).replace("<", "\\u003c"))
    )


def _numbered(text: str) -> str:
    """Return the page's body with its places for plots numbered."""
    first, *rest = text.split("{{plot}}")
    return first + "".join(f"{number}{part}" for number, part in enumerate(rest))


def _experiment(experiment: Document) -> str:
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    rows = "".join(_row(row) for row in experiment["rows"])
    places = '<div class="plot" data-plot="{{plot}}"></div>' * len(experiment["plots"])
    return (
        f"<h2>{_text(experiment['title'])}</h2>"
        f"<table><tr>{head}</tr>{rows}</table><div class=plots>{places}</div>"
    )


def _row(row: Document) -> str:
    cells = (", ".join(row["sources"]), row["what"], row["machine"], row["stated"], row["found"],
             f"{deviation_text(row)} {row['verdict']}", row["sentence"])  # fmt: skip
    text = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
    return f'<tr class="{row["verdict"]}">{text}<td><code>{_text(row["command"])}</code></td></tr>'


def _text(text: str) -> str:
    return html.escape(text)
