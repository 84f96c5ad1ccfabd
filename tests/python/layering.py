"""Reads the sources' include lines and says which of them break the layering."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# What a folder may use is what CMake links to it: polypath_layer(engine USES plan driver).
USES = re.compile(r"^polypath_(?:layer|uses)\(([\w/]+)(?:\s+USES\s+([^)]*))?\)", re.MULTILINE)
# Programs that are shipped as source: each may use itself and nothing else of this project.
STANDALONE = ("programs/mpi_bench",)
PUBLIC_HEADER = "polypath.h"
FOLDERS = ("src", "standin", "programs")
# Where the public header is used: what stands before users, and what stands in for others.
WITH_PUBLIC_HEADER = ("api/", "standin")
# Implementations of the driver interface do not know one another.
BACKENDS = ("driver/cuda", "driver/sim")

# Folders within a layer, from the bottom up: each may use those before it. "" is the layer's own.
ROOMS = {
    "engine": (
        "call",
        "load",
        "execute",
        "pageable",
        "planning",
        "learn",
        "prepare",
        "decide",
        "enqueue",
        "",
    ),
    "plan": ("", "single", "joint", "pieces"),
    "communicator": ("bootstrap", "node", "", "transport"),
    "collective": ("trees", "program", "algorithms", "division", "choose", "rank", "internode", ""),
}

# The namespaces of a folder that has others than the one of its name.
NAMESPACES = {
    "core": ("",),
    "driver": ("driver", "cuda", "sim", "trace"),
    "kernels": ("kernels", "kernels::gpu"),
    "standin": ("standin", "standin::chaos"),
    # What C programs call stands among the names of the layer that answers.
    "api/preload": ("preload", "mpi", "nccl"),
}
NAMESPACE_MAP = "src/core/layers.h"
NAMESPACE = re.compile(r"^namespace polypath(?:::([\w:]+))? \{$", re.MULTILINE)
NAMES_USED = re.compile(r"^namespace (?!polypath)(\w+) \{(.*?)\}", re.MULTILINE | re.DOTALL)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = (".h", ".c", ".cc", ".cpp", ".inc", ".cu")


@dataclass(frozen=True)
class Include:
    """One include line: the file it stands in, relative to the root, and what it names."""

    file: Path
    target: str
    quoted: bool

    @property
    def source(self) -> str:
        """The file, from src on."""
        return self.file.as_posix().removeprefix("src/")


def direct_uses(root: Path) -> dict[str, list[str]]:
    """Return what CMakeLists.txt says each folder below src uses itself."""
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    return {folder: uses.split() for folder, uses in USES.findall(text)}


def allowed_folders(root: Path) -> dict[str, set[str]]:
    """Return, per folder below src, the folders whose headers its files may include."""
    direct = direct_uses(root)
    allowed = {folder: {folder} for folder in (*direct, *STANDALONE)}
    for folder, uses in direct.items():  # CMake has those that are used before their users
        for used in uses:
            allowed[folder] |= allowed[used]
    return allowed


def folder_of(path: str, folders: Iterable[str]) -> str:
    """Return the one of the folders that a path from src on lies in, or nothing."""
    return next((folder for folder in folders if path.startswith(folder + "/")), "")


def includes_of(root: Path, file: Path) -> Iterator[Include]:
    """Yield the include lines of one file."""
    for bracket, target in INCLUDE.findall(file.read_text(encoding="utf-8")):
        yield Include(file.relative_to(root), target, bracket == '"')


def source_files(root: Path) -> list[Path]:
    """Return every C and C++ file that is no test."""
    files = (path for folder in FOLDERS for path in (root / folder).rglob("*"))
    return sorted(path for path in files if path.suffix in SUFFIXES)


def backend_of(path: str) -> str:
    """Return the driver implementation that a path below src belongs to, or nothing."""
    return next((backend for backend in BACKENDS if path.startswith(backend + "/")), "")


def room_of(path: str) -> tuple[str, str]:
    """Return the layer of a path from src on, and the folder within it that it lies in."""
    layer, _, inside = path.partition("/")
    return layer, inside.rpartition("/")[0]


def room_complaint(include: Include) -> str:
    """Say what is wrong with an include line between two folders of a layer."""
    layer, own = room_of(include.source)
    other_layer, other = room_of(include.target)
    rooms = ROOMS.get(layer)
    if rooms is None:
        return ""
    if own not in rooms:
        return f"'{own}' is no known folder of {layer}"
    if layer != other_layer or (other in rooms and rooms.index(other) <= rooms.index(own)):
        return ""
    return f"{layer}/{own or '.'} may not use {layer}/{other or '.'}"


def complaint(include: Include, folder: str, allowed: dict[str, set[str]]) -> str:
    """Say what is wrong with an include line of a folder; empty if nothing is."""
    if "nlohmann" in include.target and not include.source.endswith((".json.cc", ".json.h")):
        return "only *.json.cc and *.json.h files may read or write JSON"
    if not include.quoted:
        return ""
    if ".." in include.target.split("/"):
        return "write the path from src, not a relative one"
    if include.target == PUBLIC_HEADER:
        may = folder.startswith(WITH_PUBLIC_HEADER)
        return "" if may else "only an interface may use the public header"
    target = folder_of(include.target, allowed)
    if not target and "/" not in include.target:
        target = folder
    if target not in allowed[folder]:
        return f"{folder} may not use {target or include.target}"
    own_backend, other_backend = backend_of(include.source), backend_of(include.target)
    if own_backend and other_backend and own_backend != other_backend:
        return f"{own_backend} may not use {other_backend}"
    return room_complaint(include)


def namespaces_of(folder: str) -> tuple[str, ...]:
    """Return the namespaces below polypath that a folder's names may be in; "" is polypath."""
    return NAMESPACES.get(folder, (folder.rpartition("/")[2],))


def namespace_problems(root: Path) -> list[str]:
    """Return one line for every file whose names are in another layer's namespace."""
    allowed = allowed_folders(root)
    problems = []
    for file in source_files(root):
        name = file.relative_to(root).as_posix()
        folder = folder_of(name.removeprefix("src/"), allowed)
        found = set(NAMESPACE.findall(file.read_text(encoding="utf-8")))
        if name == NAMESPACE_MAP or not folder or folder in STANDALONE:
            continue
        problems += [
            f"{name}: '{other}' is no namespace of {folder}"
            for other in sorted(found - set(namespaces_of(folder)))
        ]
    return problems


def namespace_map_problems(root: Path) -> list[str]:
    """Return one line for every folder that finds other names than those of what it may use."""
    text = (root / NAMESPACE_MAP).read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for used_by, lines in NAMES_USED.findall(text):  # those that are used stand before their users
        direct = re.findall(r"using namespace (\w+);", lines)
        found[used_by] = set(direct).union(*(found.get(used, set()) for used in direct))
    problems = []
    for folder, uses in allowed_folders(root).items():
        if folder in STANDALONE or folder == "core":
            continue
        wanted = {namespaces_of(used)[0] for used in uses - {folder, "core"}}
        name = namespaces_of(folder)[0]
        if found.get(name) != wanted:
            problems.append(f"{name} finds {sorted(found.get(name, ()))}, not {sorted(wanted)}")
    return problems


def layering_problems(root: Path) -> list[str]:
    """Return one line for every source file or include line that breaks a rule."""
    allowed = allowed_folders(root)
    problems = []
    for file in source_files(root):
        inside = file.relative_to(root).as_posix().removeprefix("src/")
        folder = folder_of(inside, allowed)
        if not folder:
            name = file.relative_to(root)
            problems.append(f"{name}: '{inside.split('/')[0]}' is no known layer")
            continue
        for include in includes_of(root, file):
            if problem := complaint(include, folder, allowed):
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
