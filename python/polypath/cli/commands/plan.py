"""`polypath plan`: of one transfer, of several, of a pattern, or of a collective."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

from rich.console import Console

from polypath import reports
from polypath.cli.arguments import joint_choices, overrides
from polypath.cli.collective_options import (
    AlgorithmsOption,
    AnyOrderOption,
    CountsOption,
    InPlaceOption,
    NodesOption,
    ReductionOption,
    RootOption,
    TypeOption,
    collective_choices,
    collective_options,
    refuse,
)
from polypath.cli.collective_tables import show_collective_plan
from polypath.cli.joint_tables import show_joint_plan
from polypath.cli.machine_choice import choose_machine
from polypath.cli.options import (
    ChunksOption,
    CsvOption,
    ExecutorOption,
    ExplainOption,
    GpusOption,
    IssuersOption,
    JsonOption,
    MachineOption,
    PathsOption,
    PlanWords,
    PlotOption,
    SharesOption,
)
from polypath.cli.output import Document
from polypath.cli.plan_words import (
    Collective,
    OneTransfer,
    Pattern,
    SeveralTransfers,
    read_words,
)
from polypath.cli.plots import write_timeline, write_times
from polypath.cli.results import Results
from polypath.cli.sentences import Sentence
from polypath.cli.sizes import parse_size
from polypath.cli.tables import heading, paths_table, reasons_grid
from polypath.cli.units import bandwidth_text, factor_text, size_text, time_text

FOR_COLLECTIVES = "it is for collectives"


def plan(
    words: PlanWords,
    machine: MachineOption = None,
    executor: ExecutorOption = "auto",
    issuers: IssuersOption = None,
    gpus: GpusOption = None,
    paths: PathsOption = None,
    shares: SharesOption = None,
    chunks: ChunksOption = None,
    algorithms: AlgorithmsOption = None,
    element: TypeOption = None,
    reduction: ReductionOption = None,
    root: RootOption = None,
    in_place: InPlaceOption = None,
    any_order: AnyOrderOption = None,
    nodes: NodesOption = None,
    counts: CountsOption = None,
    explain: ExplainOption = False,
    json_target: JsonOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
) -> None:
    """Show what transfers would do, how long they take, and why each path is in or out.

    Several are planned together, to start at the same time: each SRC:DST:SIZE, or a pattern. Of a
    collective it is which algorithm does it, and why.
    """
    results = Results(json_target, csv, plot).checked()
    wanted = read_words(words, by_algorithms=algorithms is not None)
    choice = choose_machine(machine)
    of_collectives = collective_options(
        algorithms, element, reduction, root, in_place, any_order, nodes, counts
    )
    of_one = {"--shares": shares, "--chunks": chunks}
    of_several = {"--issuers": issuers, "--explain": explain or None}
    show: Callable[[Console, Document], None]
    if isinstance(wanted, Collective):
        refuse({**of_one, **of_several}, "it is for transfers")
        fixed = collective_choices(wanted.name, executor, paths, gpus, of_collectives)
        document = reports.collective_plan(wanted.name, wanted.nbytes, machine=choice.name, **fixed)
        show = show_collective_plan
    elif isinstance(wanted, OneTransfer):
        refuse(of_collectives, FOR_COLLECTIVES)
        refuse({**of_several, "--gpus": gpus}, "it is for several transfers")
        document = _plan_of_one(wanted, choice.name, overrides(executor, paths, shares, chunks))
        show = partial(show_plan, simulated=choice.name != "")
    else:
        refuse(of_collectives, FOR_COLLECTIVES)
        refuse({"--paths": paths, **of_one}, "it is for one transfer, SRC DST SIZE")
        document = _joint_plan(wanted, choice.name, gpus, joint_choices(executor, issuers))
        show = partial(show_joint_plan, explain=explain)
    results.write(document)
    _draw(document, plot)
    choice.announce()
    show(results.console(), document)


def _draw(document: Document, plot: str | None) -> None:
    of_one = "transfers" not in document and "algorithms" not in document
    (write_timeline if of_one else write_times)(document, plot)


def _plan_of_one(wanted: OneTransfer, machine: str, fixed: dict[str, Any]) -> Document:
    nbytes = parse_size(wanted.size)
    return reports.plan(wanted.source, wanted.destination, nbytes, machine=machine, **fixed)


def _joint_plan(
    wanted: SeveralTransfers | Pattern, machine: str, gpus: int | None, fixed: dict[str, Any]
) -> Document:
    if isinstance(wanted, Pattern):
        return reports.pattern_plan(wanted.name, wanted.nbytes, gpus=gpus, machine=machine, **fixed)
    refuse({"--gpus": gpus}, "it is for a pattern")
    return reports.joint_plan(wanted.transfers, machine=machine, **fixed)


def show_plan(console: Console, plan: Document, simulated: bool = True) -> None:
    """Print a plan: what it takes, each path's part, and the reasons."""
    pair = f"{plan['source']} -> {plan['destination']}"
    what = "simulated" if simulated else "the GPUs here"
    heading(console, f"{plan['machine']} ({what}): {pair}, {size_text(plan['bytes'])}")
    console.print(Sentence(_verdict(plan)))
    console.print()
    console.print(paths_table(plan))
    if not all(path["included"] for path in plan["paths"]):
        console.print("(in brackets: the whole transfer with that path in use)")
    console.print()
    console.print(reasons_grid(plan))


def _verdict(plan: Document) -> str:
    native, predicted = plan["native_seconds"], plan["predicted_seconds"]
    if plan["executor"] == "native":
        return f"One native copy: {_timing(plan, native)} predicted."
    how = {"stream": "streams", "graph": "a graph"}[plan["executor"]]
    gain = factor_text(native / predicted)
    return (
        f"With {how}: {_timing(plan, predicted)} predicted, {gain} as fast as one native copy "
        f"({_timing(plan, native)})."
    )


def _timing(plan: Document, seconds: float) -> str:
    return f"{time_text(seconds)}, {bandwidth_text(plan['bytes'] / seconds)}"
