"""Results as tables that are readable in 80 columns and without a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from polypath.cli.output import Document
from polypath.cli.sentences import Sentence
from polypath.cli.units import (
    factor_text,
    gigabytes,
    percent_text,
    size_text,
    time_text,
)
from polypath.cli.whole_tables import WholeTable

WIDE = 110  # columns from which on a row has room for the share of every path


def new_table(
    *columns: str, right: tuple[str, ...] = (), spare: tuple[str, ...] = ()
) -> WholeTable:
    """Return an empty table with these columns, some aligned to the right.

    Spare ones are left out where the terminal is too narrow for all.
    """
    table = WholeTable(
        spare=spare,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),  # with the space between columns: two
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for column in columns:
        justify = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table


def heading(console: Console, text: str) -> None:
    """Print the line above a table."""
    console.print(Sentence(text, style="bold"))
    console.print()


def machines_table(machines: list[Document]) -> Table:
    """Return the machines that come along."""
    table = new_table("machine", "GPUs", "hosts", "what it is", right=("GPUs", "hosts"))
    for machine in machines:
        table.add_row(
            machine["name"], str(machine["gpus"]), str(machine["hosts"]), machine["description"]
        )
    return table


def settings_table(settings: list[Document]) -> Table:
    """Return the POLYPATH_* settings."""
    table = new_table("variable", "value", "default", "meaning")
    for entry in settings:
        value = Text(entry["value"], style="" if entry["value"] == entry["default"] else "bold")
        table.add_row(entry["variable"], value, entry["default"], Sentence(entry["meaning"]))
    return table


def paths_table(plan: Document) -> Table:
    """Return what a plan decided about each path, in numbers."""
    numbers = ("share", "bytes", "chunks", "done after")
    table = new_table("path", "used", *numbers, right=numbers, spare=("chunks", "used"))
    for path in plan["paths"]:
        done = time_text(path["predicted_seconds"])
        if path["included"]:
            table.add_row(
                Text(path["via"], style="bold green"),
                "yes",
                percent_text(path["share"]),
                size_text(path["bytes"]),
                str(path["chunks"]),
                done,
            )
        else:
            table.add_row(Text(path["via"], style="dim"), "no", "-", "-", "-", f"({done})")
    return table


def reasons_grid(plan: Document) -> Table:
    """Return one sentence on each path: why it is in or out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for path in plan["paths"]:
        grid.add_row(
            Text(path["via"], style="" if path["included"] else "dim"), Sentence(path["reason"])
        )
    return grid


def bench_table(results: list[Document], wide: bool) -> Table:
    """Return measurements; with the share of every path if there is room for it."""
    rates = {
        "GB/s": [gigabytes(result["bytes_per_second"]) for result in results],
        "native": [gigabytes(result["native_bytes_per_second"]) for result in results],
    }
    return _bench_table(results, rates, wide)


def latency_table(results: list[Document], wide: bool) -> Table:
    """Return measurements of latency: times instead of rates."""
    native = [result["bytes"] / result["native_bytes_per_second"] for result in results]
    return _bench_table(results, {"native": [time_text(each) for each in native]}, wide)


def _bench_table(results: list[Document], columns: dict[str, list[str]], wide: bool) -> Table:
    """Return measurements with what `columns` say of each, behind its time."""
    numbers = ("size", "time", *columns, "speed-up", "model")
    paths = "paths and shares" if wide else "paths"
    table = new_table(
        "size", "runs as", *numbers[1:], "verified", paths,
        right=(*numbers, "" if wide else paths), spare=("verified", "model", "paths", "runs as"),
    )  # fmt: skip
    for result, *cells in zip(results, *columns.values()):
        table.add_row(
            size_text(result["bytes"]),
            result["executor"],
            time_text(result["seconds"]),
            *cells,
            gain_text(result["speedup"]),
            _model_error(result),
            "yes" if result["verified"] else "no",
            Sentence(shares_text(result["paths"])) if wide else str(len(result["paths"])),
        )
    return table


def gain_text(speedup: float) -> Text:
    """Return a speed-up in the colour of a gain or of a loss."""
    style = "green" if speedup >= 1.01 else "red" if speedup < 0.99 else ""
    return Text(factor_text(speedup), style=style)


def _model_error(result: Document) -> str:
    """Return how far the predicted time is off; "-" where nothing is predicted."""
    predicted = result["predicted_seconds"]
    return "-" if predicted is None else percent_text(predicted / result["seconds"] - 1, sign=True)


def shares_text(paths: list[Document]) -> str:
    """Return the shares of a plan's paths as "direct 90 %, host0 10 %"."""
    return ", ".join(f"{path['via']} {100 * path['share']:.0f} %" for path in paths)


def path_text(via: str, share: float, chunks: int) -> str:
    """Return what a path carries as "direct 90 %", or "host0 10 % (3)" for several chunks."""
    return f"{via} {100 * share:.0f} %" + (f" ({chunks})" if chunks > 1 else "")
