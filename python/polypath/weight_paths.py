"""The files that weights are in: one, those of an index, or those of a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from polypath.messages import message

SAFETENSORS, TORCH = (".safetensors",), (".pt", ".pth", ".bin")
INDEX = ".index.json"


class WeightPath(NamedTuple):
    """A file, and the names that an index says are in it; None: all that are there."""

    path: Path
    names: tuple[str, ...] | None


def weight_paths(path: Any) -> list[WeightPath]:
    """Return the files of weights at a path: of a file itself, an index, or a folder with either.

    FileNotFoundError where there is none, ValueError for what is no file of weights.
    """
    where = Path(path)
    if not where.exists():
        raise FileNotFoundError(message(f"'{where}' cannot be loaded", "it is not there",
                                        "Correct the path."))  # fmt: skip
    if where.is_dir():
        where = _of_folder(where)
    if where.name.endswith(INDEX):
        return _of_index(where)
    if where.suffix not in (*SAFETENSORS, *TORCH):
        raise unreadable(where, f"its name ends in none of {', '.join((*SAFETENSORS, *TORCH))}")
    return [WeightPath(where, None)]


def unreadable(path: Path, why: str) -> ValueError:
    """Return the error for a file that is no file of weights."""
    return ValueError(message(f"'{path}' cannot be loaded", why, "Name another file."))


def _of_folder(folder: Path) -> Path:
    """Return the index in a folder, else its one file; those of safetensors come first."""
    for endings in (SAFETENSORS, TORCH):
        for ends in ([ending + INDEX for ending in endings], endings):
            found = sorted(each for each in folder.iterdir() if each.name.endswith(tuple(ends)))
            if len(found) > 1:
                names = ", ".join(each.name for each in found[:3])
                raise unreadable(folder, f"it has {len(found)} files of weights: {names}")
            if found:
                return found[0]
    raise unreadable(folder, "it has no file of weights")


def _of_index(index: Path) -> list[WeightPath]:
    try:
        mapped = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        names: dict[str, list[str]] = {}
        for name, file in mapped.items():
            names.setdefault(file, []).append(name)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise unreadable(index, "an index is JSON with a 'weight_map' of names to files") from None
    return [_shard(index, file, tuple(names[file])) for file in sorted(names)]


def _shard(index: Path, file: str, names: tuple[str, ...]) -> WeightPath:
    path = index.parent / file
    if Path(file).is_absolute() or ".." in Path(file).parts:
        raise unreadable(index, f"its file '{file}' is outside of its folder")
    if not path.exists():
        raise unreadable(index, f"its file '{file}' is not there")
    return WeightPath(path, names)
