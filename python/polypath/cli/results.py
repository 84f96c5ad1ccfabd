"""Where results go: tables to the terminal, JSON, CSV, pictures and more to files."""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console

from polypath.cli.output import (
    STDOUT,
    Document,
    check_different,
    check_writable,
    console_for,
    write_json,
)
from polypath.cli.plots import check_picture


class Results(NamedTuple):
    """The files that options name, or "-" for stdout; nothing is for nowhere."""

    json: str | None = None
    csv: str | None = None
    plot: str | None = None
    output: str | None = None
    html: str | None = None

    def checked(self) -> Results:
        """Refuse files that cannot be written, or that are one, before any work is done."""
        for target in self._texts():
            check_writable(target)
        check_picture(self.plot)
        check_different(**self._asdict())
        return self

    def write(self, document: Document) -> None:
        """Write a document as JSON, and its rows as CSV."""
        write_json(document, self.json)
        if self.csv is not None:
            from polypath.cli.csv_files import write_csv

            write_csv(document, self.csv)

    def console(self) -> Console:
        """Return the console of the tables: stdout, or stderr where a file goes there."""
        return console_for(STDOUT if STDOUT in self._texts() else None)

    def _texts(self) -> tuple[str | None, ...]:
        return self.json, self.csv, self.output, self.html
