"""Bad requests: status 2 and one line that says what is wrong, why, and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli_runner import assert_refused, polypath
from polypath.cli.suggestions import did_you_mean, with_suggestion

PLAN = ("plan", "gpu0", "gpu1", "1M")

REFUSED = [
    # what is asked, and a word of the line that helps
    (("plan", "gpu0", "gpu1", "1M", "--machine", "belug"), "Did you mean beluga?"),
    (("plan", "gpu0", "gpu1", "1M", "--machine", "./none.json"), "./none.json"),
    (("plan", "gpu0", "gpu1", "1M", "--machine", "synthetic:x"), "synthetic:7"),
    (("plan", "gpu0", "gpu9", "1M"), "gpu9"),
    (("plan", "moon", "gpu1", "1M"), "moon"),
    (("plan", "gpu0", "gpu1", "1X"), "1X"),
    (("plan", "gpu0", "gpu1", "0"), "0"),
    (("plan", "gpu0", "gpu1", "99999999999999999999"), "99999999999999999999"),
    (("plan", "gpu0", "gpu1"), "SIZE"),
    (("plan", "gpu0", "gpu1", "1M", "more"), "more"),
    ((*PLAN, "--paths", "direct,gpu7"), "gpu7"),
    ((*PLAN, "--paths", "direct,,gpu2"), "direct,,gpu2"),
    ((*PLAN, "--paths", ""), "empty"),
    ((*PLAN, "--executor", "grap"), "Did you mean graph?"),
    ((*PLAN, "--shares", "direct=0.9"), "add up"),
    ((*PLAN, "--shares", "direct=nan"), "direct=nan"),
    ((*PLAN, "--shares", "direct"), "PATH=NUMBER"),
    ((*PLAN, "--shares", "direct=-1,host=2"), "share"),
    ((*PLAN, "--shares", "direct=0.5,direct=0.5"), "twice"),
    ((*PLAN, "--shares", "direct=0.5,moon=0.5"), "moon"),
    ((*PLAN, "--chunks", "host=0"), "host=0"),
    ((*PLAN, "--chunks", "host=99999999999"), "host=99999999999"),
    ((*PLAN, "--json", "no/such/folder/x.json"), "no/such/folder"),
    ((*PLAN, "--plot", "picture.gif"), ".png"),
    ((*PLAN, "--plot", "picture"), ".png"),
    ((*PLAN, "--jsn", "-"), "--json"),
    (("plam",), "plan"),
    (("--nothing",), "--nothing"),
    (("bench", "putt"), "Did you mean put?"),
    (("bench", "jacobi", "--rows", "0"), "--rows"),
    (("bench", "jacobi", "--iterations", "3", "--sizes", "1M"), "3 iterations"),
    (("bench", "jacobi", "--paths", "thre", "--sizes", "1M"), "Did you mean three?"),
    (("bench", "jacobi", "--executor", "programm", "--sizes", "1M"), "Did you mean program?"),
    (("bench", "jacobi", "--window", "4", "--shares", "direct=1"), "--shares"),
    (("bench", "jacobi", "--type", "float32"), "--type"),
    (("bench", "jacobi", "--gpus", "5", "--sizes", "1M"), "5 GPUs"),
    (("bench", "jacobi", "--sizes", "1001"), "halo of"),
    (("bench", "put", "--rows", "8"), "--rows"),
    (("bench", "allredduce"), "Did you mean allreduce?"),
    (("bench", "allreduce", "--algorithms", "flatt", "--sizes", "1M"), "Did you mean flat?"),
    (("bench", "allreduce", "--algorithms", "exchange", "--sizes", "1M"), "flat, hierarchical"),
    (("bench", "allreduce", "--type", "flot32", "--sizes", "1M"), "Did you mean float32?"),
    (("bench", "allreduce", "--reduction", "summ", "--sizes", "1M"), "Did you mean sum?"),
    (("bench", "allreduce", "--gpus", "9", "--sizes", "1M"), "9 ranks"),
    (("bench", "broadcast", "--root", "64", "--sizes", "1M"), "rank 64"),
    (("bench", "allreduce", "--shares", "direct=1"), "--shares"),
    (("bench", "put", "--algorithms", "flat"), "--algorithms"),
    (("plan", "allreduce", "64M", "--executor", "native"), "native"),
    (("plan", "allredduce", "64M"), "allreduce"),
    ((*PLAN, "--root", "1"), "--root"),
    (("bench",), "OP"),
    (("bench", "mpi"), "Write: polypath mpi."),
    (("bench", "mpi", "--ranks", "2"), "Write: polypath mpi."),
    (("bench", "mpi", "--help"), "Write: polypath mpi."),
    (("bench", "--sizes", "1K", "mpi"), "Write: polypath mpi."),
    (("bench", "weights", "host", "gpu0", "--total", "4G"), "Write: polypath weights."),
    (("bench", "put", "--total", "4G"), "--total"),
    (("weights", "--sizes", "4M"), "--sizes"),
    (("mpi", "--executor", "graph"), "--executor"),
    (("bench", "put", "gpu0"), "destination"),
    (("bench", "put", "host", "gpu0"), "host0"),
    (("bench", "h2d", "gpu0", "gpu1"), "gpu0"),
    (("bench", "put", "--sizes", "4M:1M"), "4M:1M"),
    (("bench", "put", "--sizes", "0"), "0"),
    (("bench", "put", "--sizes", "1000T"), "size"),
    (("bench", "put", "--window", "0"), "window"),
    (("bench", "put", "--window", "99999999999"), "window"),
    (("bench", "put", "--window", "many"), "--window"),
    (("bench", "put", "--pieces", "4"), "no pieces"),
    (("bench", "many", "--pieces", "0"), "--pieces 0"),
    (("bench", "many", "--pieces", "-1"), "pieces"),
    (("bench", "many", "--pieces", "99999999999"), "pieces"),
    (("bench", "many", "--sizes", "1G"), "512 pieces of 1G"),
    (("bench", "many", "host", "host"), "host0"),
    (("tune", "gpu0"), "destination"),
    (("tune", "--executor", "auto"), "stream"),
    (("tune", "--sizes", ""), "size"),
    (("tune", "gpu0", "gpu9"), "gpu9"),
    (("trace", "gpu0", "gpu1", "1M"), "--output"),
    (("trace", "gpu0", "gpu1", "--output", "-"), "SRC DST SIZE"),
    (("trace", "--output", "-", "--"), "nothing follows"),
    (("trace", "--output", "-", "--machine", "beluga", "--", "true"), "as it is"),
    (("info", "--machine", ""), "machine"),
]


@pytest.mark.parametrize(("arguments", "word"), REFUSED, ids=[" ".join(a) for a, _ in REFUSED])
def test_a_bad_request_is_refused_in_one_line(arguments: tuple[str, ...], word: str):
    run = polypath(*arguments)

    assert_refused(run)
    assert word in run.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("POLYPATH_MIN_CHUNK", "much"),
        ("POLYPATH_EXECUTOR", "slow"),
        ("POLYPATH_MACHIN", "beluga"),
        ("POLYPATH_MACHINE", "belug"),
        ("POLYPATH_TUNED", "/no/such/file.json"),
    ],
)
def test_a_bad_setting_is_refused_in_one_line(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(variable, value)

    run = polypath(*PLAN)

    assert_refused(run)
    assert variable in run.stderr or value in run.stderr


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[1, 2",
        '{"schema": "polypath.machine/2"}',
        "\x00\x01",
        '{"schema": "polypath.machine/1", "name": "x\\n\\u001b[31m"}',
    ],
)
def test_a_damaged_machine_file_is_refused_in_one_line(content: str, tmp_path: Path):
    file = tmp_path / "mine.json"
    file.write_text(content)

    run = polypath("info", "--machine", file)

    assert_refused(run)
    assert "mine.json" in run.stderr and "\x1b" not in run.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_without_permission_is_refused(tmp_path: Path):
    file = tmp_path / "kept.json"
    file.write_text("kept")
    file.chmod(0o400)

    assert_refused(polypath(*PLAN, "--json", file))
    assert file.read_text() == "kept"


def test_a_folder_is_no_file(tmp_path: Path):
    assert_refused(polypath(*PLAN, "--json", tmp_path))


def test_a_name_with_control_characters_stays_on_one_line():
    assert_refused(polypath("plan", "gpu0\n\x1b[2J", "gpu1", "1M"))


def test_suggestions_name_the_one_that_is_closest():
    assert did_you_mean("belgua", ["beluga", "narval"]) == " Did you mean beluga?"
    assert did_you_mean("gpu9", ["gpu0", "gpu1"]) == ""
    assert did_you_mean("moon", ["beluga", "narval"]) == ""


def test_suggestions_come_from_the_names_that_a_message_lists():
    message = "machine 'narvl' is unknown (the zoo has beluga, narval) Name one of them."

    assert with_suggestion(message) == f"{message} Did you mean narval?"
    assert with_suggestion("no names here") == "no names here"


@pytest.mark.parametrize("place", ["gpu9", "host1", "cuda9"])
def test_no_place_is_suggested_that_the_machine_does_not_have(place: str) -> None:
    message = f"place '{place}' is unknown (machine 'one' has gpu10, host0) Name one of them."

    assert f"Did you mean {place}?" not in with_suggestion(message)
    assert "gpu9" not in with_suggestion(message).removeprefix(message)
