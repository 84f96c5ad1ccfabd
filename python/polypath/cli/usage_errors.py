"""Lines that typer cannot read, in the grammar of messages: problem (why it is one) what to do."""

from __future__ import annotations

import re
from typing import Any

from polypath import reports
from polypath.cli.command_line import typed_words
from polypath.cli.commands import NAMES
from polypath.cli.suggestions import did_you_mean

Parts = tuple[str, str, str]  # problem, why, and a suggestion or nothing


def usage_line(error: Any) -> str:
    """Return the line to show for an error of typer's, or of click's under it."""
    if size := _negative_size(getattr(error, "option_name", None) or ""):
        return f"size '{size}' cannot be used (a size is not negative) Write for example 64M."
    command = _command_of(error)
    problem, why, suggestion = _parts(error, command)
    return f"{problem} ({why}) '{command} --help' lists what there is.{suggestion}"


def _command_of(error: Any) -> str:
    if getattr(error, "ctx", None) is not None:
        return str(error.ctx.command_path)
    name = next(iter(typed_words()), "")
    return f"polypath {name}" if name in NAMES else "polypath"


def _parts(error: Any, command: str) -> Parts:
    possibilities = getattr(error, "possibilities", None)
    if possibilities is not None:
        name = error.option_name
        why = f"'{command}' has no such option"
        return f"option '{name}' is unknown", why, did_you_mean(name, possibilities)
    if getattr(error, "option_name", None):
        return f"option '{error.option_name}' has no value", "it takes one", ""
    text = " ".join(str(error.format_message()).split())
    if extra := re.search(r"unexpected extra argument(?:\(s\)|s)? \((.*)\)$", text):
        why = f"'{command}' takes no more words"
        return f"'{extra[1]}' is left over", why, _as_machine(error, extra[1])
    if name := re.match(r"No such command '([^']*)'", text):
        why = f"polypath has {', '.join(NAMES)}"
        return f"command '{name[1]}' is unknown", why, did_you_mean(name[1], NAMES)
    if missing := re.match(r"Missing argument '([^']*)'", text):
        return f"argument '{missing[1]}' is missing", f"'{command}' needs it", ""
    return _bad_value(error) or _in_typers_words(text, command)


def _in_typers_words(text: str, command: str) -> Parts:
    return text[:1].lower() + text[1:].rstrip("."), f"'{command}' reads it in another way", ""


def _negative_size(option: str) -> str:
    """Return the word that a line was refused for, if it is a negative number: -64M."""
    if not re.fullmatch(r"-\d", option):
        return ""
    return next((word for word in typed_words() if re.match(rf"{option}\w*$", word)), option)


def _as_machine(error: Any, word: str) -> str:
    """Return a suggestion where the word is a machine, and the command takes one as an option."""
    options = [option for each in error.ctx.command.params for option in each.opts]
    known = word.endswith(".json") or word in (each["name"] for each in reports.machines())
    return f" Did you mean --machine {word}?" if known and "--machine" in options else ""


def _bad_value(error: Any) -> Parts | None:
    """Return what is wrong with an option's value; nothing where only typer knows."""
    details = getattr(error.__cause__, "errors", None)  # pydantic's, under newer versions of typer
    if not callable(details) or not getattr(error, "param", None):
        return None
    first = details()[0]
    bounds = first.get("ctx", {})
    takes = {
        "int_parsing": "it takes a whole number",
        "float_parsing": "it takes a number",
        "greater_than_equal": f"it is at least {bounds.get('ge')}",
        "less_than_equal": f"it is at most {bounds.get('le')}",
    }.get(first["type"])
    shown = f"{error.param.opts[0]} {first['input'] or repr(first['input'])}"
    return (f"{shown} cannot be used", takes, "") if takes else None
