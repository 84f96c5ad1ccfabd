"""osu_bw and osu_bibw: windows 1 to 64, two and three paths and the host, streams and graphs."""

from __future__ import annotations

from polypath.cli.papers.findings import Bench, Outcome, Plot, Result, Row, doubling, speedups
from polypath.cli.papers.put import GPUS
from polypath.cli.papers.sources import FRAMEWORK, GRAPHS, MODEL

WINDOWS = (1, 4, 16, 64)
SIZES = doubling(2, 512)
MIDDLE = doubling(8, 64)
MACHINES = ("beluga", "narval")
# Both directions go through the first host: on narval each GPU has a host memory of its own.
PATHS = {"2 paths": GPUS[:2], "3 paths": GPUS, "3 paths and host": [*GPUS, "host0"]}


def run(bench: Bench) -> Outcome:
    """Reproduce the bandwidths one way and both ways."""
    outcome = Outcome()
    for machine in MACHINES:
        outcome.rows.append(_grows_with_the_window(bench, machine))
        outcome.rows.append(_host_hurts_both_ways(bench, machine))
        for operation in ("bw", "bibw"):
            for executor in ("stream", "graph"):
                outcome.plots.append(_plot(bench, operation, machine, executor))
    outcome.rows.append(_narval_gains_less(bench))
    return outcome


def _measure(
    bench: Bench, operation: str, machine: str, window: int, paths: str, executor: str = "graph"
) -> list[Result]:
    how = {"window": window, "paths": PATHS[paths], "executor": executor}
    return bench.copies(operation, machine, SIZES, **how)


def _mean_gain(results: list[Result]) -> float:
    middle = [result["speedup"] for result in results if result["bytes"] in MIDDLE]
    return float(sum(middle) / len(middle))


def _grows_with_the_window(bench: Bench, machine: str) -> Row:
    gains = [
        _mean_gain(_measure(bench, "bw", machine, window, "3 paths")) for window in WINDOWS[:3]
    ]
    return Row(
        (FRAMEWORK, GRAPHS),
        "osu_bw: the gain at 8 to 64 MiB grows with the window (1, 4, 16)",
        machine,
        "it grows",
        None,
        ", ".join(f"{gain:.2f}" for gain in gains),
        "What starts and ends a transfer is hidden behind the one before; copies of one window "
        "are in one stream here and begin one after another, so that the last steps are small.",
        f"polypath bench bw --machine {machine} --sizes 8M:64M --window 16 "
        "--paths direct,gpu2,gpu3 --executor graph",
        holds=gains == sorted(gains) and gains[-1] > gains[0],
    )


def _narval_gains_less(bench: Bench) -> Row:
    beluga, narval = (
        _mean_gain(_measure(bench, "bw", machine, 1, "3 paths")) for machine in MACHINES
    )
    return Row(
        (FRAMEWORK, GRAPHS),
        "osu_bw, window 1: Narval gains less than Beluga",
        "narval",
        "less",
        None,
        f"{narval:.2f} and {beluga:.2f}",
        "Faster links end sooner, so that latencies and calls weigh more (mean of 8 to 64 MiB).",
        "polypath bench bw --machine narval --sizes 8M:64M --paths direct,gpu2,gpu3 "
        "--executor graph",
        holds=narval < beluga,
    )


def _host_hurts_both_ways(bench: Bench, machine: str) -> Row:
    with_host, without = (
        _measure(bench, "bibw", machine, 16, paths)[-1]["speedup"]
        for paths in ("3 paths and host", "3 paths")
    )
    automatic = bench.copies("bibw", machine, SIZES, window=16)[-1]["speedup"]
    return Row(
        (FRAMEWORK, GRAPHS, MODEL),
        "osu_bibw, window 16: with the host path worse than without",
        machine,
        "worse",
        None,
        f"{with_host:.2f} with, {without:.2f} without",
        f"Both directions meet in the PCIe links and in host0's memory. Shares are the papers', "
        f"which know nothing of that; the automatic plan gains {automatic:.2f} (512 MiB).",
        f"polypath bench bibw --machine {machine} --sizes 512M --window 16 "
        "--paths direct,gpu2,gpu3,host0 --executor graph",
        holds=with_host < without,
    )


def _plot(bench: Bench, operation: str, machine: str, executor: str) -> Plot:
    curves = tuple(
        speedups(
            f"{paths}, window {window}",
            _measure(bench, operation, machine, window, paths, executor),
        )
        for paths in PATHS
        for window in WINDOWS
    )
    title = f"osu_{operation} on {machine}, {executor}s"
    return Plot(title, "speed-up over native copies", curves)
