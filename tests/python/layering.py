"""Reads the sources' include lines and says which of them break the layering."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# A layer may use itself and those before it.
LAYERS = ("core", "machine", "model", "plan", "driver", "probe", "engine", "collective", "bench")
# A way in may use itself, every layer and the public header, but no other way in.
WAYS_IN = ("capi", "python", "preload", "mpi", "standin", "torch")
# A program that is shipped as source: it may use itself and nothing else of this project.
STANDALONE = ("mpi_bench",)
PUBLIC_HEADER = "polypath.h"
# Implementations of the driver interface do not know one another.
BACKENDS = ("driver/cuda", "driver/sim")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = (".h", ".c", ".cc", ".cpp", ".inc", ".cu")


@dataclass(frozen=True)
class Include:
    """One include line: the file it stands in, relative to the root, and what it names."""

    file: Path
    target: str
    quoted: bool

    @property
    def layer(self) -> str:
        """The folder below src that the file is in."""
        return self.file.parts[1]

    @property
    def target_folder(self) -> str:
        """The first folder of what is included; empty for a plain name."""
        return self.target.split("/")[0] if "/" in self.target else ""


def includes_of(root: Path, file: Path) -> Iterator[Include]:
    """Yield the include lines of one file."""
    for bracket, target in INCLUDE.findall(file.read_text(encoding="utf-8")):
        yield Include(file.relative_to(root), target, bracket == '"')


def source_files(root: Path) -> list[Path]:
    """Return every C and C++ file below src."""
    return sorted(path for path in (root / "src").rglob("*") if path.suffix in SUFFIXES)


def allowed_folders(layer: str) -> tuple[str, ...]:
    """Return the folders below src that a file of this layer may include from."""
    if layer in STANDALONE:
        return (layer,)
    if layer in WAYS_IN:
        return (*LAYERS, layer)
    return LAYERS[: LAYERS.index(layer) + 1]


def backend_of(path: str) -> str:
    """Return the driver implementation that a path below src belongs to, or nothing."""
    return next((backend for backend in BACKENDS if path.startswith(backend + "/")), "")


def complaint(include: Include) -> str:
    """Say what is wrong with an include line; empty if nothing is."""
    if "nlohmann" in include.target and not include.file.name.endswith((".json.cc", ".json.h")):
        return "only *.json.cc and *.json.h files may read or write JSON"
    if not include.quoted:
        return ""
    if ".." in include.target.split("/"):
        return "write the path from src, not a relative one"
    if include.target == PUBLIC_HEADER:
        return "" if include.layer in WAYS_IN else "only a way in may use the public header"
    folder = include.target_folder or include.layer
    if folder not in allowed_folders(include.layer):
        return f"{include.layer} may not use {folder}"
    own_backend = backend_of("/".join(include.file.parts[1:]))
    other_backend = backend_of(include.target)
    if own_backend and other_backend and own_backend != other_backend:
        return f"{own_backend} may not use {other_backend}"
    return ""


def layering_problems(root: Path) -> list[str]:
    """Return one line for every source file or include line that breaks a rule."""
    problems = []
    for file in source_files(root):
        folder = file.relative_to(root).parts[1]
        if folder not in (*LAYERS, *WAYS_IN, *STANDALONE):
            problems.append(f"{file.relative_to(root)}: '{folder}' is no known layer")
            continue
        for include in includes_of(root, file):
            if problem := complaint(include):
                problems.append(f"{include.file}: includes {include.target}: {problem}")
    return problems


def public_header_problems(root: Path) -> list[str]:
    """Return what the public header includes besides the standard's headers."""
    header = root / "include" / PUBLIC_HEADER
    return [
        f"{include.file}: includes {include.target}: the public header stands alone"
        for include in includes_of(root, header)
        if include.quoted or "/" in include.target
    ]
