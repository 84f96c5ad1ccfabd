#!/usr/bin/env python3
"""Counts what each class has, and complains about those with too much.

A class has one purpose, so it has at most 25 methods (constructors and operators are not counted)
and 12 fields, and is written in two source files at most. LARGER names those that have more, with
what they have now: they may shrink, and no other may join them. An interface to a driver has as
many functions as the driver, and so has a class that implements it by forwarding to its parts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "standin")
METHODS, FIELDS, FILES = 25, 12, 2
# Methods, fields, source files. A struct may have any number of fields.
LARGER: dict[str, tuple[int, int, int]] = {
    "ChaoticRunner": (42, 14, 2),
    "CudaDriver": (52, 13, 1),  # the interface, a field per part
    "Driver": (51, 12, 2),  # the interface: one function per call
    "ForwardingDriver": (50, 12, 2),  # the same
    "Runner": (33, 12, 2),  # an interface, too: what the stand-in driver runs work by
    "SimDriver": (60, 13, 1),  # the interface, what only a simulated machine has, a field per part
    "VirtualRunner": (38, 12, 2),  # that interface
}

PARSER = Parser(Language(tree_sitter_cpp.language()))


@dataclass(frozen=True)
class Class:
    """A class or struct."""

    name: str
    methods: int
    fields: int
    is_data: bool  # a struct: all that it has is public


def text_of(node: Node | None) -> str:
    """Return a node's source."""
    return (node.text or b"").decode() if node else ""


def below(node: Node, kinds: tuple[str, ...]) -> Iterator[Node]:
    """Yield the outermost nodes of these kinds."""
    for child in node.children:
        if child.type in kinds:
            yield child
        else:
            yield from below(child, kinds)


def is_method(member: Node, name: str) -> bool:
    """Return whether a member is a function that counts."""
    functions = list(below(member, ("function_declarator",)))
    if not functions or member.type not in ("field_declaration", "function_definition"):
        return False
    declared = text_of(functions[0].child_by_field_name("declarator"))
    return declared != name and not declared.startswith(("operator", "~"))


def fields_in(member: Node) -> int:
    """Return how many fields a member declares."""
    if member.type != "field_declaration" or "static" in text_of(member).split():
        return 0
    functions = any(True for _ in below(member, ("function_declarator",)))
    if functions and "std::function" not in text_of(member):
        return 0
    return sum(1 for child in member.children_by_field_name("declarator"))


def classes_of(path: Path) -> Iterator[Class]:
    """Yield the classes of a file, those within others too."""
    waiting = [PARSER.parse(path.read_bytes()).root_node]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        body = node.child_by_field_name("body")
        if node.type not in ("class_specifier", "struct_specifier") or body is None:
            continue
        name = text_of(node.child_by_field_name("name"))
        members = [
            inner
            for member in body.children
            for inner in (member.children if member.type == "template_declaration" else [member])
        ]
        yield Class(
            name,
            sum(is_method(member, name) for member in members),
            sum(fields_in(member) for member in members),
            node.type == "struct_specifier",
        )


def files_of_classes() -> dict[str, int]:
    """Return in how many source files functions of a class are defined, by its name."""
    found: dict[str, int] = {}
    for path in sources((".cc",)):
        names = re.findall(
            r"^(?! )[\w:<>,&* \[\]]*?\b(\w+)::~?\w+\(", path.read_text("utf-8"), re.M
        )
        for name in set(names):
            found[name] = found.get(name, 0) + 1
    return found


def sources(suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files with these suffixes."""
    return sorted(
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in suffixes
    )


def complaints() -> list[str]:
    """Return one line for each class that has too much."""
    files = files_of_classes()
    lines = []
    for path in sources((".h", ".cc")):
        for found in classes_of(path):
            most = LARGER.get(found.name, (METHODS, FIELDS, FILES))
            has = (found.methods, found.fields, files.get(found.name, 0))
            if found.is_data:
                has = (has[0], 0, has[2])
            if any(a > b for a, b in zip(has, most)):
                where = path.relative_to(ROOT)
                lines.append(
                    f"{where}: {found.name} has {has[0]} methods, {has[1]} fields, "
                    f"{has[2]} source files (at most {most[0]}, {most[1]}, {most[2]})"
                )
    return lines


def main() -> int:
    """Print the complaints; 1 if there are any."""
    lines = complaints()
    print(*lines, sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
