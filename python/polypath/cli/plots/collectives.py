"""Bus bandwidth of a collective over message size, a line for each algorithm."""

from __future__ import annotations

from polypath.cli.collective_tables import what_text
from polypath.cli.output import Document
from polypath.cli.plots.curves import draw_error_bars, label_sizes, quartiles
from polypath.cli.plots.style import FAINT, colour_of, footer, new_figure, render, stacked
from polypath.cli.provenance import footer_text


def draw(bench: Document, file_format: str) -> bytes:
    """Return the picture of a collective's measurements, schema polypath.bench/1, as a file."""
    figure = new_figure(8, 5)
    axes = figure.subplots()
    first = {"operation": bench["operation"], **bench["results"][0]}
    figure.suptitle(f"{bench['machine']}: {what_text(first)}", fontweight="bold")
    for number, (name, results) in enumerate(by_algorithm(bench["results"]).items()):
        sizes = [result["bytes"] for result in results]
        rates = [result["bus_bytes_per_second"] / 1e9 for result in results]
        colour = colour_of(number)
        draw_error_bars(axes, sizes, rates, [_range(result) for result in results], colour)
        axes.plot(sizes, rates, color=colour, label=name, **stacked(number))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("bus bandwidth, GB/s")
    axes.grid(color=FAINT)
    axes.legend(frameon=False)
    label_sizes(axes, sorted({result["bytes"] for result in bench["results"]}))
    footer(figure, footer_text(bench))
    return render(figure, file_format)


def by_algorithm(results: list[Document]) -> dict[str, list[Document]]:
    """Return the results of each algorithm that was asked for, in order of size."""
    lines: dict[str, list[Document]] = {}
    for result in sorted(results, key=lambda result: int(result["bytes"])):
        lines.setdefault(result["algorithm"], []).append(result)
    return lines


def _range(result: Document) -> tuple[float, float] | None:
    times = quartiles(result, "seconds")
    moved = result["bus_bytes_per_second"] * result["seconds"] / 1e9
    return (moved / times[1], moved / times[0]) if times else None
