"""Lines that are read without typer: what typer makes of them, and no line that it refuses."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polypath.cli import app, plain_lines, running
from polypath.cli.command_line import remember
from polypath.cli.commands import NAMES, RUN_PROGRAMS, command_of
from polypath.cli.declared import Option

COMMANDS = {name: command_of(name) for name in NAMES}
VALUES = st.sampled_from(
    ["gpu0", "host", "64M", "1", "4", "0", "007", "-1", "1_0", "1.5", "x", "", "-", "--", "a=b"]
)
UNUSUAL = st.sampled_from(["-q", "-h", "--help", "--no-such", "--json", "--machine=x", "--jso=x"])


def plain(name: str, words: list[str]) -> dict[str, Any] | None:
    return plain_lines.plain_arguments(COMMANDS[name], words, name in RUN_PROGRAMS)


def options_of(name: str) -> list[str]:
    values = plain_lines.values_of(COMMANDS[name])
    options = [value for value in values if isinstance(value.declared, Option)]
    return [word for option in options for word in plain_lines.names_of(option)]


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw a command and words for it, of which most are options that it has, with a value."""
    name = draw(st.sampled_from(NAMES))
    option = st.sampled_from(options_of(name))
    piece = st.one_of(
        VALUES.map(lambda value: [value]),
        st.tuples(option, VALUES).map(list),
        st.tuples(option, VALUES).map(lambda pair: ["=".join(pair)]),
        option.map(lambda word: [word]),
        UNUSUAL.map(lambda word: [word]),
    )
    return name, [word for words in draw(st.lists(piece, max_size=4)) for word in words]


class Recorder:
    """Stands for a command, and keeps what it is called with."""

    def __init__(self, name: str) -> None:
        self.calls: list[dict[str, Any]] = []
        command = COMMANDS[name]

        @functools.wraps(command)
        def record(**arguments: Any) -> None:
            self.calls.append(arguments)

        self.command = record


def typers(name: str, words: list[str]) -> list[dict[str, Any]]:
    """Return what typer calls a command with; nothing for what it refuses, or answers itself."""
    recorder = Recorder(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "command_of", lambda _: recorder.command)
        remember([name, *words])
        try:
            app.run_app([name, *words])
        except Exception as error:
            assert hasattr(error, "format_message") or name == "bench", error
    return recorder.calls


def completed(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with the defaults of the others."""
    signature = plain_lines.inspect.signature(COMMANDS[name])
    bound = signature.bind(**arguments)
    bound.apply_defaults()
    return dict(bound.arguments)


@settings(max_examples=200, deadline=None)
@given(lines())
def test_a_plain_line_means_what_typer_makes_of_it(line: tuple[str, list[str]]) -> None:
    name, words = line

    arguments = plain(name, words)

    if arguments is not None:
        assert typers(name, words) == [completed(name, arguments)]


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("machines", {}),
        ("machines --json -", {"json_target": "-"}),
        ("info --machine=h200x4 --settings", {"machine": "h200x4", "settings": True}),
        ("plan gpu0 gpu1 64M --gpus 4", {"words": ["gpu0", "gpu1", "64M"], "gpus": 4}),
        ("bench put gpu0 --no-verify", {"operation": "put", "source": "gpu0", "verify": False}),
        ("run --how preload sh -c --how", {"how": "preload", "command": ["sh", "-c", "--how"]}),
        ("run -q -- sh -- x", {"quiet": True, "command": ["sh", "--", "x"]}),
        ("trace a b 1M --output x", {"transfer": ["a", "b", "1M"], "output": "x"}),
    ],
)
def test_usual_lines_are_plain(line: str, arguments: dict[str, Any]) -> None:
    name, *words = line.split()

    assert plain(name, words) == arguments
    assert typers(name, words) == [completed(name, arguments)]


@pytest.mark.parametrize(
    "line",
    [
        "machines --help",
        "machines left over",
        "machines --json",
        "machines --json --json",
        "machines --json a --json b",
        "plan",
        "plan a b 1 --gpus 0",
        "plan a b 1 --gpus 01",
        "plan a b 1 --explain=yes",
        "plan -- a b 1",
        "trace a b 1M",
        "mpi --seconds 1",
    ],
)
def test_other_lines_are_typers(line: str) -> None:
    name, *words = line.split()

    assert plain(name, words) is None


@pytest.fixture
def without_typer(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    asked: list[list[str]] = []
    monkeypatch.setattr(app, "run_app", lambda words: asked.append(words) or 0)
    yield asked


def test_typer_is_asked_for_what_is_not_plain(without_typer: list[list[str]]) -> None:
    for words in ([], ["--help"], ["nothing"], ["plan", "--help"]):
        assert running.run_words(words) == 0

    assert without_typer == [[], ["--help"], ["nothing"], ["plan", "--help"]]
