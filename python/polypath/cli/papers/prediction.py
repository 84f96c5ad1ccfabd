"""Predicted, dynamic and statically tuned bandwidths, and what a prediction costs (2025)."""

from __future__ import annotations

import time
from statistics import mean, median

import polypath
from polypath import reports
from polypath.cli.papers.findings import Bench, Curve, Outcome, Plot, Result, Row, doubling
from polypath.cli.papers.put import ALL, GPUS
from polypath.cli.papers.sources import MODEL

SIZES = doubling(8, 512)
TUNED = [8 << 20, 64 << 20, 512 << 20]
MACHINES = ("beluga", "narval")
PATHS = (GPUS[:2], GPUS, ALL)
WINDOWS = (1, 16)
CALLS = 200  # plans asked for, of which the median counts


def run(bench: Bench) -> Outcome:
    """Reproduce the errors of the model, and its cost."""
    outcome = Outcome()
    for machine in MACHINES:
        outcome.rows.append(_error(bench, machine, "bw", PATHS, 6, "one way"))
        outcome.rows.append(_error(bench, machine, "bibw", PATHS[:2], 8, "both ways, no host"))
        outcome.plots.append(_side_by_side(bench, machine))
        outcome.rows.append(_cost(machine))
        bench.progress()
    return outcome


def _error(
    bench: Bench, machine: str, operation: str, paths: tuple[list[str], ...], bound: int, way: str
) -> Row:
    results: list[Result] = []
    for window in WINDOWS:
        for each in paths:
            how = {"window": window, "paths": each, "executor": "stream"}
            results += bench.copies(operation, machine, SIZES, **how)
    error = mean(abs(result["predicted_seconds"] / result["seconds"] - 1) for result in results)
    return Row(
        (MODEL,),
        f"mean error of the prediction, {way}, above 4 MiB",
        machine,
        f"{'<' if bound == 6 else 'about'} {bound} %",
        error,
        f"{100 * error:.2f} %",
        "Simulated: prediction and simulator share their arithmetic, so this checks the code, not "
        "the machine. On real GPUs `polypath paper --real` has the error.",
        f"polypath bench {operation} --machine {machine} --sizes 8M:512M --window 16 "
        "--paths direct,gpu2,gpu3 --executor stream",
        paper=bound / 100,
        at_most=True,
    )


def _side_by_side(bench: Bench, machine: str) -> Plot:
    dynamic = bench.copies("bw", machine, SIZES, executor="stream")
    tuned = reports.tune(
        TUNED, pairs=[("gpu0", "gpu1")], machine=machine, executors=["stream"]
    )["entries"]  # fmt: skip
    bench.progress()
    native = {result["bytes"]: result["native_bytes_per_second"] / 1e9 for result in dynamic}
    curves = (
        Curve("predicted", tuple((r["bytes"], _rate(r, r["predicted_seconds"])) for r in dynamic)),
        Curve("dynamic", tuple((r["bytes"], _rate(r, r["seconds"])) for r in dynamic)),
        Curve(
            "static, tuned",
            tuple((e["bytes"], round(e["speedup"] * native[e["bytes"]], 2)) for e in tuned),
        ),
        Curve("direct path", tuple((size, round(rate, 2)) for size, rate in native.items())),
    )
    return Plot(f"predicted, dynamic and tuned on {machine}", "GB/s", curves)


def _rate(result: Result, seconds: float) -> float:
    return round(float(result["bytes"]) / seconds / 1e9, 2)


def _cost(machine: str) -> Row:
    with polypath.Context(machine) as context:
        plan = context.plan("gpu0", "gpu1", TUNED[-1])
        taken = []
        for _ in range(CALLS):
            start = time.perf_counter()
            context.plan("gpu0", "gpu1", TUNED[-1])
            taken.append(time.perf_counter() - start)
    part = median(taken) / plan["predicted_seconds"]
    return Row(
        (MODEL,),
        "cost of the model at run time, of a transfer of 512 MiB",
        machine,
        "< 0.1 %",
        part,
        f"{100 * part:.2f} %",
        "Real time of this computer: a plan that is known, through Python and JSON, over the "
        "transfer's predicted time. The copies themselves ask in C++, below a microsecond "
        "(benchmarks/).",
        "make bench",
        paper=0.001,
        at_most=True,
    )
