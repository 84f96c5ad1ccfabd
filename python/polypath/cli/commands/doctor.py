"""`polypath doctor`: whether everything is there that makes copies faster, on one page."""

from __future__ import annotations

import sys

from rich.text import Text

from polypath.cli.diagnosis import Finding, diagnose
from polypath.cli.options import CsvOption, JsonOption
from polypath.cli.results import Results
from polypath.cli.sentences import Sentence
from polypath.cli.statuses import RUN_ERROR
from polypath.cli.tables import new_table

_STYLES = {"ok": "green", "missing": "bold red", "note": "yellow"}


def doctor(json_target: JsonOption = None, csv: CsvOption = None) -> None:
    """Look at the library, GPUs, calibration and UCX; say what is missing, and what to do."""
    results = Results(json_target, csv).checked()
    findings = diagnose()
    healthy = all(finding.state != "missing" for finding in findings)
    document = {
        "schema": "polypath.doctor/1",
        "healthy": healthy,
        "findings": [vars(finding) for finding in findings],
    }
    results.write(document)
    console = results.console()
    table = new_table("what", "state", "found")
    for finding in findings:
        table.add_row(
            finding.what, Text(finding.state, style=_STYLES[finding.state]), _text(finding)
        )
    console.print(table)
    if not healthy:
        sys.exit(RUN_ERROR)


def _text(finding: Finding) -> Sentence:
    return Sentence(f"{finding.found} {finding.remedy}".strip())
