"""`polypath machines`."""

from __future__ import annotations

from polypath import reports
from polypath.cli.options import CsvOption, JsonOption
from polypath.cli.results import Results
from polypath.cli.tables import machines_table


def machines(json_target: JsonOption = None, csv: CsvOption = None) -> None:
    """List the machines that come along."""
    results = Results(json_target, csv).checked()
    listed = reports.machines()
    results.write({"schema": "polypath.machines/1", "machines": listed})
    console = results.console()
    console.print(machines_table(listed))
    console.print("\nAny other: --machine FILE.json, or synthetic:SEED for a random one.")
