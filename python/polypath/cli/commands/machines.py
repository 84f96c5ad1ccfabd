"""`polypath machines`."""

from __future__ import annotations

from polypath import reports
from polypath.cli.options import JsonOption
from polypath.cli.output import check_writable, console_for, write_json
from polypath.cli.tables import machines_table


def machines(json_target: JsonOption = None) -> None:
    """List the machines that come along."""
    check_writable(json_target)
    listed = reports.machines()
    write_json({"schema": "polypath.machines/1", "machines": listed}, json_target)
    console = console_for(json_target)
    console.print(machines_table(listed))
    console.print("\nAny other: --machine FILE.json, or synthetic:SEED for a random one.")
