"""Reads the lines that are usually typed: a command's words, each option once, nothing amiss.

Typer reads the others, and has the help and what is said of mistakes. It takes longer to load than
most commands to run, so a line that has one meaning only is read here. What both read, they read
alike (tests/python/test_plain_lines.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple, Union, get_args, get_origin, get_type_hints

from polypath.cli.declared import Argument, Option, Parameter

MOST_DIGITS = 9  # of a whole number that is read here


class NotPlainError(Exception):
    """The line is not one that is read at sight."""


class Value(NamedTuple):
    """One parameter of a command."""

    key: str  # in its signature
    kind: Any  # str, int or bool; another one is typer's
    several: bool
    required: bool
    declared: Parameter


def plain_arguments(
    command: Callable[..., Any], words: list[str], runs_program: bool = False
) -> dict[str, Any] | None:
    """Return what to call a command with, or nothing where only typer knows.

    Of a command that runs a program, what follows the program's name belongs to that.
    """
    values = values_of(command)
    named = {
        name: value for value in values if isinstance(value.declared, Option)
        for name in names_of(value)
    }  # fmt: skip
    placed = [value for value in values if isinstance(value.declared, Argument)]
    try:
        found, places = _split(words, named, runs_program)
        found |= _placed(places, placed)
    except NotPlainError:
        return None
    complete = all(value.key in found for value in values if value.required)
    return found if complete else None


def values_of(command: Callable[..., Any]) -> list[Value]:
    """Return the parameters of a command, as its signature declares them."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    return [
        _value(key, _without_none(hints[key]), parameter.default is inspect.Parameter.empty)
        for key, parameter in signature.parameters.items()
    ]


def _value(key: str, annotated: Any, required: bool) -> Value:
    kind, declared = annotated.__origin__, annotated.__metadata__[0]
    kind = _without_none(kind)
    several = get_origin(kind) is list
    return Value(key, get_args(kind)[0] if several else kind, several, required, declared)


def _without_none(hint: Any) -> Any:
    """Return the type that may be missing; before Python 3.11 a default of None says so, too."""
    return get_args(hint)[0] if get_origin(hint) is Union else hint


def names_of(value: Value) -> dict[str, bool]:
    """Return the names of an option; of a switch whether each puts it on."""
    on, _, off = value.declared.names[0].partition("/")
    return dict.fromkeys((on, *value.declared.names[1:]), True) | ({off: False} if off else {})


def _split(
    words: list[str], named: dict[str, Value], runs_program: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the options, and the other words."""
    found: dict[str, Any] = {}
    places: list[str] = []
    rest = iter(words)
    for word in rest:
        if runs_program and (word == "--" or not word.startswith("-")):
            return found, [*([word] if word != "--" else []), *rest]
        if not word.startswith("-"):
            places.append(word)
            continue
        name, equals, text = word.partition("=")
        value = named.get(name)
        if value is None or value.key in found:
            raise NotPlainError
        if value.kind is bool:
            found[value.key] = _switched(value, name, equals)
        else:
            found[value.key] = _read(value, text if equals else _following(rest))
    return found, places


def _switched(value: Value, name: str, equals: str) -> bool:
    if equals:
        raise NotPlainError
    return names_of(value)[name]


def _following(rest: Iterator[str]) -> str:
    """Return the word behind an option: one that looks like an option may be forgotten to be."""
    word = next(rest, "")
    if word.startswith("-") and word != "-":
        raise NotPlainError
    return word


def _placed(words: list[str], values: list[Value]) -> dict[str, Any]:
    """Return the values that are known by their places, those that are there."""
    found: dict[str, Any] = {}
    for value in values:
        if value.several and words:
            found[value.key], words = [_read(value, word) for word in words], []
        elif words:
            found[value.key], words = _read(value, words[0]), words[1:]
    if words:
        raise NotPlainError
    return found


def _read(value: Value, word: str) -> str | int:
    """Return what a word means where it has one meaning."""
    if not word or not word.isprintable():
        raise NotPlainError
    if value.kind is str:
        return word
    if value.kind is not int or not _is_number(word):
        raise NotPlainError
    number, least, most = int(word), value.declared.min, value.declared.max
    if (least is not None and number < least) or (most is not None and number > most):
        raise NotPlainError
    return number


def _is_number(word: str) -> bool:
    plain = word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS
    return plain and (word == "0" or not word.startswith("0"))
