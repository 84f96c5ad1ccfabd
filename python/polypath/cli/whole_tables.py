"""Tables whose numbers and words stay whole, however few columns the terminal has."""

from __future__ import annotations

from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

GAP = 2  # between two columns
SHORT = 10  # letters up to which a cell is never broken: "1.412 ms", "22.26 MiB"
LONG = 24  # letters from which on a word is: a path


class WholeTable(Table):
    """A table that breaks long texts between words, and nothing else.

    Where that is not enough it leaves out its spare columns, the first of them first, and says so.
    Then lines are longer than the terminal.
    """

    def __init__(self, *, spare: tuple[str, ...] = (), **settings: Any) -> None:
        """Make an empty one; spare columns are those that one can do without."""
        super().__init__(**settings)
        self._spare = spare

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the table, and what is not in it."""
        left_out = self._fit(console, options)
        widths = sum(column.width or 0 for column in self.columns)
        most = widths + _gaps(len(self.columns))
        yield from super().__rich_console__(console, options.update(max_width=most))
        if left_out:
            yield Text(f"(too narrow for: {', '.join(left_out)})", style="dim")

    def _fit(self, console: Console, options: ConsoleOptions) -> list[str]:
        """Choose columns and their widths; return the names of those that are left out."""
        left_out = []
        needs = self._needs(console, options)
        for name in self._spare:
            if _total(needs) <= options.max_width:
                break
            left_out += [name]
            self._drop(name)
            needs = self._needs(console, options)
        spare = options.max_width - _total(needs)
        # Columns that need little more get it, so that only the longest texts are broken.
        for column, (least, most) in sorted(
            zip(self.columns, needs), key=lambda each: _more(*each)
        ):
            column.width = least + max(0, min(spare, most - least))
            spare -= column.width - least
        return left_out

    def _drop(self, name: str) -> None:
        self.columns = [column for column in self.columns if str(column.header) != name]
        for index, column in enumerate(self.columns):
            column._index = index  # rich looks there for the last one

    def _needs(self, console: Console, options: ConsoleOptions) -> list[tuple[int, int]]:
        """Return the least width of each column, and the one in which nothing is broken."""
        return [_need(console, options, column) for column in self.columns]


def _need(console: Console, options: ConsoleOptions, column: Column) -> tuple[int, int]:
    header = Measurement.get(console, options, str(column.header))
    cells = [Measurement.get(console, options, cell) for cell in column.cells]
    whole = [cell.maximum if cell.maximum <= SHORT else min(cell.minimum, LONG) for cell in cells]
    return max([header.minimum, *whole]), max([header.maximum, *(each.maximum for each in cells)])


def _more(_column: Column, need: tuple[int, int]) -> int:
    return need[1] - need[0]


def _total(needs: list[tuple[int, int]]) -> int:
    return sum(least for least, _ in needs) + _gaps(len(needs))


def _gaps(columns: int) -> int:
    return GAP * max(0, columns - 1)
