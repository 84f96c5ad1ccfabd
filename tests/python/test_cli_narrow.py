"""Tables in few columns: numbers and words stay whole, and what is left out is said."""

from __future__ import annotations

import io

import pytest
from cli_runner import succeed
from polypath.cli.tables import new_table
from rich.console import Console

UNITS = ("%", "us", "ms", "s", "KiB", "MiB", "GiB", "GB/s")
BENCH = ("bench", "put", "gpu0", "gpu1", "--machine", "beluga", "--sizes", "1M:2M")


def printed(
    width: int, *columns: str, spare: tuple[str, ...] = (), rows: list[tuple[str, ...]]
) -> str:
    """Return a table as a terminal of that width gets it."""
    table = new_table(*columns, spare=spare)
    for row in rows:
        table.add_row(*row)
    text = io.StringIO()
    Console(file=text, width=width).print(table, crop=False)
    return text.getvalue()


@pytest.mark.parametrize("columns", [50, 60, 70])
def test_numbers_stay_with_their_units(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    run = succeed(*BENCH)

    rows = [line.split() for line in run.stdout.splitlines() if " MiB " in line][:2]
    assert [row[:5] for row in rows] == [
        ["1", "MiB", "native", "32.6", "us"],
        ["2", "MiB", "stream", "49.0", "us"],
    ]
    assert all(len(line) <= columns for line in run.stdout.splitlines())
    assert "too narrow for: verified" in run.stdout


def units_alone(text: str) -> list[str]:
    """Return the lines that begin with a unit whose number ends the line before."""
    lines = [line.strip() for line in text.splitlines()]
    pairs = zip(lines, lines[1:])
    return [
        second for first, second in pairs
        if first[-1:].isdigit() and second.split(" ")[0].strip(".,;") in UNITS
    ]  # fmt: skip


@pytest.mark.parametrize("columns", range(40, 80, 3))
def test_sentences_keep_numbers_with_their_units(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    bench = succeed(*BENCH[:-1], "64M")
    plan = succeed("plan", "ring", "64M", "--machine", "beluga", "--explain")

    assert units_alone(bench.stdout) == []
    assert units_alone(plan.stdout) == []


@pytest.mark.parametrize("columns", [45, 52, 60])
@pytest.mark.parametrize(
    "command",
    ["plan allreduce 64M --machine h200x8", "plan broadcast 1M --machine h200x4", "paper put",
     "tune gpu0 gpu1 --machine beluga --sizes 64M", "info --machine mist"],
)  # fmt: skip
def test_cells_keep_numbers_with_their_units(
    command: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    run = succeed(*command.split())

    assert units_alone(run.stdout) == []


def test_nothing_is_left_out_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    run = succeed(*BENCH)

    assert "verified" in run.stdout and "too narrow" not in run.stdout


def test_long_texts_are_broken_and_short_ones_are_not() -> None:
    text = printed(24, "name", "what it is", rows=[("12.3 us", "a text of several words")])

    lines = text.splitlines()
    assert lines[2].startswith("12.3 us  a text")
    assert all(len(line) <= 24 for line in lines)
    assert " ".join(line[9:].strip() for line in lines[2:]) == "a text of several words"


def test_the_first_spare_column_goes_first() -> None:
    row = [("aaaaaaaa", "bbbbbbbb", "cccccccc")]

    text = printed(20, "one", "two", "three", spare=("two", "three"), rows=row)

    assert "aaaaaaaa  cccccccc" in text
    assert text.endswith("(too narrow for: \ntwo)\n")


def test_what_nothing_can_be_left_out_of_is_longer_than_the_terminal() -> None:
    text = printed(12, "one", "two", rows=[("aaaaaaaa", "bbbbbbbb")])

    assert "aaaaaaaa  bbbbbbbb" in text


def test_no_color_leaves_out_bold_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    styled = succeed(*BENCH).stdout
    monkeypatch.setenv("NO_COLOR", "1")

    plain = succeed(*BENCH).stdout

    assert "\x1b[" in styled and "\x1b[" not in plain


def test_latency_is_shown_in_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    run = succeed("bench", "latency", "--machine", "beluga", "--sizes", "1K")

    row = next(line for line in run.stdout.splitlines() if line.strip().startswith("1 KiB"))
    assert row.split()[:7] == ["1", "KiB", "native", "10.7", "us", "10.7", "us"]
    assert "GB/s" not in run.stdout
