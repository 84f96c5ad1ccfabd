"""Time of a Jacobi iteration and speed-up over the halo's size, a line per way."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from polypath.cli.output import Document
from polypath.cli.plots.curves import draw_error_bars, label_sizes, quartiles
from polypath.cli.plots.style import COLOURS, FAINT, NATIVE, footer, new_figure, render, stacked
from polypath.cli.provenance import footer_text

Line = list[tuple[int, Document]]


def draw(bench: Document, file_format: str) -> bytes:
    """Return the picture of a Jacobi solver's measurements, schema polypath.bench/1, as a file."""
    lines = lines_of(bench["results"])
    figure = new_figure(8, 6.5)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    first = bench["results"][0]
    title = f"{bench['machine']}: Jacobi on {first['gpus']} GPUs, {first['rows']} rows each"
    figure.suptitle(title, fontweight="bold")
    _draw_lines(upper, lines, "seconds", 1e3)
    upper.set_yscale("log")
    upper.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    upper.set_ylabel("time of an iteration, ms")
    upper.legend(frameon=False)
    lower.axhline(1, color=NATIVE, linewidth=1.2)
    _draw_lines(lower, lines, "speedup", 1)
    lower.set_ylabel("speed-up over native")
    label_sizes(lower, sorted({result["bytes"] for result in bench["results"]}))
    lower.set_xlabel("bytes of a halo")
    footer(figure, footer_text(bench))
    return render(figure, file_format)


def lines_of(results: list[Document]) -> dict[str, Line]:
    """Return results by way, in order of size."""
    lines: dict[str, Line] = {}
    for result in sorted(results, key=lambda result: int(result["bytes"])):
        by_paths = result["executor"] in ("stream", "graph")
        name = result["executor"] + (f", paths {result['paths']}" if by_paths else "")
        lines.setdefault(name, []).append((result["bytes"], result))
    return lines


def _draw_lines(axes: Axes, lines: dict[str, Line], key: str, scale: float) -> None:
    for number, (name, line) in enumerate(lines.items()):
        colour = NATIVE if name == "native" else COLOURS[number % len(COLOURS)]
        values = [result[key] * scale for _, result in line]
        bars = [quartiles(result, key) for _, result in line]
        ranges = [bar and (bar[0] * scale, bar[1] * scale) for bar in bars]
        draw_error_bars(axes, [size for size, _ in line], values, ranges, colour)
        axes.plot(
            [size for size, _ in line],
            values,
            color=colour,
            label=name,
            **stacked(number),
        )
    axes.grid(color=FAINT)
