"""Where results go: tables to the terminal, JSON and pictures to files.

What only files take is in result_files.py, and loaded where there is a file.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from collections.abc import Iterator
from typing import Any, Callable

from rich.console import Console, Group

from polypath.cli.errors import UserError
from polypath.cli.sentences import Sentence

Document = dict[str, Any]
STDOUT = "-"
LEAST_WIDTH = 40  # columns: in fewer there is a letter a line, or nothing


class WholeConsole(Console):
    """A console that leaves lines as they are that are longer than the terminal is wide."""

    def print(self, *objects: Any, crop: bool = False, **settings: Any) -> None:
        """Print, with nothing cut off, and no number broken off its unit."""
        if not settings.get("soft_wrap"):
            objects = tuple(_whole(each) if isinstance(each, str) else each for each in objects)
        super().print(*objects, crop=crop, **settings)

    def on_broken_pipe(self) -> None:
        """Leave it to the command's end what status that has: rich would end with 1."""
        raise BrokenPipeError


def _whole(text: str) -> Group:
    return Group(*map(Sentence, text.split("\n")))


def console_for(json_target: str | None) -> Console:
    """Return the console of the tables: stdout, or stderr where JSON takes stdout."""
    console = WholeConsole(
        stderr=json_target == STDOUT,
        highlight=False,
        markup=False,
        emoji=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",  # without styles, bold neither
    )
    if console.width < LEAST_WIDTH:
        console.width = LEAST_WIDTH
    return console


def write_json(document: Document, target: str | None) -> None:
    """Write a document to a file or, for "-", to stdout; do nothing without a target."""
    if target is not None:
        write_text(json.dumps(document, indent=1) + "\n", target)


def write_text(text: str, target: str | None) -> None:
    """Write a text to a file or, for "-", to stdout; do nothing without a target."""
    if target is None:
        return
    if target == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        from polypath.cli.result_files import write_file

        write_file(target, text.encode())


def check_writable(target: str | None) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if target is not None and target != STDOUT:
        from polypath.cli.result_files import check_file

        check_file(target)


def check_different(**targets: str | None) -> None:
    """Refuse to write what two options ask for to one and the same place, by the options' names."""
    named = [(f"--{name}", target) for name, target in targets.items() if target is not None]
    for (first, one), (second, other) in itertools.combinations(named, 2):
        if one == other or (STDOUT not in (one, other) and _are_one_file(one, other)):
            where = "stdout" if other == STDOUT else f"'{other}'"
            raise UserError(
                f"{first} and {second} cannot both go to {where}",
                "each is a document of its own",
                "Name two files.",
            )


def _are_one_file(one: str, other: str) -> bool:
    from polypath.cli.result_files import are_one_file

    return are_one_file(one, other)


@contextlib.contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on stderr while the body runs, fed by the function that it gets.

    Where stderr is no terminal there is no bar. The function is then called all the same: that is
    when Python sees an interrupt.
    """
    console = Console(stderr=True, markup=False)
    if not console.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total, refresh=True)
