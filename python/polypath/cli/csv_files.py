"""Results as comma-separated values: a row per result, for spreadsheets and other programs."""

from __future__ import annotations

import csv
import io
from typing import Any

from polypath.cli.output import Document, write_text

PATHS = "paths"


def write_csv(bench: Document, target: str | None) -> None:
    """Write the results of a benchmark to a file or, for "-", to stdout, if there is a target.

    Columns are the fields of the JSON that have one value; paths are "direct=0.9 host0=0.1". What
    holds for all of them, such as the machine, is in each row.
    """
    if target is None:
        return
    every = {name: bench[name] for name in ("machine", "driver", "operation")}
    rows = [{**every, **_flat(result)} for result in bench["results"]]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    write_text(text.getvalue().replace("\r\n", "\n"), target)


def _flat(result: Document) -> dict[str, Any]:
    flat = {name: value for name, value in result.items() if not isinstance(value, (list, dict))}
    paths = result.get(PATHS)
    if isinstance(paths, list):
        flat[PATHS] = " ".join(f"{path['via']}={path['share']:.6g}" for path in paths)
    return flat
