"""Files whole or not at all, JSON alone on stdout, quiet ends."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_runner import assert_refused, polypath, succeed
from polypath import reports
from polypath.cli import result_files
from polypath.cli.errors import UserError
from polypath.cli.machine_tables import compress, compress_pairs
from polypath.cli.units import size_text, time_text

COMMAND = (sys.executable, "-m", "polypath.cli")


def test_json_is_alone_on_stdout_and_the_table_on_stderr():
    run = succeed("plan", "gpu0", "gpu1", "64M", "--machine", "beluga", "--json", "-")

    assert json.loads(run.stdout)["bytes"] == 64 << 20
    assert "direct" in run.stderr


def test_json_to_a_file_keeps_the_table_on_stdout(tmp_path: Path):
    file = tmp_path / "plan.json"

    run = succeed("plan", "gpu0", "gpu1", "64M", "--machine", "beluga", "--json", file)

    assert json.loads(file.read_text())["bytes"] == 64 << 20
    assert "direct" in run.stdout


def test_a_file_is_replaced_with_its_mode_kept_and_nothing_left_beside_it(tmp_path: Path):
    file = tmp_path / "result"
    file.write_text("old")
    file.chmod(0o640)

    result_files.write_file(str(file), b"new")

    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_new_file_has_the_usual_mode(tmp_path: Path):
    usual = tmp_path / "usual"
    usual.touch()

    result_files.write_file(str(tmp_path / "new"), b"")

    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")

    result_files.write_file(str(tmp_path / "link"), b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_device_is_written_to_and_stays():
    succeed("machines", "--json", os.devnull)

    assert not Path(os.devnull).is_file()


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "result"
    file.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)

    with pytest.raises(UserError, match="No space left"):
        result_files.write_file(str(file), b"new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_an_unwritable_file_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("measured for nothing")

    monkeypatch.setattr(reports, "bench", never)

    assert polypath("bench", "put", "--json", "/no/such/folder/x").status == 2
    assert polypath("bench", "put", "--plot", "/no/such/folder/x.png").status == 2


def test_wrong_bytes_are_an_error(monkeypatch: pytest.MonkeyPatch):
    bench = succeed("bench", "put", "--sizes", "64K", "--json", "-").json()
    bench["results"][0]["verified"] = False
    monkeypatch.setattr(reports, "bench", lambda *_, **__: bench)

    run = polypath("bench", "put", "--machine", "beluga")

    assert run.status == 1
    assert "wrong bytes at 64 KiB" in run.stderr
    assert succeed("bench", "put", "--no-verify", "--machine", "beluga").stderr == ""


def test_what_is_not_predicted_is_shown_without_a_model_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = succeed("bench", "put", "--sizes", "64K", "--json", "-").json()
    bench["results"][0]["predicted_seconds"] = None
    monkeypatch.setattr(reports, "bench", lambda *_, **__: bench)
    picture = tmp_path / "bench.png"

    run = succeed("bench", "pageable", "--machine", "beluga", "--plot", str(picture))

    assert " - " in run.stdout
    assert picture.stat().st_size > 0


def test_results_name_the_command_that_measures_them_again(tmp_path: Path):
    target = tmp_path / "results.json"
    succeed("bench", "bw", "gpu0", "gpu1", "--sizes=64K", "--json", target, "--machine", "beluga")
    jacobi = succeed("bench", "jacobi", "--machine", "mist", "--sizes", "64K", "--json=-").json()
    reduced = succeed("bench", "allreduce", "--sizes", "64K", "--json", "-").json()

    measured = json.loads(target.read_text(encoding="utf-8"))

    assert measured["command"] == "polypath bench bw gpu0 gpu1 --sizes=64K --machine beluga"
    assert jacobi["command"] == "polypath bench jacobi --machine mist --sizes 64K"
    assert reduced["command"] == "polypath bench allreduce --sizes 64K"
    assert succeed(*shlex.split(measured["command"])[1:]).stderr == ""


def test_without_verification_nothing_claims_to_be_verified():
    run = succeed("bench", "put", "--sizes", "1M", "--no-verify", "--json", "-")

    assert run.json()["results"][0]["verified"] is False


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reports, "bench", interrupted)

    run = polypath("bench", "put", "--machine", "beluga")

    assert (run.status, run.stdout, run.stderr) == (130, "", "")


def test_a_running_benchmark_can_be_interrupted():
    arguments = (
        "bench",
        "put",
        "--machine",
        "beluga",
        "--sizes",
        "1M,2M,3M,4M:512M",
        "--window",
        "64",
    )
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells let what they start in the background ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(2)

    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)

    assert process.returncode in (0, 130)  # 0 on a machine that is done within two seconds
    assert "Traceback" not in errors


def test_a_closed_pipe_is_quiet():
    for arguments in ("machines", "info --machine dgx-a100 --json -"):
        shell = f"{{ {' '.join(COMMAND)} {arguments}; echo status $? >&2; }} | true"
        run = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)

        assert run.stderr in ("status 141\n", "status 0\n")  # 0 if it was written before that


def test_results_as_csv_have_a_row_each(tmp_path: Path):
    file = tmp_path / "put.csv"

    run = succeed("bench", "put", "--machine", "beluga", "--sizes", "1M,4M", "--csv", file)
    alone = succeed("bench", "put", "--machine", "beluga", "--sizes", "1M,4M", "--csv", "-")

    rows = list(csv.DictReader(file.open(encoding="utf-8")))
    assert [row["bytes"] for row in rows] == ["1048576", "4194304"]
    assert {row["machine"] for row in rows} == {"beluga"}
    assert rows[1]["paths"].startswith("direct=0.66") and rows[0]["verified"] == "True"
    assert "speed-up" in run.stdout
    assert alone.stdout == file.read_text(encoding="utf-8") and "speed-up" in alone.stderr


@pytest.mark.parametrize("measured", [("allreduce", "--algorithms", "flat,auto"), ("jacobi",)])
def test_all_that_is_measured_can_be_csv(measured: tuple[str, ...]):
    run = succeed("bench", *measured, "--machine", "beluga", "--sizes", "1M", "--csv", "-")

    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert len(rows) > 1 and all(float(row["seconds"]) > 0 for row in rows)


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        ("machines", "machines"),
        ("info --machine beluga", "hops"),
        ("info --settings", "settings"),
        ("plan gpu0 gpu1 64M --machine beluga", "paths"),
        ("plan ring 64M --machine beluga", "transfers"),
        ("plan allreduce 64M --machine beluga", "algorithms"),
        ("tune gpu0 gpu1 --machine nop2p4 --sizes 8M --executor stream", "entries"),
    ],
)
def test_every_table_can_be_csv(command: str, rows: str):
    document = polypath(*command.split(), "--json", "-").json()

    shown = polypath(*command.split(), "--csv", "-")

    table = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert len(table) == len(document[rows])
    assert all(cell is not None and "{" not in cell for row in table for cell in row.values())
    assert "─" in shown.stderr


def test_findings_and_figures_of_papers_can_be_csv():
    health = polypath("doctor", "--csv", "-")
    paper = polypath("paper", "put", "--csv", "-")

    states = {row["state"] for row in csv.DictReader(io.StringIO(health.stdout))}
    figures = list(csv.DictReader(io.StringIO(paper.stdout)))
    assert states <= {"ok", "missing", "note"} and states
    assert {row["experiment"] for row in figures} == {"put"} and figures[0]["sources"]


def test_a_calibration_can_be_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    run = succeed("calibrate", "--machine", "nop2p4", "--csv", "-")

    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert {"of", "measured", "nominal", "unit"} <= set(rows[0]) and len(rows) > 20


def test_cells_of_csv_say_what_lists_and_quantities_hold():
    plan = succeed("plan", "ring", "64M", "--machine", "beluga", "--csv", "-")
    hops = succeed("info", "--machine", "beluga", "--csv", "-")

    transfer = next(csv.DictReader(io.StringIO(plan.stdout)))
    hop = next(csv.DictReader(io.StringIO(hops.stdout)))
    assert transfer["paths"].startswith("direct=0.") and transfer["pattern"] == "ring"
    assert float(hop["latency"]) < 1e-4 and "gpu0-gpu1.link" in hop["uses"].split()


def test_csv_and_json_cannot_both_take_stdout():
    assert_refused(polypath("machines", "--csv", "-", "--json", "-"))
    assert_refused(polypath("info", "--check", "x.json", "--csv", "-"))


@pytest.mark.parametrize(
    "what",
    [
        ("plan", "ring", "64M"),
        ("plan", "gpu0:gpu1:64M", "gpu1:gpu0:1M"),
        ("plan", "allreduce", "64M"),
        ("bench", "ring", "--sizes", "1M,4M"),
        ("bench", "allreduce", "--sizes", "1M,4M", "--algorithms", "flat,auto"),
    ],
    ids=" ".join,
)
def test_patterns_and_collectives_are_drawn(what: tuple[str, ...], tmp_path: Path):
    picture = tmp_path / "x.svg"

    succeed(*what, "--machine", "beluga", "--plot", picture)

    assert "beluga" in picture.read_text(encoding="utf-8") or picture.stat().st_size > 10_000


def test_a_terminal_without_unicode_gets_plain_characters():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}

    run = subprocess.run(
        [*COMMAND, "plan", "gpu0", "gpu1", "64M", "--machine", "beluga"],
        env=environment, capture_output=True, check=False,
    )  # fmt: skip

    assert run.returncode == 0, run.stderr
    assert run.stdout.isascii()


@pytest.mark.parametrize("locale", ["C", "POSIX"])
@pytest.mark.parametrize("arguments", ["info --machine beluga", "plan --help", "machines"])
def test_an_ascii_locale_is_taken_at_its_word(arguments: str, locale: str):
    environment = {name: value for name, value in os.environ.items() if "PYTHON" not in name}

    run = subprocess.run(
        [*COMMAND, *arguments.split()],
        env={**environment, "LC_ALL": locale}, capture_output=True, check=False,
    )  # fmt: skip

    assert run.returncode == 0, run.stderr
    assert run.stdout.isascii() and b"\\u" not in run.stdout


@pytest.mark.parametrize("arguments", ["bench --help", "paper put", "machines"])
def test_characters_that_a_terminal_lacks_become_others(arguments: str):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}

    run = subprocess.run(
        [*COMMAND, *arguments.split()], env=environment, capture_output=True, check=False
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.isascii() and b"\\u" not in run.stdout and b"\\x" not in run.stdout


def test_units():
    assert [size_text(n) for n in (0, 1023, 1536, 512 << 20)] == [
        "0 B", "1023 B", "1.5 KiB", "512 MiB",
    ]  # fmt: skip
    assert [time_text(t) for t in (0, 1.25e-6, 123.4e-6, 1.2345e-3, 2)] == [
        "0.00 us", "1.25 us", "123 us", "1.234 ms", "2.000 s",
    ]  # fmt: skip


def test_names_that_end_in_numbers_are_shown_in_short():
    assert compress(["gpu0", "gpu1", "gpu3", "host0"]) == "gpu[0-1,3],host0"
    assert compress(["gpu2"]) == "gpu2"
    assert compress(["link"]) == "link"


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ("01 10", "gpu[0-1]>gpu[0-1]"),
        ("01 02 03 10 12 13 20 21 23 30 31 32", "gpu[0-3]>gpu[0-3]"),
        ("01 10 23 32", "gpu[0-1]>gpu[0-1], gpu[2-3]>gpu[2-3]"),
        ("02 03 12 13", "gpu[0-1]>gpu[2-3]"),
        ("01", "gpu0>gpu1"),
        ("01 02 12", "gpu0>gpu[1-2], gpu1>gpu2"),
    ],
)
def test_pairs_in_short(pairs: str, text: str):
    named = [(f"gpu{source}", f"gpu{destination}") for source, destination in pairs.split()]

    assert compress_pairs(named, ">") == text
