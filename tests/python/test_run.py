"""`polypath run`: what a command gets so that its copies go through Polypath."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import result_schemas
from cli_runner import assert_refused, polypath, succeed
from polypath.install import preload_library, stand_in_dir, ucx_plugin_dir
from polypath.launching import LaunchError, plan_launch

PRELOAD = str(preload_library())


def program(folder: Path, name: str, says: str = "", mode: int = 0o755) -> Path:
    """Make a program that prints a line, whatever it is given."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {shlex.quote(says)}\n", encoding="utf-8")
    path.chmod(mode)
    return path


@pytest.fixture
def open_mpi(tmp_path: Path) -> str:
    return str(program(tmp_path, "mpirun", "mpirun (Open MPI) 5.0.11"))


@pytest.fixture
def hydra(tmp_path: Path) -> str:
    return str(program(tmp_path, "mpiexec", "HYDRA build details:"))


def test_a_plain_program_is_preloaded() -> None:
    launch = plan_launch(["sh", "-c", "true"], environment={"PATH": os.environ["PATH"]})

    assert launch.arguments == ("sh", "-c", "true")
    assert launch.environment == {"LD_PRELOAD": PRELOAD}
    assert launch.way == "preload"


def test_what_was_preloaded_stays_behind_ours() -> None:
    around = {"PATH": os.environ["PATH"], "LD_PRELOAD": f"/a.so {PRELOAD}:/b.so"}

    launch = plan_launch(["sh"], environment=around)

    assert launch.environment["LD_PRELOAD"] == f"{PRELOAD}:/a.so:/b.so"


def test_the_module_for_ucx_comes_before_other_folders() -> None:
    around = {"PATH": os.environ["PATH"], "UCX_PLUGIN_PATH": "/other"}

    launch = plan_launch(["sh"], "plugin", around)

    assert launch.environment == {"UCX_PLUGIN_PATH": f"{ucx_plugin_dir()}:/other"}
    assert launch.notes


def test_open_mpi_passes_the_library_and_all_settings_on(open_mpi: str) -> None:
    around = {"PATH": os.environ["PATH"], "POLYPATH_STATS": "1", "OTHER": "x"}

    launch = plan_launch([open_mpi, "-n", "2", "app"], environment=around)

    added = ("-x", f"LD_PRELOAD={PRELOAD}", "-x", "POLYPATH_STATS=1")
    assert launch.arguments == (open_mpi, *added, "-n", "2", "app")
    assert launch.environment == {}


def test_every_program_of_an_mpi_run_gets_it(open_mpi: str) -> None:
    command = [open_mpi, "-n", "1", "a", ":", "-n", "1", "b"]

    launch = plan_launch(command, environment={"PATH": os.environ["PATH"]})

    added = ("-x", f"LD_PRELOAD={PRELOAD}")
    assert launch.arguments == (open_mpi, *added, "-n", "1", "a", ":", *added, "-n", "1", "b")


def test_hydra_passes_it_on_in_its_own_way(hydra: str) -> None:
    around = {"PATH": os.environ["PATH"], "POLYPATH_STATS": "1"}

    launch = plan_launch([hydra, "-n", "2", "app"], environment=around)

    added = ("-genv", "LD_PRELOAD", PRELOAD, "-genv", "POLYPATH_STATS", "1")
    assert launch.arguments == (hydra, *added, "-n", "2", "app")


def test_an_unknown_launcher_is_said_to_be_unknown(tmp_path: Path) -> None:
    other = str(program(tmp_path, "mpiexec", "somebody's mpiexec"))

    launch = plan_launch([other, "app"], environment={"PATH": os.environ["PATH"]})

    assert launch.environment == {"LD_PRELOAD": PRELOAD}
    assert "neither Open MPI's nor Hydra's" in launch.notes[0]


def test_a_privileged_program_gets_the_module_instead(tmp_path: Path) -> None:
    privileged = str(program(tmp_path, "app", mode=0o4755))

    launch = plan_launch([privileged], environment={"PATH": os.environ["PATH"]})

    assert launch.way == "plugin" and "set-user-id" in launch.why


def test_unknown_ways_and_programs_are_refused() -> None:
    with pytest.raises(LaunchError, match="the ways are auto, preload, plugin"):
        plan_launch(["sh"], "magic")
    assert_refused(polypath("run", "--how", "magic", "--", "sh"))
    assert_refused(polypath("run"))


def test_a_missing_program_ends_as_in_shells() -> None:
    run = polypath("run", "--", "no-such-program-anywhere")

    assert run.status == 127 and run.stdout == ""
    assert run.stderr.startswith("polypath: 'no-such-program-anywhere' cannot be run (there is no")
    assert run.stderr.count("\n") == 1


def test_what_is_no_program_ends_as_in_shells(tmp_path: Path) -> None:
    text = program(tmp_path, "text", mode=0o644)
    no_interpreter = tmp_path / "script"
    no_interpreter.write_bytes(b"\x00\x01\x02")
    no_interpreter.chmod(0o755)

    for name, word in ((text, "chmod +x"), (tmp_path, "a folder")):
        run = polypath("run", "--", name)
        assert run.status == 126 and run.stderr.count("\n") == 1
        assert word in run.stderr
    ended = cli("--quiet", "--", str(no_interpreter))
    assert ended.returncode == 126 and "script" in ended.stderr


def test_quiet_leaves_stderr_to_the_program() -> None:
    ended = cli("--quiet", "--", "sh", "-c", "echo its own >&2")

    assert ended.returncode == 0
    assert ended.stderr == "its own\n"


def test_a_program_in_this_pythons_environment_need_not_be_on_the_path() -> None:
    launch = plan_launch([Path(sys.executable).name, "-V"], environment={"PATH": "/nowhere"})

    assert launch.arguments == (str(Path(sys.executable)), "-V")


def test_a_program_is_told_when_to_prepare() -> None:
    told = cli("-q", "--prepare", "now", "--", "sh", "-c", "echo $POLYPATH_PREPARE")
    shown = succeed("run", "--dry-run", "--prepare", "never", "--", "sh", "-c", "true")

    assert told.stdout == "now\n"
    assert "POLYPATH_PREPARE=never" in shown.stdout.split()


def test_other_times_to_prepare_are_refused() -> None:
    ended = cli("--prepare", "soon", "--", "true")

    assert ended.returncode == 2
    assert "auto, now, never" in ended.stderr


def test_a_dry_run_prints_a_line_for_the_shell() -> None:
    run = succeed("run", "--dry-run", "--", "sh", "-c", "echo $LD_PRELOAD a\\ b")

    assert run.stderr.startswith("polypath: by preload: ")
    shown = subprocess.run(["sh", "-c", run.stdout], capture_output=True, text=True, check=True)
    assert shown.stdout == f"{PRELOAD} a b\n"


def test_options_of_the_command_are_its_own() -> None:
    run = succeed("run", "--dry-run", "sh", "--how", "--dry-run", "--help")

    assert run.stdout.endswith(" sh --how --dry-run --help\n")


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "polypath.cli", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_takes_over() -> None:
    ended = cli("--", "sh", "-c", "echo $LD_PRELOAD; exit 7")

    assert ended.returncode == 7
    assert ended.stdout == f"{PRELOAD}\n"


def test_the_library_says_nothing_in_programs_without_gpus() -> None:
    ended = cli("--", sys.executable, "-c", "import ctypes, subprocess; ctypes.CDLL(None)")

    assert ended.returncode == 0
    assert ended.stderr == (
        "polypath: preloaded into this program: sees all its CUDA copies, with or without UCX\n"
    )


PARENT = "import subprocess, sys; subprocess.run(['true']); sys.exit(7)"


def test_a_report_has_every_process_and_the_exit_status(tmp_path: Path) -> None:
    file = tmp_path / "report.json"

    ended = cli("--report", str(file), "--", sys.executable, "-c", PARENT)

    report = json.loads(file.read_text())
    assert ended.returncode == 7
    jsonschema.Draft202012Validator(result_schemas.RUN).validate(report)
    assert report["status"] == 7
    programs = [process["program"] for process in report["processes"]]
    assert len(programs) == 2 and "true" in programs
    assert all(process["calls"] == 0 for process in report["processes"])
    assert "2 processes: loaded, 0 copies, no driver." in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_report_can_be_csv_with_and_without_json(tmp_path: Path) -> None:
    alone, beside = tmp_path / "alone.csv", tmp_path / "beside.csv"

    ended = cli("--csv", str(alone), "--", sys.executable, "-c", PARENT)
    both = ("--report", str(tmp_path / "report.json"), "--csv", str(beside))
    cli(*both, "--", sys.executable, "-c", PARENT)

    assert ended.returncode == 7
    rows = list(csv.DictReader(alone.open()))
    assert {(row["way"], row["status"]) for row in rows} == {("preload", "7")}
    processes = json.loads((tmp_path / "report.json").read_text())["processes"]
    written = [row["program"] for row in csv.DictReader(beside.open())]
    assert written == [each["program"] for each in processes]


def test_a_report_and_its_csv_are_two_files(tmp_path: Path) -> None:
    file = str(tmp_path / "one")

    ended = cli("--report", file, "--csv", file, "--", "true")

    assert ended.returncode == 2
    assert "--report and --csv cannot both go to" in ended.stderr


def test_a_report_of_a_killed_program_has_the_status_of_shells(tmp_path: Path) -> None:
    file = tmp_path / "report.json"

    ended = cli("--quiet", "--report", str(file), "--", "sh", "-c", "kill -TERM $$")

    assert ended.returncode == -15
    assert json.loads(file.read_text())["status"] == 128 + 15
    assert ended.stderr == ""


def test_statistics_speak_of_a_process_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPATH_STATS", "1")
    monkeypatch.setenv("PMI_RANK", "3")

    ended = cli("--quiet", "--", "true")

    assert re.fullmatch(
        r"polypath: process \d+, rank 3 \(true\): loaded, 0 copies, no driver\n", ended.stderr
    )


@pytest.mark.skipif(
    not (stand_in_dir() / "libcuda.so.1").exists(),
    reason="the package was built without the stand-in driver",
)
def test_polypaths_own_copies_are_not_taken_for_the_programs() -> None:
    around = {**os.environ, "LD_LIBRARY_PATH": str(stand_in_dir()), "POLYPATH_STATS": "1"}
    bench = ["-m", "polypath.cli", "bench", "put", "gpu0", "gpu1", "--sizes", "64M", "--json", "-"]
    command = [sys.executable, "-m", "polypath.cli", "run", "--", sys.executable, *bench]

    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=around)

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["driver"] == "cuda"
    assert "copies of process" not in ended.stderr
