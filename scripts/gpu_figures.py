"""The figures that were measured on real GPUs, as Markdown.

Everything comes from the files that scripts/measure_gpus.py wrote into one folder; what is not
there is left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figure_text import (
    Document,
    as_called_now,
    factor,
    percent,
    shares_text,
    size_text,
    table,
    with_short_sizes,
)

SERIES = (
    "put", "bibw", "h2d", "d2h", "pageable_h2d", "pageable_d2h", "put_without_peer_access",
)  # fmt: skip
SUMMARY_SIZES = (16 << 20, 64 << 20, 256 << 20, 1 << 30)
PREDICTED_ABOVE = 4 << 20  # below, calls and waits outweigh what is predicted
WAYS = ("driver", "native", "automatic", "stream", "graph", "graph, new addresses")
NOTHING = "-"


@dataclass(frozen=True)
class Measurements:
    """The folder of one machine's results."""

    folder: Path

    def read(self, name: str) -> Any:
        """Return one file, or None if it is not there."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def series(self) -> dict[str, Document]:
        """Return the benchmarks that there are, by name; refuse unverified ones."""
        found = {name: self.read(name) for name in SERIES}
        present = {name: document for name, document in found.items() if document}
        for name, document in present.items():
            if not all(result["verified"] for result in document["results"]):
                raise SystemExit(f"{name}.json holds a result that is not verified")
        return present


def hosts_text(documents: list[Document]) -> str:
    """Return what the documents were measured on, and when, each computer once."""
    lines: dict[str, set[str]] = {}
    for document in documents:
        host = document["host"]
        computer = (
            f"{host['gpus']} \u00d7 {host['gpu']}, driver {host['driver_version']}, "
            f"{host['processor']}, {host['cores']} hardware threads"
        )
        lines.setdefault(computer, set()).add(host["date"])
    return "; ".join(f"{computer}; {', '.join(sorted(dates))}" for computer, dates in lines.items())


def rate_text(bytes_per_second: float) -> str:
    """Return GB/s, with more digits where there are few of them."""
    rate = bytes_per_second / 1e9
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.2g}"


def summary_cell(result: Document | None) -> str:
    """Return a speed-up and its bandwidth: "**2.92**, 160.9 GB/s"."""
    if result is None:
        return NOTHING
    return f"{factor(result)}, {rate_text(result['bytes_per_second'])} GB/s"


def operations_block(measurements: Measurements) -> str:
    """Return what was measured of each operation at a few sizes."""
    series = measurements.series()
    if not series:
        return "No measurement is stored."
    rows = []
    for name, document in series.items():
        by_size = {result["bytes"]: result for result in document["results"]}
        cells = [summary_cell(by_size.get(size)) for size in SUMMARY_SIZES]
        rows.append([f"`{name}`", document["native_call"], *cells])
    head = ["operation", "native call", *map(size_text, SUMMARY_SIZES)]
    return f"**Measured** on {hosts_text(list(series.values()))}:\n\n{table(head, rows)}"


def summary_block(measurements: Measurements) -> str:
    """Return the same with how far predictions are off."""
    series = measurements.series()
    errors = [f"`{name}` {error}" for name in series if (error := error_of_all(series[name]))]
    return (
        f"{operations_block(measurements)}\n\n"
        f"Above {size_text(PREDICTED_ABOVE)} predictions are off by this much on average: "
        f"{', '.join(errors)}."
    )


def error_of_all(document: Document) -> str:
    """Return how far the predictions of large messages are off; empty if there are none."""
    errors = [
        error
        for result in document["results"]
        if result["bytes"] > PREDICTED_ABOVE and (error := error_of(result)) is not None
    ]
    return mean_magnitude(errors) if errors else ""


def error_of(result: Document) -> float | None:
    """Return how far the predicted time is off, or None where nothing is predicted."""
    predicted = result["predicted_seconds"]
    return None if predicted is None else predicted / result["seconds"] - 1


def series_row(result: Document) -> list[str]:
    """Return one measured size as a row."""
    error = error_of(result)
    predicted = result["predicted_seconds"]
    return [
        size_text(result["bytes"]),
        f"{1e6 * result['seconds']:.1f}",
        NOTHING if predicted is None else f"{1e6 * predicted:.1f}",
        NOTHING if error is None else percent(error),
        rate_text(result["native_bytes_per_second"]),
        rate_text(result["bytes_per_second"]),
        factor(result),
        result["executor"],
        shares_text(result),
    ]


def mean_magnitude(values: list[float]) -> str:
    """Return the mean of the magnitudes, as per cent without a sign."""
    return f"{100 * sum(map(abs, values)) / len(values):.1f} %"


def error_text(document: Document) -> str:
    """Return one sentence on the predictions of large messages; empty if there are none."""
    off = error_of_all(document)
    above = size_text(PREDICTED_ABOVE)
    return f" Above {above} predictions are off by {off} on average." if off else ""


def series_section(name: str, document: Document) -> str:
    """Return all sizes of one series, under its heading."""
    head = [
        "size", "µs", "predicted µs", "error", "native GB/s", "GB/s", "speed-up", "runs as",
        "shares",
    ]  # fmt: skip
    command = with_short_sizes(document["command"])
    said = f"`{command}`, against {document['native_call']}.{error_text(document)}"
    return f"#### {name}\n\n{said}\n\n{table(head, [series_row(r) for r in document['results']])}"


def deviation_cell(row: Document | None) -> str:
    """Return both speed-ups and their distance: "1.09 / 1.12, +2.8 %"."""
    if row is None:
        return NOTHING
    both = f"{row['measured_speedup']:.2f} / {row['simulated_speedup']:.2f}"
    return f"{both}, {percent(row['deviation'])}"


def simulated_section(comparison: Document) -> str:
    """Return measured beside simulated speed-ups, a size per row."""
    cells = {(row["series"], row["bytes"]): row for row in comparison["results"]}
    names = list(dict.fromkeys(row["series"] for row in comparison["results"]))
    sizes = sorted({row["bytes"] for row in comparison["results"]})
    rows = [
        [size_text(size), *(deviation_cell(cells.get((name, size))) for name in names)]
        for size in sizes
    ]
    rows.append(["mean deviation", *(mean_deviation(comparison, name) for name in names)])
    head = ["size", *(f"`{name}`" for name in names)]
    return (
        "#### Measured and simulated speed-ups\n\n"
        "Measured / simulated on the calibrated machine, and how far the simulated one is off "
        f"({comparison['date']}).\n\n{table(head, rows)}"
    )


def mean_deviation(comparison: Document, series: str) -> str:
    """Return how far the simulated speed-ups of one series are off on average."""
    return mean_magnitude(
        [row["deviation"] for row in comparison["results"] if row["series"] == series]
    )


def issue_cell(row: Document | None) -> str:
    """Return the time in the call, and the copies that it enqueued if there are several."""
    if row is None:
        return NOTHING
    time = f"{1e6 * row['seconds']:.1f}"
    return time if row["nodes"] == 1 else f"{time} ({row['nodes']})"


def issue_section(answers: list[Document]) -> str:
    """Return how long the calling thread is busy, a table per pair of places."""
    parts = [
        "#### What a call costs\n\n"
        "Microseconds that the calling thread spends in one call, the stream idle before; in "
        f"brackets the copies that it enqueues. {hosts_text(answers)}."
    ]
    head = ["size", "driver's own call", "native pass-through", *WAYS[2:]]
    for answer in answers:
        rows = issue_rows(answer)
        parts.append(f"{answer['source']} → {answer['destination']}:\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def issue_rows(answer: Document) -> list[list[str]]:
    """Return the times in calls between two places, a size per row."""
    cells = {(row["bytes"], row["how"]): row for row in answer["results"]}
    return [
        [size_text(size), *(issue_cell(cells.get((size, way))) for way in WAYS)]
        for size in sorted({size for size, _ in cells})
    ]


def weights_row(result: Document) -> list[str]:
    """Return one way and kind of host memory as a row."""
    return [
        f"{result['source']} → {result['destination']}",
        result["memory"],
        f"{1e3 * result['seconds']:.1f}",
        rate_text(result["native_bytes_per_second"]),
        rate_text(result["bytes_per_second"]),
        f"**{result['speedup']:.2f}**",
    ]


def weights_section(document: Document) -> str:
    """Return what moving a model's tensors gains, a way and kind of host memory per row."""
    rows = [weights_row(result) for result in document["results"]]
    first = document["results"][0]
    host = document["host"]
    said = (
        f"`{as_called_now(document['command'])}`: {first['tensors']} tensors, "
        f"{size_text(first['bytes'])}, against PyTorch {host['torch']}'s own copies; "
        f"driver {host['driver_version']}; {host['date']}."
    )
    head = ["from, to", "host memory", "ms", "PyTorch's GB/s", "GB/s", "speed-up"]
    return f"#### Weights\n\n{said}\n\n{table(head, rows)}"


def performance_block(measurements: Measurements) -> str:
    """Return what stands between the measured markers of docs/performance.md."""
    series = measurements.series()
    parts = [f"{hosts_text(list(series.values()))}."] if series else []
    parts += [series_section(name, document) for name, document in series.items()]
    weights = measurements.read("weights")
    if weights:
        parts.append(weights_section(weights))
    comparison, answers = measurements.read("simulated"), measurements.read("issue")
    if comparison and comparison["results"]:
        parts.append(simulated_section(comparison))
    if answers:
        parts.append(issue_section(answers))
    return "\n\n".join(parts) or "No measurement is stored."
