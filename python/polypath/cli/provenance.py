"""Where figures are from, in a sentence: simulated or measured, on what, and how far runs differ.

Files that were written before the runs were kept have no `samples`: then the sentence says so.
"""

from __future__ import annotations

from polypath.cli.output import Document
from polypath.cli.units import percent_text, size_text

EXACT = "The simulator is deterministic: all runs take equally long."
NO_BARS = "All runs take equally long, hence no error bars."
BARS = "Bars: half of the runs lie within."


def origin_text(bench: Document) -> str:
    """Return what the figures of a benchmark, schema polypath.bench/1, were taken on."""
    if bench["driver"] == "sim":
        return f"Simulated: {bench['machine']}, in virtual time."
    if bench["driver"] == "stand-in":
        return f"On the stand-in driver, whose times mean nothing: {bench['machine']}."
    return f"Measured on {host_text(bench['host'])}."


def host_text(host: Document) -> str:
    """Return the `host` of measurements on real hardware: GPUs, driver, processor, date."""
    found = [
        f"{host['gpus']} \u00d7 {host['gpu']}" if "gpu" in host else None,
        f"driver {host['driver_version']}" if "driver_version" in host else None,
        host.get("processor"),
        host.get("date"),
    ]
    return ", ".join(part for part in found if part)


def runs_text(results: list[Document]) -> str:
    """Return over how many runs medians were taken; that they were not kept, if so."""
    runs = [result["samples"]["runs"] for result in results if "samples" in result]
    if not runs:
        return "Medians; the single runs were not kept."
    number = f"{min(runs)}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
    return f"Medians of {number} runs."


def scatter_text(bench: Document) -> str:
    """Return how far the runs of a benchmark differ, for below a table."""
    results = bench["results"]
    spread = [result for result in results if "spread" in result]
    if bench["driver"] == "sim" or not spread:
        return EXACT if bench["driver"] == "sim" else runs_text(results)
    widest = max(spread, key=_width)
    return (
        f"{runs_text(results)} The middle half of the times spans {percent_text(_width(widest))} "
        f"of the median{_where(widest, results)}."
    )


def footer_text(bench: Document) -> str:
    """Return what a picture of a benchmark says of its figures."""
    if bench["driver"] == "sim":
        return f"{origin_text(bench)} {NO_BARS}"
    kept = [result for result in bench["results"] if "spread" in result]
    return " ".join([origin_text(bench), runs_text(bench["results"]), *([BARS] if kept else [])])


def _where(widest: Document, results: list[Document]) -> str:
    several = len({result["bytes"] for result in results}) > 1
    return f" at {size_text(widest['bytes'])}, less elsewhere" if several else ""


def _width(result: Document) -> float:
    """Return how far the quartiles of the times are apart, by the median."""
    spread = result["spread"]["seconds"]
    return float((spread["upper_quartile"] - spread["lower_quartile"]) / spread["median"])
