"""`polypath plan` of several transfers: what is shown, what is written, what is refused."""

from __future__ import annotations

import re

import jsonschema
import pytest
import result_schemas
from cli_runner import assert_refused, polypath, succeed
from polypath import _core, reports
from polypath.cli.units import factor_text, percent_text, time_text

MIB = 1 << 20
BELUGA = ("--machine", "beluga")
RING = ("plan", "ring", "64M", *BELUGA)
PAIR = ("plan", "gpu0:gpu1:64M", "gpu1:gpu0:16M", *BELUGA)


def rows_of(output: str) -> list[list[str]]:
    """Return the words of the table's rows, without lines that only go on with shares."""
    lines = [line.split() for line in output.splitlines()]
    return [line for line in lines if len(line) > 5 and re.fullmatch(r"(gpu|host)\d", line[0])]


def test_a_row_says_what_a_transfer_does():
    run = succeed(*PAIR)

    document = succeed(*PAIR, "--json", "-").json()
    assert run.stdout.startswith("beluga (simulated): 2 transfers\n")
    rows = rows_of(run.stdout)
    assert [row[:4] for row in rows] == [
        ["gpu0", "gpu1", "64", "MiB"],
        ["gpu1", "gpu0", "16", "MiB"],
    ]
    for row, transfer in zip(rows, document["transfers"]):
        ends, native = transfer["predicted_seconds"], transfer["native_seconds"]
        assert row[4] == transfer["executor"]
        times = [*time_text(ends).split(), *time_text(native).split()]
        assert row[5:10] == [*times, factor_text(native / ends)]


def test_a_row_has_the_shares_and_chunks_of_its_paths(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "200")

    output = succeed(*RING).stdout

    for transfer in succeed(*RING, "--json", "-").json()["transfers"]:
        used = [path for path in transfer["paths"] if path["included"]]
        assert len(used) > 1
        for path in used:
            chunks = rf" \({path['chunks']}\)" if path["chunks"] > 1 else ""
            assert re.search(
                f"{path['via']} {100 * path['share']:.0f} %{chunks}(,| *$)", output, re.M
            )


def test_the_lines_below_are_of_the_whole_set():
    output = " ".join(succeed(*RING).stdout.split())

    plan = succeed(*RING, "--json", "-").json()
    end, native, bound = (
        plan[name] for name in ("predicted_seconds", "native_seconds", "flow_bound_seconds")
    )
    for words in (
        "beluga (simulated): ring, 4 transfers of 64 MiB each",
        f"The last one ends after {time_text(end)}, natively {time_text(native)}",
        f": {factor_text(native / end)} as fast.",
        f"The flow bound is {time_text(bound)}",
        f"this one ends {percent_text(end / bound - 1)} later.",
        f"The calls take {time_text(plan['call_seconds'])} of the issuing thread.",
    ):
        assert words in output


def test_native_copies_are_called_so():
    output = succeed(*RING, "--executor", "native").stdout

    assert "All are native copies" in output
    assert [row[4] for row in rows_of(output)] == ["native"] * 4


def test_the_document_is_that_of_the_library():
    pair = [("gpu0", "gpu1", 64 * MIB), ("gpu1", "gpu0", 16 * MIB)]
    fixed = {"machine": "beluga", "executor": "graph", "issuers": "processes"}
    options = ("--executor", "graph", "--issuers", "processes", "--json", "-")

    named = succeed(*PAIR, *options).json()
    pattern = succeed(*RING, "--gpus", "3", *options).json()

    jsonschema.validate(named, result_schemas.JOINT_PLAN)
    assert named == reports.joint_plan(pair, **fixed)
    assert pattern == reports.pattern_plan("ring", 64 * MIB, gpus=3, **fixed)


def test_the_sets_times_are_those_of_its_last_transfers():
    plan = succeed(*PAIR, "--json", "-").json()

    for name in ("predicted_seconds", "native_seconds"):
        assert plan[name] == max(transfer[name] for transfer in plan["transfers"])
    assert plan["flow_bound_seconds"] <= plan["predicted_seconds"] <= plan["native_seconds"]


@pytest.mark.parametrize("pattern", _core.patterns())
def test_every_pattern_is_planned(pattern: str):
    plan = succeed("plan", pattern, "4M", *BELUGA, "--gpus", "3", "--json", "-").json()

    jsonschema.validate(plan, result_schemas.JOINT_PLAN)
    for transfer in plan["transfers"]:
        assert sum(path["bytes"] for path in transfer["paths"]) == 4 * MIB
        assert transfer["predicted_seconds"] <= 1.002 * transfer["native_seconds"]


def test_one_transfer_in_one_word_is_a_set_too():
    run = succeed("plan", "gpu0:gpu1:64M", *BELUGA)

    assert run.stdout.startswith("beluga (simulated): 1 transfer\n")


def test_reasons_are_given_for_every_transfer_where_they_are_asked_for():
    explained = " ".join(succeed(*PAIR, "--explain").stdout.split())

    plan = succeed(*PAIR, "--json", "-").json()
    reasons = [path["reason"] for each in plan["transfers"] for path in each["paths"]]
    assert all(reason in explained for reason in reasons)
    assert "gpu1 -> gpu0, 16 MiB" in explained
    assert reasons[0] not in " ".join(succeed(*PAIR).stdout.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_its_width_and_breaks_no_path(columns: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", str(columns))

    output = succeed(*RING, "--explain").stdout

    assert max(map(len, output.splitlines())) <= columns
    assert "\xa0" not in output
    assert not re.search(r"\b(direct|(gpu|host)\d) *$", output.split("The last")[0], re.M)


SET = "gpu0:gpu1:1M"
REFUSED = [
    # what is asked, and words of the line that helps
    (("rign", "1M"), ("'rign'", "ring, pairs, fan-out", "Did you mean ring?")),
    (("gpu0:gpu1",), ("'gpu0:gpu1' has no size", "SRC:DST:SIZE")),
    ((SET, "gpu0:gpu2"), ("'gpu0:gpu2' has no size",)),
    (("gpu0:gpu1:",), ("has no size",)),
    (("gpu0:gpu1:1M:2M",), ("'gpu0:gpu1:1M:2M' cannot be read",)),
    ((":gpu1:1M",), ("':gpu1:1M' cannot be read",)),
    (("gpu0:gpu0:1M",), ("both gpu0", "two different places")),
    (("gpu0:gpu1:0",), ("size is 0",)),
    (("ring", "0"), ("size is 0",)),
    (("gpu0:gpu1:1X",), ("1X",)),
    (("ring", "1X"), ("1X",)),
    (("ring", "much"), ("much",)),
    (("gpu0:gpu9:1M",), ("gpu9",)),
    ((SET, "moon:gpu1:1M"), ("moon",)),
    (("ring",), ("'ring' has no SIZE", "ring 64M")),
    (("gpu0",), ("no DST and SIZE", "ring, pairs")),
    (("gpu0", "gpu1"), ("no SIZE",)),
    (("gpu0", "gpu1", "1M", "more"), ("'more'",)),
    (("gpu0", "gpu1", "1M", SET), ("mixes 'gpu0' and 'gpu0:gpu1:1M'",)),
    (("ring", "1M", SET), ("mixes 'ring'", "SRC:DST:SIZE")),
    (("ring", "1M", "--gpus", "9"), ("9 GPUs", "'beluga' has 4")),
    (("ring", "1M", "--gpus", "1"), ("needs 2 GPUs",)),
    (("ring", "1M", "--gpus", "0"), ("--gpus",)),
    (("ring", "1M", "--gpus", "two"), ("--gpus",)),
    (("ring", "1M", "--issuers", "thread"), ("'thread'", "Did you mean threads?")),
    (("ring", "1M", "--issuers", ""), ("one-thread, threads, processes",)),
    (("ring", "1M", "--executor", "grap"), ("Did you mean graph?",)),
    ((SET, "--gpus", "2"), ("--gpus", "for a pattern")),
    ((SET, "--paths", "direct"), ("--paths", "for one transfer")),
    ((SET, "--shares", "direct=1"), ("--shares", "for one transfer")),
    (("ring", "1M", "--chunks", "host=2"), ("--chunks", "for one transfer")),
    (("gpu0", "gpu1", "1M", "--issuers", "threads"), ("--issuers", "for several")),
    (("gpu0", "gpu1", "1M", "--gpus", "2"), ("--gpus", "for several")),
]


@pytest.mark.parametrize(("words", "parts"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_a_bad_request_is_refused_in_one_line(words: tuple[str, ...], parts: tuple[str, ...]):
    run = polypath("plan", *words, *BELUGA)

    assert_refused(run)
    for part in parts:
        assert part in run.stderr


def test_another_order_of_issue_is_said():
    long_before_short = ("plan", "gpu0:gpu1:512M", "gpu2:gpu3:1M", *BELUGA)

    run = succeed(*long_before_short)

    document = succeed(*long_before_short, "--json", "-").json()
    assert document["order"] == [1, 0]
    assert [transfer["bytes"] for transfer in document["transfers"]] == [512 * MIB, MIB]
    assert "The order of issue is that of the rows 2, 1" in " ".join(run.stdout.split())


def test_the_order_asked_for_is_not_mentioned():
    assert "order of issue" not in succeed(*PAIR).stdout
