"""`polypath run -- COMMAND...`."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
import sys
from dataclasses import replace
from functools import partial
from typing import Annotated, Optional

from polypath.cli import handover
from polypath.cli.arguments import choice
from polypath.cli.collective_options import refuse
from polypath.cli.declared import Argument, Option
from polypath.cli.launches import launch_of, say_not_run
from polypath.cli.output import STDOUT, check_different, check_writable, console_for
from polypath.cli.results import Results
from polypath.cli.run_counts import VARIABLE as COUNTS
from polypath.cli.run_counts import counts_of_processes
from polypath.cli.run_report import nccl_table, report_of, report_table, rest_text, why_not_text
from polypath.cli.sentences import Sentence
from polypath.cli.supervised_run import folder_beside, run_with_folder
from polypath.launching import NOT_EXECUTABLE, WAYS, Launch

_PREPARE = "POLYPATH_PREPARE"
_TIMES = ("auto", "now", "never")


def run(
    command: Annotated[list[str], Argument(metavar="COMMAND...", help="What to run.")],
    how: Annotated[str, Option("--how", metavar="WAY", help=f"One of {', '.join(WAYS)}.")] = "auto",
    quiet: Annotated[
        bool, Option("--quiet", "-q", help="Say nothing but what goes wrong.")
    ] = False,
    report: Annotated[
        Optional[str],
        Option(
            "--report",
            metavar="FILE",
            help="Write what became of its copies as JSON; - for stdout.",
        ),
    ] = None,
    csv: Annotated[
        Optional[str],
        Option(
            "--csv",
            metavar="FILE",
            help="The same as CSV, a row per process and outcome; - for stdout.",
        ),
    ] = None,
    prepare: Annotated[
        Optional[str],
        Option(
            "--prepare",
            metavar="WHEN",
            help="When contexts and memory for copies are made: auto, in the background, as soon "
            "as it pays; now, in the first copy; never: copies stay native. 'polypath info' says "
            "what it costs.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show the command instead of running it.")
    ] = False,
) -> None:
    """Run an unchanged program, its large copies over every path that helps."""
    _check_files(report, csv, dry_run)
    added = {} if prepare is None else {_PREPARE: choice("time", prepare, _TIMES)}
    around = {**handover.environment(), **added}
    if report is None and csv is None:
        launch = launch_of(command, how, around, quiet, dry_run)
        launch = replace(launch, environment={**added, **launch.environment})
        if dry_run:
            print(launch.shell_line())
            return
        _become(launch)
    else:
        sys.exit(_run_and_report(command, how, around, Results(report, csv), quiet))


def _check_files(report: Optional[str], csv: Optional[str], dry_run: bool) -> None:
    for target in (report, csv):
        check_writable(target)
    check_different(report=report, csv=csv)
    if dry_run:
        refuse({"--report": report, "--csv": csv}, "--dry-run runs nothing")


def _run_and_report(
    command: list[str], how: str, around: dict[str, str], results: Results, quiet: bool
) -> int:
    """Run the command, and write what became of the copies of all its processes."""
    files = (each for each in (results.json, results.csv) if each not in (None, STDOUT))
    folder = folder_beside(next(files, None), "report")
    around["POLYPATH_STATS"] = folder
    with counts_of_processes() as counts:
        around |= {COUNTS: counts.value} if counts is not None else {}
        launch = launch_of(command, how, around, quiet)
        ended = run_with_folder(launch, around, folder, partial(report_of, launch, folder, counts))
    if ended is None:
        return NOT_EXECUTABLE
    status, document = ended
    results.write(document)
    if not quiet:
        console = console_for(STDOUT)  # stderr: stdout is the program's
        if any(each["driver_open"] or each["calls"] for each in document["processes"]):
            console.print(report_table(document))
        if table := nccl_table(document):
            console.print(table)
        for text in (why_not_text(document), rest_text(document)):
            if text:
                console.print(Sentence(text))
    return status


def _become(launch: Launch) -> None:
    """Go on as the command: its exit status, signals and terminal are its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    around = {**handover.environment(), **launch.environment}
    say_not_run(launch.arguments[0], handover.become(list(launch.arguments), around))
    sys.exit(NOT_EXECUTABLE)
