"""What of the papers' experiments this computer's GPUs allow: `polypath paper --real`."""

from __future__ import annotations

from statistics import mean

from polypath import _core, reports
from polypath.cli.errors import UserError
from polypath.cli.papers.findings import (
    Bench,
    Curve,
    Outcome,
    Plot,
    Result,
    Row,
    best,
    doubling,
    speedups,
)
from polypath.cli.papers.graph_phases import phases
from polypath.cli.papers.sources import GRAPHS, INTERCONNECT, MODEL

SIZES = doubling(1, 512)
HOST = ["direct", "host"]


def check_gpus() -> None:
    """Refuse where there are fewer than two GPUs to measure."""
    real, note = _core.chosen()
    if not real:
        raise UserError(
            "nothing real can be measured here",
            "there is no GPU to drive here"
            if note
            else "POLYPATH_MACHINE names a simulated machine",
            "Run it on a computer with two GPUs, or leave --real out.",
        )
    gpus = [place for place in reports.machine()["places"] if place["kind"] == "gpu"]
    if len(gpus) < 2:
        raise UserError(
            "nothing real can be measured here",
            "put needs two GPUs and there is one",
            "Run it on a computer with two GPUs, or leave --real out.",
        )


def run(bench: Bench) -> Outcome:
    """Measure put and both ways, over the host path too, and the phases of graphs."""
    outcome = Outcome()
    for operation in ("put", "bibw"):
        automatic = bench.copies(operation, "", SIZES)
        forced = bench.copies(operation, "", SIZES, paths=HOST)
        outcome.rows += [_gain(operation, automatic, forced), _error(operation, automatic)]
        curves = (speedups("automatic", automatic), speedups("direct and host", forced))
        outcome.plots.append(Plot(f"{operation} on this computer", "speed-up", curves))
        outcome.plots.append(_rates(operation, automatic))
    outcome.plots.append(phases(""))
    return outcome


def _gain(operation: str, automatic: list[Result], forced: list[Result]) -> Row:
    found, over_host = best(automatic), forced[-1]["speedup"]
    return Row(
        (INTERCONNECT, GRAPHS),
        f"{operation}: automatic, and direct with the host at 512 MiB",
        "this computer",
        "other GPUs",
        None,
        f"{found['speedup']:.2f}x and {over_host:.2f}x",
        "Measured; the papers' machines are others, so that nothing is compared.",
        f"polypath bench {operation} --sizes 1M:512M",
        holds=found["speedup"] >= 0.98,
    )


def _error(operation: str, results: list[Result]) -> Row:
    large = [result for result in results if result["bytes"] > 4 << 20]
    error = mean(abs(r["predicted_seconds"] / r["seconds"] - 1) for r in large)
    bound = 0.06 if operation == "put" else 0.08
    return Row(
        (MODEL,),
        f"mean error of the prediction above 4 MiB, {operation}",
        "this computer",
        f"{100 * bound:.0f} %",
        error,
        f"{100 * error:.1f} %",
        "Measured against predicted, with the machine as calibrated if it has been.",
        f"polypath bench {operation} --sizes 8M:512M",
        paper=bound,
        at_most=True,
    )


def _rates(operation: str, results: list[Result]) -> Plot:
    def curve(name: str, key: str) -> Curve:
        return Curve(name, tuple((r["bytes"], round(r[key] / 1e9, 2)) for r in results))

    curves = (
        curve("automatic", "bytes_per_second"), curve("native", "native_bytes_per_second"),
    )  # fmt: skip
    return Plot(f"{operation} on this computer, rates", "GB/s", curves)
