"""Reads import statements, and says which modules import one another in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

Graph = Mapping[str, set[str]]  # a module, and those that it imports


def modules_below(folder: Path, package: str = "") -> dict[str, Path]:
    """Return the modules of a package's folder by their full names; without a package as they are.

    A stub stands for an extension module.
    """
    found = {}
    for file in sorted([*folder.rglob("*.py"), *folder.rglob("*.pyi")]):
        parts = [package, *file.relative_to(folder).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        found[".".join(filter(None, parts))] = file
    return found


def import_graph(modules: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return which of the modules each one imports anywhere: on top, in functions, for types."""
    return {
        name: {known for named in names_of(name, file) if (known := nearest(named, modules))}
        for name, file in modules.items()
    }


def names_of(module: str, file: Path) -> Iterator[str]:
    """Yield what the import statements of one file name, in full."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = absolute(module, file, node)
            yield from (f"{source}.{alias.name}" for alias in node.names)


def absolute(module: str, file: Path, node: ast.ImportFrom) -> str:
    """Return the module that a `from ... import` is from; dots count from the file's package."""
    if node.level == 0:
        return node.module or ""
    parents = module.split(".")
    up = node.level - (file.stem == "__init__")
    return ".".join([*parents[: len(parents) - up], *filter(None, [node.module])])


def nearest(name: str, modules: Mapping[str, Path]) -> str:
    """Return the module that a name is, or is defined in; empty if it is none of these modules.

    That importing a submodule runs its package's __init__ first does not count: else each package
    that imports its own modules would be a circle.
    """
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def cycles(graph: Graph) -> list[list[str]]:
    """Return each largest set of modules that import one another, directly or through others."""
    reached = {module: reachable(graph, module) for module in graph}
    found = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    return [list(circle) for circle in sorted(found)]


def reachable(graph: Graph, start: str) -> set[str]:
    """Return the modules that one imports, directly or through others."""
    found: set[str] = set()
    left = [start]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left += new
    return found
