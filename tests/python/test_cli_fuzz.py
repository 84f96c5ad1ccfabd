"""Whatever is written on the command line: status 0 or 2, never a traceback."""

from __future__ import annotations

import pytest
from cli_runner import assert_refused, polypath
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TEXT = st.text(max_size=24)
NAMES = ["gpu0", "gpu1", "gpu3", "host", "host0", "direct", "beluga", "h200x4", "synthetic:5"]
PIECES = st.sampled_from([*NAMES, "=", ",", ":", "0.5", "1", "-1", "1e309", "K", "64K", " ", "-"])
WORDS = st.one_of(TEXT, st.sampled_from(NAMES), st.lists(PIECES, max_size=6).map("".join))

quick = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def assert_answered(*arguments: str) -> None:
    run = polypath(*arguments)
    if run.status != 0:
        assert_refused(run)


@quick
@given(WORDS, WORDS, st.one_of(WORDS, st.integers(0, 2**70).map(str)))
def test_places_and_sizes(source: str, destination: str, size: str):
    assert_answered("plan", "--machine", "beluga", "--", source, destination, size)


@settings(quick, max_examples=60)
@given(st.lists(st.one_of(WORDS, st.just("gpu0:gpu1:64K"), st.just("ring")), max_size=4))
def test_words_of_a_plan(words: list[str]):
    assert_answered("plan", "--machine", "beluga", "--", *words)


@quick
@given(WORDS.filter(lambda name: "/" not in name and not name.endswith(".json")))
def test_machines(machine: str):
    assert_answered("plan", "gpu0", "gpu1", "64K", "--machine", machine)


@quick
@given(st.sampled_from(["--paths", "--shares", "--chunks", "--executor"]), WORDS)
def test_overrides(option: str, value: str):
    assert_answered("plan", "gpu0", "gpu1", "4M", "--machine", "h200x4", option, value)


@settings(quick, max_examples=60)
@given(st.sampled_from(["--window", "--paths", "--shares", "--chunks", "--executor"]), WORDS)
def test_options_of_a_benchmark(option: str, value: str):
    assert_answered("bench", "put", "--machine", "beluga", "--sizes", "64K", option, value)


@quick
@given(
    st.dictionaries(st.sampled_from(["direct", "gpu2", "gpu3", "host"]), st.floats(), max_size=4)
)
def test_shares(shares: dict[str, float]):
    text = ",".join(f"{via}={share}" for via, share in shares.items())
    assert_answered("plan", "gpu0", "gpu1", "4M", "--machine", "beluga", "--shares", text)


@settings(quick, max_examples=60)
@given(WORDS.filter(lambda word: "\x00" not in word), WORDS)
@pytest.mark.parametrize("command", ["", "bench", "tune"])
def test_commands_and_operations(command: str, first: str, second: str):
    arguments = [argument for argument in (command, first, second) if argument]
    if first not in ("demo", "-h", "--help"):
        assert_answered(*arguments, "--no-such-option")
