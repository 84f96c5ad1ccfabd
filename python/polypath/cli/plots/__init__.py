"""Pictures of results. Matplotlib is loaded when a picture is drawn, not before."""

from __future__ import annotations

import logging
from pathlib import PurePath

from polypath.cli.errors import UserError
from polypath.cli.output import Document, check_different, check_writable, write_file

# It warns of a home that it cannot write to, and of the fonts that it looks for the first time.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

FORMATS = (".png", ".svg", ".pdf")


def check_picture(target: str | None) -> None:
    """Refuse a picture that cannot be written, before any work is done for it."""
    if target is None:
        return
    if PurePath(target).suffix.lower() not in FORMATS:
        raise UserError(
            f"picture '{target}' has no known format",
            f"the formats are {', '.join(FORMATS)}",
            "End its name with one of them.",
        )
    check_writable(target)


def check_results(json_target: str | None, plot: str | None) -> None:
    """Refuse what --json and --plot name if it cannot be written, before any work is done."""
    check_writable(json_target)
    check_picture(plot)
    check_different(json=json_target, plot=plot)


def write_machine(machine: Document, target: str | None, simulated: bool) -> None:
    """Draw the places and hops of a machine, schema polypath.machine/1."""
    if target:
        from polypath.cli.plots.machine import draw

        write_file(target, draw(machine, PurePath(target).suffix[1:].lower(), simulated))


def write_timeline(plan: Document, target: str | None) -> None:
    """Draw when each chunk of a plan is on which hop, schema polypath.plan/1."""
    if target:
        from polypath.cli.plots.timeline import draw

        write_file(target, draw(plan, PurePath(target).suffix[1:].lower()))


def write_curves(bench: Document, target: str | None) -> None:
    """Draw bandwidth and speed-up, schema polypath.bench/1: over size, or as maps of all pairs."""
    if target and bench.get("all_pairs"):
        from polypath.cli.plots.pairs import draw as draw_pairs

        write_file(target, draw_pairs(bench, PurePath(target).suffix[1:].lower()))
    elif target:
        from polypath.cli.plots.curves import draw

        write_file(target, draw(bench, PurePath(target).suffix[1:].lower()))


def write_jacobi_curves(bench: Document, target: str | None) -> None:
    """Draw the time of an iteration and speed-up over the halo's size, a line per way."""
    if target:
        from polypath.cli.plots.jacobi import draw

        write_file(target, draw(bench, PurePath(target).suffix[1:].lower()))


def write_calibration(calibration: Document, target: str | None) -> None:
    """Draw measured numbers beside nominal ones, schema polypath.calibration/1."""
    if target:
        from polypath.cli.plots.calibration import draw

        write_file(target, draw(calibration, PurePath(target).suffix[1:].lower()))


def write_mpi_curves(bench: Document, target: str | None) -> None:
    """Draw bandwidth and speed-up of MPI messages, one column per operation."""
    if target:
        from polypath.cli.plots.mpi import draw

        write_file(target, draw(bench, PurePath(target).suffix[1:].lower()))
