"""Shares θ of the message over its size (2025, figure 4)."""

from __future__ import annotations

from polypath.cli.papers.findings import Bench, Curve, Outcome, Plot, Result, Row, doubling
from polypath.cli.papers.put import ALL, GPUS
from polypath.cli.papers.sources import MODEL

SIZES = doubling(2, 512)
PATHS = (GPUS[:2], GPUS, ALL)


def run(bench: Bench) -> Outcome:
    """Reproduce how much of a message each path carries on Beluga."""
    outcome = Outcome()
    for paths in PATHS:
        results = bench.copies("bw", "beluga", SIZES, executor="stream", paths=paths)
        outcome.plots.append(_plot(paths, results))
    outcome.rows.append(_towards_bandwidths(results))
    return outcome


def _plot(paths: list[str], results: list[Result]) -> Plot:
    carried: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        for path in result["paths"]:
            carried.setdefault(path["via"], []).append((result["bytes"], round(path["share"], 4)))
    curves = tuple(Curve(via, tuple(points)) for via, points in carried.items())
    return Plot(f"shares of {len(paths)} paths, osu_bw on beluga", "share of the message", curves)


def _towards_bandwidths(results: list[Result]) -> Row:
    direct = [result["paths"][0]["share"] for result in results]
    return Row(
        (MODEL,),
        "the direct path's share falls with the size, towards the ratio of bandwidths",
        "beluga",
        "it falls (plot)",
        None,
        f"{100 * direct[0]:.0f} % at 2 MiB, {100 * direct[-1]:.0f} % at 512 MiB",
        "Staged paths start late; their latencies are spread over more bytes. In the limit it is "
        "47.9 / (3 * 47.9 + 12.4) = 31 %.",
        "polypath bench bw --machine beluga --sizes 2M:512M --paths direct,gpu2,gpu3,host "
        "--executor stream",
        holds=all(a >= b for a, b in zip(direct, direct[1:])),
    )
