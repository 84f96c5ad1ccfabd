"""The command that a document came from, so that its reader can run it again."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from polypath.cli.output import Document

ARGUMENTS = "polypath.arguments"  # where the context keeps them
RESULTS = ("--json", "--plot")  # where results go is not part of what is measured


def remember_arguments(context: Any, arguments: list[str]) -> None:
    """Keep a command's arguments as they were typed."""
    context.meta[ARGUMENTS] = list(arguments)


def add_command(document: Document, context: typer.Context) -> None:
    """Put the command that runs into a document: its field `command`."""
    words = ["polypath", str(context.info_name), *_what_is_measured(context.meta[ARGUMENTS])]
    document["command"] = shlex.join(words)


def _what_is_measured(arguments: list[str]) -> list[str]:
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in RESULTS:
            next(words, None)  # its value
        elif not word.startswith(tuple(f"{name}=" for name in RESULTS)):
            kept.append(word)
    return kept
