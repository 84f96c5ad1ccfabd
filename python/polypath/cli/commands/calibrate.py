"""`polypath calibrate`."""

from __future__ import annotations

import json

from polypath import _core
from polypath.cli.arguments import (
    CalibratedOption,
    JsonOption,
    PlotOption,
    SubjectOption,
    named_machine,
)
from polypath.cli.calibration_tables import calibration_table, missing_text
from polypath.cli.output import STDOUT, check_writable, console_for, progress_bar, write_json
from polypath.cli.plots import check_picture, write_calibration
from polypath.cli.tables import heading


def calibrate(
    machine: SubjectOption = None,
    output: CalibratedOption = None,
    json_target: JsonOption = None,
    plot: PlotOption = None,
) -> None:
    """Measure every number of a machine, and show it beside the nominal one."""
    check_writable(json_target)
    check_writable(output)
    check_picture(plot)
    name = named_machine(machine)
    with progress_bar(f"calibrate {name or 'this computer'}") as progress:
        document = json.loads(_core.calibrate(name, progress))
    calibrated = document.pop("calibrated")
    write_json(document, json_target)
    write_json(calibrated, output)
    write_calibration(document, plot)
    console = console_for(STDOUT if STDOUT in (json_target, output) else None)
    simulated = " (simulated)" if document["driver"] == "sim" else ""
    heading(console, f"{document['machine']}{simulated}: measured beside nominal")
    console.print(calibration_table(document["numbers"]))
    console.print(f"{missing_text(document)}\nKept in {document['file']}", soft_wrap=True)
