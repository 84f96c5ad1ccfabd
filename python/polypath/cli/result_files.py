"""Files of results: refused before the work if they cannot be written, and written whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from polypath.cli.errors import UserError, WriteError


def check_file(target: str) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
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


def are_one_file(one: str, other: str) -> bool:
    """Return whether these name one file; a device such as /dev/null takes any number."""
    paths = Path(one), Path(other)
    return paths[0].resolve() == paths[1].resolve() and _is_replaceable(paths[0])


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
