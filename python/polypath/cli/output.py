"""Where results go: tables to the terminal, JSON and pictures to files, notices to stderr."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

from rich.console import Console

from polypath.cli.errors import UserError, WriteError

Document = dict[str, Any]
STDOUT = "-"
LEAST_WIDTH = 40  # columns: in fewer there is a letter a line, or nothing


def console_for(json_target: str | None) -> Console:
    """Return the console of the tables: stdout, or stderr where JSON takes stdout."""
    console = Console(stderr=json_target == STDOUT, highlight=False, markup=False, emoji=False)
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
        write_file(target, text.encode())


def check_writable(target: str | None) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if target is None or target == STDOUT:
        return
    path = Path(target)
    with _refusal(target):
        if not target:
            raise FileNotFoundError(None, "its name is empty")
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(None, "this user may not write it")
        if not path.parent.is_dir():
            raise FileNotFoundError(None, f"there is no folder {path.parent}")
        if _is_replaceable(path):
            _check_folder(path.resolve().parent)


def _check_folder(folder: Path) -> None:
    """Make a file there and remove it: rights alone do not tell of all that may be in the way."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(None, f"this user may not write to {folder}")
    handle, temporary = tempfile.mkstemp(prefix=".polypath-", dir=folder)
    os.close(handle)
    Path(temporary).unlink()


def check_different(**targets: str | None) -> None:
    """Refuse to write what two options ask for to one and the same place, by the options' names."""
    named = [(f"--{name}", target) for name, target in targets.items() if target is not None]
    for (first, one), (second, other) in itertools.combinations(named, 2):
        if one == other or _are_one_file(one, other):
            where = "stdout" if other == STDOUT else f"'{other}'"
            raise UserError(
                f"{first} and {second} cannot both go to {where}",
                "each is a document of its own",
                "Name two files.",
            )


def _are_one_file(one: str, other: str) -> bool:
    """Return whether these name one file; a device such as /dev/null takes any number."""
    paths = Path(one), Path(other)
    return (
        STDOUT not in (one, other)
        and paths[0].resolve() == paths[1].resolve()
        and _is_replaceable(paths[0])
    )


def write_file(target: str, content: bytes) -> None:
    """Write a file completely or not at all; a device or pipe is written to as it is."""
    path = Path(target)
    with _refusal(target, WriteError, "See its folder and its free space, or name another file."):
        if _is_replaceable(path):
            _replace(path.resolve(), content)
        else:
            path.write_bytes(content)


def _is_replaceable(path: Path) -> bool:
    return path.is_file() or not path.exists()


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:32]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _refusal(
    target: str,
    kind: type[UserError] = UserError,
    remedy: str = "Name a file in a folder you may write to.",
) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise kind(f"file '{target}' cannot be written", why, remedy) from None


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
