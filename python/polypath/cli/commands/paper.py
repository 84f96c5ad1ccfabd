"""`polypath paper [EXPERIMENT...]`."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
from functools import partial
from typing import Annotated, List, Optional  # noqa: UP035

from polypath.cli.declared import Argument, Option
from polypath.cli.errors import UserError
from polypath.cli.options import CsvOption, JsonOption
from polypath.cli.output import progress_bar, write_text
from polypath.cli.papers import real as real_gpus
from polypath.cli.papers.document import document_of
from polypath.cli.papers.experiments import NAMES, Experiment, chosen
from polypath.cli.papers.findings import Bench, Outcome
from polypath.cli.papers.page import page_of
from polypath.cli.papers.tables import show
from polypath.cli.results import Results

REAL = Experiment("real", "On this computer's GPUs", real_gpus.run)
Names = Annotated[
    Optional[List[str]],  # noqa: UP006
    Argument(metavar="EXPERIMENT", help=f"Of {', '.join(NAMES)}; all without one."),
]
HtmlOption = Annotated[
    Optional[str],
    Option("--html", metavar="FILE", help="Write a report with plots, one file; - for stdout."),
]
RealOption = Annotated[bool, Option("--real", help="Measure what the GPUs here allow.")]


def paper(
    names: Names = None,
    json_target: JsonOption = None,
    csv: CsvOption = None,
    html: HtmlOption = None,
    real: RealOption = False,
) -> None:
    """Compare the papers' figures with those from here, and say why they differ."""
    results = Results(json_target, csv, html=html).checked()
    experiments = chosen(names or [])
    if real:
        _refuse_names(names)
        real_gpus.check_gpus()
        experiments = (REAL,)
    document = document_of(real, _run(experiments))
    results.write(document)
    write_text(page_of(document) if html else "", html)
    show(results.console(), document)


def _refuse_names(names: Optional[List[str]]) -> None:  # noqa: UP006
    if names:
        raise UserError(
            f"experiment '{names[0]}' cannot be measured with --real",
            "on GPUs there is one set of measurements",
            "Leave out the name, or --real.",
        )


def _run(experiments: tuple[Experiment, ...]) -> list[tuple[str, str, Outcome]]:
    """Run the experiments one after another under a progress bar."""
    outcomes = []
    with progress_bar("the papers' experiments") as progress:
        bench = Bench()
        for number, experiment in enumerate(experiments):
            bench.progress = partial(progress, number, len(experiments))
            bench.progress()
            outcomes.append((experiment.name, experiment.title, experiment.run(bench)))
    return outcomes
