"""`polypath bench OP [SRC DST]`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from rich.console import Console

from polypath import _core, reports
from polypath.cli.arguments import ALL_PAIRS, check_range, overrides, pair, pair_or_all
from polypath.cli.collective_options import (
    AlgorithmsOption,
    AnyOrderOption,
    InPlaceOption,
    NodesOption,
    ReductionOption,
    RootOption,
    TypeOption,
    collective_choices,
    collective_options,
    refuse,
)
from polypath.cli.collective_tables import show_collective_bench
from polypath.cli.command_line import add_command
from polypath.cli.declared import Argument
from polypath.cli.errors import UserError
from polypath.cli.jacobi_options import SIZES as SIZES_OF_HALOS
from polypath.cli.jacobi_options import (
    IterationsOption,
    KernelEfficiencyOption,
    RowsOption,
    jacobi_choices,
    jacobi_options,
    parse_halos,
)
from polypath.cli.jacobi_tables import show_jacobi_bench
from polypath.cli.machine_choice import choose_machine
from polypath.cli.notices import notice
from polypath.cli.options import (
    ChunksOption,
    CsvOption,
    ExecutorOption,
    FirstGpusOption,
    JsonOption,
    MachineOption,
    OptionalDestination,
    PathsOption,
    PiecesOption,
    PlotOption,
    SharesOption,
    SizesOption,
    SourceOrAll,
    VerifyOption,
    WindowOption,
)
from polypath.cli.output import (
    Document,
    progress_bar,
)
from polypath.cli.pair_matrix import show_all_pairs
from polypath.cli.plan_words import is_collective
from polypath.cli.plots import (
    write_collective_curves,
    write_curves,
    write_jacobi_curves,
)
from polypath.cli.provenance import scatter_text
from polypath.cli.results import Results
from polypath.cli.sizes import parse_sizes
from polypath.cli.statuses import RUN_ERROR
from polypath.cli.suggestions import did_you_mean
from polypath.cli.tables import WIDE, bench_table, heading, latency_table, shares_text
from polypath.cli.units import PATTERNS, lanes_text, size_text

# The operations, each with the places it runs between unless others are named.
PLACES = {
    "put": ("gpu0", "gpu1"),
    "bw": ("gpu0", "gpu1"),
    "bibw": ("gpu0", "gpu1"),
    "latency": ("gpu0", "gpu1"),
    "mbw": ("gpu0", "gpu1"),
    "h2d": ("host", "gpu0"),
    "d2h": ("gpu0", "host"),
    "pageable": ("host", "gpu0"),
    "many": ("host", "gpu0"),
    **dict.fromkeys(PATTERNS, ("gpu0", "gpu1")),
}
CALLS = {"load": ("host", "gpu0"), "blocks": ("host", "gpu0")}  # of the Python package
OVER_ALL_GPUS = ("mbw", *PATTERNS)  # whose places would be ignored
JACOBI = "jacobi"
OPERATIONS = tuple(dict.fromkeys((*PLACES, *CALLS, *_core.collectives(), JACOBI)))
SIZES = "1M:512M"
SIZES_OF_PAIRS = "64M"  # of all pairs, unless others are named: dozens of pairs
SIZES_OF_BLOCKS = "16K:1M"  # of `many` and `blocks`, unless others are named: hundreds are copied
SIZES_OF_FILES = "1G"  # of `load`, unless others are named
MOST_IN_FLIGHT, MOST_PIECES = 1024, 65536
PLANNED = ("window", "executor", "paths", "shares", "chunks")  # options, as overrides has them
OWN_COMMANDS = ("weights", "mpi")  # they measure something else, with other options


def _write(results: Results, document: Document) -> None:
    """Write what was measured, with the command that measures it again."""
    add_command(document)
    results.write(document)


def bench(
    operation: Annotated[str, Argument(metavar="OP", help=f"One of {', '.join(OPERATIONS)}.")],
    source: SourceOrAll = None,
    destination: OptionalDestination = None,
    machine: MachineOption = None,
    sizes: SizesOption = SIZES,
    window: WindowOption = None,
    pieces: PiecesOption = None,
    executor: ExecutorOption = "auto",
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
    gpus: FirstGpusOption = None,
    rows: RowsOption = None,
    iterations: IterationsOption = None,
    kernel_efficiency: KernelEfficiencyOption = None,
    json_target: JsonOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
    verify: VerifyOption = True,
) -> None:
    """Measure an operation over a range of sizes, and native copies for comparison."""
    refuse_own_command(operation)
    results = Results(json_target, csv, plot).checked()
    chosen = collective_options(algorithms, element, reduction, root, in_place, any_order, nodes)
    of_jacobi = jacobi_options(rows, iterations, kernel_efficiency)
    collective = is_collective(operation, algorithms is not None)
    _refuse_options_of_others(operation, collective, chosen, of_jacobi)
    if operation == JACOBI:
        _refuse_options_of_copies(operation, source, pieces, shares, chunks, window)
        choices = jacobi_choices(executor, paths, gpus, of_jacobi) | {"verify": verify}
        bench_jacobi(sizes, machine, results, choices)
        return
    if collective:
        _refuse_options_of_copies(operation, source, pieces, shares, chunks, window)
        choices = collective_choices(operation, executor, paths, gpus, chosen) | {"verify": verify}
        bench_collective(operation, parse_sizes(sizes), machine, results, choices)
        return
    _check_copies(operation, source, window, pieces, gpus)
    how = overrides(executor, paths, shares, chunks)
    how |= {"window": window, "pieces": pieces, "verify": verify}
    measure = bench_calls if operation in CALLS else bench_copies
    measure(operation, (source, destination), sizes, machine, results, how)


def bench_copies(
    operation: str,
    places: tuple[str | None, str | None],
    sizes: str,
    machine: str | None,
    results: Results,
    how: Document,
) -> None:
    """Measure copies, write them, draw them and show them."""
    how |= {"window": how["window"] or 1}
    ends = pair_or_all(*places) or default_places(operation)
    choice = choose_machine(machine)
    if sizes == SIZES:  # the default
        sizes = SIZES_OF_BLOCKS if operation == "many" else sizes
        sizes = SIZES_OF_PAIRS if ends[0] == ALL_PAIRS else sizes
    numbers = parse_sizes(sizes)
    document = run_bench(operation, *ends, numbers, machine=choice.name, **how)
    _write(results, document)
    write_curves(document, results.plot)
    choice.announce()
    show = show_all_pairs if document.get("all_pairs") else show_bench
    show(results.console(), document)
    check_verified(document, how["verify"])


def _refuse_options_of_others(
    operation: str, collective: bool, chosen: Document, of_jacobi: Document
) -> None:
    if not collective:
        refuse(chosen, "it is for collectives")
    if operation != JACOBI:
        refuse(of_jacobi, "it is for jacobi")


def _refuse_plans(operation: str, how: Document, plot: str | None) -> None:
    """Refuse what says how copies are planned, for a call of the Python package."""
    given = {f"--{name}": how.get(name) for name in PLANNED} | {"--plot": plot}
    given["--executor"] = None if given["--executor"] == "auto" else given["--executor"]
    refuse(given, f"{operation} is planned as a program's call is")


def _refuse_options_of_copies(operation: str, source: str | None, *values: Any) -> None:
    _refuse_places(operation, source)
    names = ("--pieces", "--shares", "--chunks", "--window")
    refuse(dict(zip(names, values)), "it is for copies")


def _refuse_places(operation: str, source: str | None) -> None:
    if source is not None:
        raise UserError(
            f"{operation} between named places cannot be measured",
            f"{operation} is over all GPUs",
            "Leave the places out; --gpus COUNT takes the first GPUs only.",
        )


def _check_copies(
    operation: str, source: str | None, window: int | None, pieces: int | None, gpus: int | None
) -> None:
    refuse({"--gpus": gpus}, "it is for collectives and jacobi")
    check_range("--window", window, 1, MOST_IN_FLIGHT)
    check_range("--pieces", pieces, 1, MOST_PIECES)
    if source is not None and operation in OVER_ALL_GPUS:
        raise UserError(
            f"{operation} between named places cannot be measured",
            f"{operation} is over all GPUs",
            "Leave the places out, or measure put between them.",
        )


def bench_collective(
    collective: str,
    sizes: list[int],
    machine: str | None,
    results: Results,
    choices: Document,
) -> None:
    """Measure a collective, write it and show it."""
    choice = choose_machine(machine)
    with progress_bar(f"{collective} on {choice.name or 'the GPUs'}") as progress:
        document = reports.collective_bench(
            collective, sizes, machine=choice.name, progress=progress, **choices
        )
    _write(results, document)
    write_collective_curves(document, results.plot)
    choice.announce()
    show_collective_bench(results.console(), document)
    check_verified(document, choices["verify"])


def bench_calls(
    operation: str,
    places: tuple[str | None, str | None],
    sizes: str,
    machine: str | None,
    results: Results,
    how: Document,
) -> None:
    """Measure a call of the Python package, write it and show it."""
    from polypath.cli.commands import bench_calls as calls

    _refuse_plans(operation, how, results.plot)
    ends = pair(*places) or CALLS[operation]
    choice = choose_machine(machine)
    if operation == "blocks":
        numbers = parse_sizes(SIZES_OF_BLOCKS if sizes == SIZES else sizes)
        document = calls.blocks_document(ends, numbers, choice.name, how["pieces"])
    else:
        refuse({"--pieces": how["pieces"]}, "it is for many and blocks")
        numbers = parse_sizes(SIZES_OF_FILES if sizes == SIZES else sizes)
        document = calls.load_document(ends, numbers, choice.name)
    _write(results, document)
    choice.announce()
    calls.show_calls(results.console(), document)
    check_verified(document, how["verify"])


def bench_jacobi(
    sizes: str,
    machine: str | None,
    results: Results,
    choices: Document,
) -> None:
    """Measure a Jacobi solver, write it, draw it and show it."""
    choice = choose_machine(machine)
    halos = parse_halos(SIZES_OF_HALOS if sizes == SIZES else sizes)
    with progress_bar(f"jacobi on {choice.name or 'the GPUs'}") as progress:
        document = reports.jacobi_bench(halos, machine=choice.name, progress=progress, **choices)
    _write(results, document)
    write_jacobi_curves(document, results.plot)
    choice.announce()
    show_jacobi_bench(results.console(), document)
    check_verified(document, choices["verify"])


def refuse_own_command(operation: str) -> None:
    """Refuse the name of another command."""
    if operation in OWN_COMMANDS:
        raise UserError(
            f"{operation} is no operation of bench",
            "it is a command of its own, with options of its own",
            f"Write: polypath {operation}.",
        )


def default_places(operation: str) -> tuple[str, str]:
    """Return the places an operation runs between by default; refuse one that there is not."""
    if operation in PLACES:
        return PLACES[operation]
    refuse_own_command(operation)
    raise UserError(
        f"operation '{operation}' is unknown",
        f"the operations are {', '.join(OPERATIONS)}",
        f"Name one of them.{did_you_mean(operation, OPERATIONS)}",
    )


def run_bench(
    operation: str,
    source: str,
    destination: str,
    sizes: list[int],
    *,
    machine: str = "",
    **options: Any,
) -> Document:
    """Run a benchmark under a progress bar; return what reports.bench does with these options."""
    with progress_bar(f"{operation} on {machine or 'the GPUs'}") as progress:
        return reports.bench(
            operation, source, destination, sizes, machine=machine, progress=progress, **options
        )


def show_bench(console: Console, bench: Document) -> None:
    """Print measurements as a table."""
    results = bench["results"]
    heading(
        console,
        f"{bench['machine']} ({_driver_text(bench)}): {lanes_text(bench)}, "
        f"window {results[0]['window']}",
    )
    wide = console.width >= WIDE
    is_latency = bench["operation"] == "latency"
    console.print((latency_table if is_latency else bench_table)(results, wide))
    console.print()
    if not wide:
        last = results[-1]
        console.print(f"Shares at {size_text(last['bytes'])}: {shares_text(last['paths'])}.")
    unit = "Times are of one way" if is_latency else "GB/s are 1e9 bytes/s"
    console.print(f"{unit}; model: how far the predicted time is off.")
    console.print(scatter_text(bench))


def _driver_text(bench: Document) -> str:
    return "simulated" if bench["driver"] == "sim" else "on the GPUs"


def check_verified(bench: Document, wanted: bool) -> None:
    """End with an error if a transfer was to be verified and was not right."""
    sizes = [size_text(result["bytes"]) for result in bench["results"] if not result["verified"]]
    wrong = dict.fromkeys(sizes)  # once, of however many pairs
    if wanted and wrong:
        notice(f"wrong bytes at {', '.join(wrong)} (compared with the source) This is a bug.")
        sys.exit(RUN_ERROR)
