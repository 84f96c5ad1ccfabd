"""results/simulated/plan_bounds.json: what is stored there, and how rows are replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[2] / "results" / "simulated" / "plan_bounds.json"
COMMENT = (
    "Predicted times of automatic plans, collectives of float32 among all GPUs of a machine and "
    "random sets of copies that one thread issues, against lower bounds by linear programs "
    "(scripts/plan_bounds.py, scripts/set_bounds.py). Times are in seconds; planning_seconds is "
    "the processor time of one request."
)
# What a row or a set answers: the next one to the same question replaces it.
QUESTIONS = {
    "rows": ("machine", "nodes", "collective", "bytes", "any_order", "root"),
    "sets": ("machine", "seed"),
}

Row = dict[str, Any]


def stored(kind: str) -> list[Row]:
    """Return the rows or the sets that are stored."""
    found: list[Row] = document()[kind]
    return found


def document() -> Row:
    """Return the whole file; an empty one if there is none."""
    if FILE.exists():
        found: Row = json.loads(FILE.read_text(encoding="utf-8"))
        return found
    return {"schema": "polypath.plan_bounds/1", "comment": COMMENT, "rows": [], "sets": []}


def store(kind: str, entries: list[Row]) -> None:
    """Put rows or sets into the file, in place of those of the same questions."""
    whole = document()
    whole["comment"] = COMMENT
    kept = [*whole.get(kind, []), *entries]
    asked = {tuple(each[key] for key in QUESTIONS[kind]): each for each in kept}
    whole[kind] = [asked[key] for key in sorted(asked, key=str)]
    FILE.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
