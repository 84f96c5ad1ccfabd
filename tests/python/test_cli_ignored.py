"""What would be ignored is refused: options that nothing listens to, and requests at odds."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import assert_refused, polypath, succeed

PLAN = ("plan", "gpu0", "gpu1", "1M")
SOLVER = ("bench", "jacobi")

IGNORED = [
    # what is asked, and words of the line that helps
    ((*PLAN, "--explain"), ("--explain", "several transfers")),
    (("plan", "allreduce", "1M", "--explain"), ("--explain", "transfers")),
    (("plan", "allreduce", "1M", "--root", "1"), ("--root", "reduce, broadcast")),
    (("plan", "broadcast", "1M", "--reduction", "sum"), ("--reduction", "allreduce")),
    (("bench", "allgather", "--reduction", "sum"), ("--reduction", "allreduce")),
    (("plan", "allreduce", "1M", "--counts", "1,2"), ("--counts", "alltoallv")),
    (("plan", "allreduce", "1M", "2M"), ("'2M' left over",)),
    (("plan", "allreduce", "gpu0", "gpu1"), ("allreduce is over all GPUs", "--gpus COUNT")),
    (("bench", "allreduce", "gpu0", "gpu1"), ("allreduce is over all GPUs", "--gpus COUNT")),
    ((*SOLVER, "gpu0", "gpu1"), ("jacobi is over all GPUs", "--gpus COUNT")),
    (("bench", "allreduce", "--window", "4"), ("--window", "copies")),
    ((*SOLVER, "--window", "4"), ("--window", "copies")),
    (("bench", "ring", "--gpus", "2"), ("--gpus", "collectives and jacobi")),
    (("trace", "gpu0", "gpu1", "1M", "--how", "preload", "--output", "-"), ("--how", "program")),
    (("run", "--dry-run", "--report", "x.json", "true"), ("--report", "--dry-run")),
    (("paper", "put", "--real"), ("'put'", "--real")),
    ((*PLAN, "--executor", "native", "--paths", "gpu2"), ("--paths", "native")),
    ((*PLAN, "--executor", "native", "--shares", "gpu2=1"), ("--shares", "native")),
    ((*PLAN, "--paths", "direct", "--shares", "gpu2=1"), ("gpu2", "--paths has direct")),
    ((*PLAN, "--paths", "direct", "--chunks", "gpu2=4"), ("gpu2", "--paths has direct")),
    ((*PLAN, "--shares", "direct=1", "--chunks", "gpu2=4"), ("gpu2", "--shares has direct")),
]

MISTAKEN = [
    (("plan", "gpu0", "gpu1", "-64M"), ("size '-64M' cannot be used (a size is not negative)",)),
    (("bench", "put", "--sizes", "-64M"), ("'-64M' cannot be used", "Write for example 64M.")),
    (("plan", "gpu0:gpu1:-64M"), ("'-64M' cannot be used", "Write for example 64M.")),
    ((*PLAN, "--shares", "half"), ("PATH=NUMBER, from 0 to 1",)),
    (("plan", "gpu0", "gpu1", "nan"), ("Write for example 4096, 64K or 512M.\n",)),
    ((*PLAN, "--machine", "synthetic:x"), ("Write for example synthetic:7.\n",)),
    ((*PLAN, "--json", ""), ("its name is empty",)),
    ((*SOLVER, "--rows", "10000000"), ("--rows 10000000", "1 to 1048576")),
    ((*SOLVER, "--gpus", "1"), ("--gpus 1", "2 to 64")),
    ((*SOLVER, "--sizes", "17"), ("a halo of 17 bytes",)),
    (("info", "beluga"), ("'beluga'", "Did you mean --machine beluga?")),
    (("calibrate", "./mine.json"), ("Did you mean --machine ./mine.json?",)),
    (("demo", "one", "two"), ("'one two' is left over ('polypath demo' takes no more words)",)),
    (("bench", "--sizes"), ("option '--sizes' has no value (it takes one) 'polypath bench --",)),
    (("bench", "--foo"), ("option '--foo' is unknown ('polypath bench' has no such option)",)),
    (("bench",), ("argument 'OP' is missing ('polypath bench' needs it) 'polypath bench --help",)),
    (("benhc",), ("command 'benhc' is unknown (polypath has machines, info, ", "mean bench?")),
    (("bench", "put", "--window="), ("--window '' cannot be used (it takes a whole number)",)),
    (("trace", "gpu0", "gpu1", "--output", "-"), ("'gpu0 gpu1' cannot be traced",)),
    (("run", "--how", "preloadd", "true"), ("Did you mean preload?",)),
]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [*IGNORED, *MISTAKEN],
    ids=[" ".join(arguments) for arguments, _ in (*IGNORED, *MISTAKEN)],
)
def test_it_is_refused_in_one_line(arguments: tuple[str, ...], words: tuple[str, ...]):
    run = polypath(*arguments)

    assert_refused(run)
    for word in words:
        assert word in run.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--paths", "direct,host", "--chunks", "host0=2"),
        ("--paths", "direct,host0", "--shares", "direct=0.5,host=0.5"),
        ("--executor", "native", "--paths", "direct"),
    ],
)
def test_requests_that_agree_are_carried_out(options: tuple[str, ...]):
    succeed("plan", "gpu0", "gpu1", "64M", "--machine", "h200x4", *options)


@pytest.mark.parametrize("command", [PLAN, ("bench", "put", "--sizes", "1M"), ("info",)])
def test_two_results_do_not_go_to_one_file(command: tuple[str, ...], tmp_path: Path):
    run = polypath(*command, "--json", "x.svg", "--plot", "./x.svg")

    assert_refused(run)
    assert "--json and --plot" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_report_and_its_figures_do_not_go_to_one_file():
    for where in ("-", "paper.html"):
        run = polypath("paper", "put", "--html", where, "--json", where)

        assert_refused(run)
        assert "--json and --html" in run.stderr


def test_a_report_on_stdout_is_there_alone():
    run = succeed("paper", "put", "--html", "-")

    assert run.stdout.lower().startswith("<!doctype html>")
    assert "agrees" in run.stderr


def test_what_cannot_be_kept_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    run = polypath("calibrate", "--machine", "beluga")

    assert_refused(run)
    assert "no calibration can be kept" in run.stderr
