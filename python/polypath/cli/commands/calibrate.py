"""`polypath calibrate`."""

from __future__ import annotations

from rich.console import Console

from polypath import reports
from polypath.cli.caches import cache_folder, check_cache_folder
from polypath.cli.calibration_tables import calibration_table, missing_text
from polypath.cli.machine_choice import named_machine
from polypath.cli.options import (
    CalibratedOption,
    CsvOption,
    JsonOption,
    PlotOption,
    SubjectOption,
)
from polypath.cli.output import Document, progress_bar, write_json
from polypath.cli.plots import write_calibration
from polypath.cli.results import Results
from polypath.cli.tables import heading


def calibrate(
    machine: SubjectOption = None,
    output: CalibratedOption = None,
    json_target: JsonOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
) -> None:
    """Measure every number of a machine, and show it beside the nominal one."""
    results = Results(json_target, csv, plot, output).checked()
    name = named_machine(machine)
    # Before minutes of measuring, whose result would have nowhere to go.
    check_cache_folder("no calibration can be kept", cache_folder("calibrations"))
    with progress_bar(f"calibrate {name or 'this computer'}") as progress:
        document = reports.calibrate(name, progress=progress)
    calibrated = document.pop("calibrated")
    results.write(document)
    write_json(calibrated, output)
    write_calibration(document, plot)
    _show(results.console(), document)


def _show(console: Console, calibration: Document) -> None:
    simulated = " (simulated)" if calibration["driver"] == "sim" else ""
    heading(console, f"{calibration['machine']}{simulated}: measured beside nominal")
    console.print(calibration_table(calibration["numbers"]))
    console.print(f"{missing_text(calibration)}\nKept in {calibration['file']}", soft_wrap=True)
