"""`polypath info`."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
import sys
from typing import Annotated, Optional

from rich.console import Console

from polypath import reports
from polypath.cli.calibration_tables import calibration_table, missing_text
from polypath.cli.collective_options import refuse
from polypath.cli.declared import Option
from polypath.cli.learnt_table import learnt_table
from polypath.cli.machine_choice import choose_machine, is_file, named_machine
from polypath.cli.machine_remarks import remarks_on
from polypath.cli.machine_tables import (
    bandwidth_table,
    costs_table,
    driver_table,
    hops_table,
    network_table,
    places_table,
    resources_table,
)
from polypath.cli.options import CsvOption, JsonOption, MachineOption, PlotOption
from polypath.cli.output import Document
from polypath.cli.plots import write_machine
from polypath.cli.results import Results
from polypath.cli.statuses import RUN_ERROR
from polypath.cli.tables import heading, settings_table


def info(
    machine: MachineOption = None,
    settings: Annotated[
        bool, Option("--settings", help="List the POLYPATH_* settings instead.")
    ] = False,
    check: Annotated[
        Optional[str],
        Option("--check", metavar="FILE", help="Say what is wrong or odd about a machine file."),
    ] = None,
    json_target: JsonOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
) -> None:
    """Show a machine: places, hops, what copies share, driver calls and the driver."""
    results = Results(json_target, csv, plot).checked()
    if check is not None:
        of_others = {"--machine": machine, "--settings": settings or None, "--plot": plot}
        refuse({**of_others, "--json": json_target, "--csv": csv}, "--check is of one file")
        _check(check)
        return
    if settings:
        refuse({"--machine": machine, "--plot": plot}, "--settings are of no machine")
        _show_settings(results)
        return
    choice = choose_machine(machine)
    document = reports.machine(choice.name)
    results.write(document)
    write_machine(document, plot, simulated=choice.name != "")
    choice.announce()
    calibration = reports.calibration(choice.name)
    console = results.console()
    _show_machine(console, document, simulated=choice.name != "")
    if calibration:
        _show_calibration(console, calibration)
    if learnt := reports.learnt(choice.name):
        _show_learnt(console, learnt)


def _check(file: str) -> None:
    """Say what is odd about a file that can be read; end with an error if anything is."""
    name = named_machine(file if is_file(file) else f"./{file}")
    remarks = remarks_on(reports.machine(name))
    for remark in remarks:
        print(f"{file}: {remark}")
    if remarks:
        sys.exit(RUN_ERROR)
    print(f"{file}: nothing is wrong or odd.")


def _show_settings(results: Results) -> None:
    settings = reports.settings()
    results.write({"schema": "polypath.settings/1", "settings": settings})
    results.console().print(settings_table(settings))


def _show_calibration(console: Console, calibration: Document) -> None:
    heading(console, "Calibrated: measured beside nominal")
    console.print(calibration_table(calibration["numbers"]))
    console.print(f"{missing_text(calibration)}\nFrom {calibration['file']}", soft_wrap=True)


def _show_learnt(console: Console, learnt: Document) -> None:
    heading(console, "Learnt: what transfers really took")
    console.print(learnt_table(learnt["kinds"]))


def _show_machine(console: Console, machine: Document, simulated: bool) -> None:
    remark = " (simulated)" if simulated else ""
    heading(console, f"{machine['name']}{remark}: {machine['description']}")
    tables = (places_table, bandwidth_table, hops_table, resources_table, costs_table, driver_table)
    for table in tables:
        console.print(table(machine))
        console.print()
    if "network" in machine:
        heading(console, "Between nodes of this kind")
        console.print(network_table(machine["network"]))
        console.print()
