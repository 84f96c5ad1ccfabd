"""Pictures of results. Matplotlib is loaded when a picture is drawn, not before."""

from __future__ import annotations

from importlib import import_module

from polypath.cli.errors import UserError
from polypath.cli.output import Document, check_writable

FORMATS = (".png", ".svg", ".pdf")


def check_picture(target: str | None) -> None:
    """Refuse a picture that cannot be written, before any work is done for it."""
    if target is None:
        return
    if _suffix(target) not in FORMATS:
        raise UserError(
            f"picture '{target}' has no known format",
            f"the formats are {', '.join(FORMATS)}",
            "End its name with one of them.",
        )
    check_writable(target)


def write_machine(machine: Document, target: str | None, simulated: bool) -> None:
    """Draw the places and hops of a machine, schema polypath.machine/1."""
    _write(target, "machine", machine, simulated)


def write_timeline(plan: Document, target: str | None) -> None:
    """Draw when each chunk of a plan is on which hop, schema polypath.plan/1."""
    _write(target, "timeline", plan)


def write_curves(bench: Document, target: str | None) -> None:
    """Draw bandwidth and speed-up, schema polypath.bench/1: over size, or as maps of all pairs."""
    _write(target, "pairs" if bench.get("all_pairs") else "curves", bench)


def write_collective_curves(bench: Document, target: str | None) -> None:
    """Draw bus bandwidth over size, a line for each algorithm."""
    _write(target, "collectives", bench)


def write_times(plan: Document, target: str | None) -> None:
    """Draw what transfers that start together take, or what each algorithm of a collective does."""
    _write(target, "bars", plan)


def write_jacobi_curves(bench: Document, target: str | None) -> None:
    """Draw the time of an iteration and speed-up over the halo's size, a line per way."""
    _write(target, "jacobi", bench)


def write_calibration(calibration: Document, target: str | None) -> None:
    """Draw measured numbers beside nominal ones, schema polypath.calibration/1."""
    _write(target, "calibration", calibration)


def write_mpi_curves(bench: Document, target: str | None) -> None:
    """Draw bandwidth and speed-up of MPI messages, one column per operation."""
    _write(target, "mpi", bench)


def _write(target: str | None, name: str, document: Document, *more: object) -> None:
    """Draw what the module of that name here draws, if it is wanted."""
    if not target:
        return
    import logging

    # It warns of a home that it cannot write to, and of the fonts that it looks for the first time.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from polypath.cli.result_files import write_file

    picture = import_module(f"polypath.cli.plots.{name}").draw
    write_file(target, picture(document, _suffix(target)[1:], *more))


def _suffix(target: str) -> str:
    from pathlib import PurePath

    return PurePath(target).suffix.lower()
