"""What launchers of MPI programs hand on of their own is merged with what `polypath run` adds."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from polypath.install import preload_library
from polypath.launching import Launch, LauncherFamily, plan_launch

OURS = str(preload_library())
OPEN_MPI, HYDRA, SLURM = LauncherFamily.OPEN_MPI, LauncherFamily.HYDRA, LauncherFamily.SLURM
PATH = "/usr/bin:/bin"


def launch(family: LauncherFamily, line: str, **around: str) -> Launch:
    """Plan a line, in which `start` stands for a launcher, and OURS for the library."""
    words = [word.replace("OURS", OURS) for word in shlex.split(line)]
    return plan_launch(["sh", *words[1:]], "preload", {"PATH": PATH, **around}, family)


def line_of(planned: Launch) -> str:
    return shlex.join(["start", *planned.arguments[1:]]).replace(OURS, "OURS")


def own(planned: Launch) -> dict[str, str]:
    return {name: value.replace(OURS, "OURS") for name, value in planned.environment.items()}


@pytest.mark.parametrize(
    ("line", "merged"),
    [
        ("-x LD_PRELOAD=a.so -n 2 app", "-x LD_PRELOAD=OURS:a.so -n 2 app"),
        ("--x LD_PRELOAD=a.so app", "--x LD_PRELOAD=OURS:a.so app"),
        ("--x=LD_PRELOAD=a.so app", "--x=LD_PRELOAD=OURS:a.so app"),
        ("-x 'LD_PRELOAD=a.so b.so' app", "-x LD_PRELOAD=OURS:a.so:b.so app"),
        ("-x LD_PRELOAD=OURS:a.so app", "-x LD_PRELOAD=OURS:a.so app"),
        ("-x A -n 2 app", "-x LD_PRELOAD=OURS -x A -n 2 app"),
        # Of one program of two.
        (
            "-n 1 -x LD_PRELOAD=a.so app : -n 1 app",
            "-n 1 -x LD_PRELOAD=OURS:a.so app : -x LD_PRELOAD=OURS -n 1 app",
        ),
        # What follows the program is the program's.
        ("-n 2 app -x LD_PRELOAD=a.so", "-x LD_PRELOAD=OURS -n 2 app -x LD_PRELOAD=a.so"),
        (
            "--mca a b --oversubscribe app -x LD_PRELOAD=a.so",
            "-x LD_PRELOAD=OURS --mca a b --oversubscribe app -x LD_PRELOAD=a.so",
        ),
    ],
)
def test_open_mpi_gets_one_value_of_both(line: str, merged: str) -> None:
    planned = launch(OPEN_MPI, f"start {line}")

    assert line_of(planned) == f"start {merged}"
    assert planned.environment == {}


def test_open_mpi_hands_on_what_the_environment_has() -> None:
    planned = launch(OPEN_MPI, "start -x LD_PRELOAD app", LD_PRELOAD="a.so")

    assert line_of(planned) == "start -x LD_PRELOAD=OURS:a.so app"


def test_a_list_of_open_mpi_takes_it_where_there_is_one() -> None:
    around = {"POLYPATH_STATS": "1"}

    planned = launch(
        OPEN_MPI, "start --mca mca_base_env_list 'A=1;LD_PRELOAD=a.so;B' app", **around
    )

    assert line_of(planned) == (
        "start --mca mca_base_env_list 'A=1;LD_PRELOAD=OURS:a.so;B;POLYPATH_STATS=1' app"
    )


def test_so_does_a_list_in_the_environment() -> None:
    around = {"OMPI_MCA_mca_base_env_list": "A=1"}

    planned = launch(OPEN_MPI, "start -n 2 app", **around)

    assert line_of(planned) == "start -n 2 app"
    assert own(planned) == {"OMPI_MCA_mca_base_env_list": "A=1;LD_PRELOAD=OURS"}


def test_what_an_option_hides_of_a_list_is_merged() -> None:
    planned = launch(OPEN_MPI, "start -x A --mca mca_base_env_list LD_PRELOAD=a.so app")

    assert line_of(planned).startswith("start -x LD_PRELOAD=OURS:a.so -x A ")


def test_a_setting_that_the_line_names_is_its_users() -> None:
    around = {"POLYPATH_STATS": "1", "POLYPATH_LOG": "info"}

    open_mpi = launch(OPEN_MPI, "start -x POLYPATH_STATS=0 app", **around)
    hydra = launch(HYDRA, "start -genv POLYPATH_STATS 0 app", **around)

    assert line_of(open_mpi) == (
        "start -x LD_PRELOAD=OURS -x POLYPATH_LOG=info -x POLYPATH_STATS=0 app"
    )
    assert line_of(hydra) == (
        "start -genv LD_PRELOAD OURS -genv POLYPATH_LOG info -genv POLYPATH_STATS 0 app"
    )


@pytest.mark.parametrize(
    ("line", "merged"),
    [
        ("-genv LD_PRELOAD a.so -n 2 app", "-genv LD_PRELOAD OURS:a.so -n 2 app"),
        ("-genv LD_PRELOAD=a.so app", "-genv LD_PRELOAD=OURS:a.so app"),
        # -env comes before -genv, for its program.
        (
            "-n 1 -env LD_PRELOAD a.so app : -n 1 app",
            "-genv LD_PRELOAD OURS -n 1 -env LD_PRELOAD OURS:a.so app : -n 1 app",
        ),
        (
            "-genvall -n 2 app -genv LD_PRELOAD a.so",
            "-genv LD_PRELOAD OURS -genvall -n 2 app -genv LD_PRELOAD a.so",
        ),
        ("-genv LD_PRELOAD", "-genv LD_PRELOAD"),  # the launcher says what is wrong
    ],
)
def test_hydra_gets_one_value_of_both(line: str, merged: str) -> None:
    assert line_of(launch(HYDRA, f"start {line}")) == f"start {merged}"


def test_hydra_finds_one_value_in_the_environment_too() -> None:
    planned = launch(HYDRA, "start -genvlist A,LD_PRELOAD app", LD_PRELOAD="a.so")

    assert own(planned) == {"LD_PRELOAD": "OURS:a.so"}


@pytest.mark.parametrize(
    ("line", "merged"),
    [
        ("-n2 app", "-n2 app"),
        ("--export=ALL app", "--export=ALL app"),
        ("--export=NONE app", "--export=LD_PRELOAD=OURS,POLYPATH_STATS app"),
        ("--export NONE app", "--export LD_PRELOAD=OURS,POLYPATH_STATS app"),
        ("--export=A=\\'1,2\\' app", "--export=A='1,2',LD_PRELOAD=OURS,POLYPATH_STATS app"),
        (
            "--export=HOME,LD_PRELOAD=a.so,POLYPATH_STATS=0 app",
            "--export=HOME,LD_PRELOAD=OURS:a.so,POLYPATH_STATS=0 app",
        ),
        ("-n2 app --export=NONE", "-n2 app --export=NONE"),
        (
            "-n 1 --export=NONE app : -n 1 app",
            "-n 1 --export=LD_PRELOAD=OURS,POLYPATH_STATS app : -n 1 app",
        ),
    ],
)
def test_slurm_hands_it_on_whatever_it_hands_on(line: str, merged: str) -> None:
    planned = launch(SLURM, f"start {line}", POLYPATH_STATS="1")

    words = " ".join(planned.arguments[1:]).replace(OURS, "OURS")
    assert words == merged
    assert own(planned)["LD_PRELOAD"].startswith("OURS")


def test_slurm_has_one_value_where_all_is_handed_on() -> None:
    planned = launch(SLURM, "start --export=ALL,LD_PRELOAD=a.so app")

    assert line_of(planned) == "start --export=ALL,LD_PRELOAD=OURS:a.so app"
    assert own(planned) == {"LD_PRELOAD": "OURS:a.so"}


@pytest.mark.parametrize(
    ("given", "merged"),
    [("NONE", "LD_PRELOAD=OURS"), ("HOME", "HOME,LD_PRELOAD=OURS"), ("ALL", "ALL")],
)
def test_the_variable_of_slurm_counts_as_the_option(given: str, merged: str) -> None:
    planned = launch(SLURM, "start app", SLURM_EXPORT_ENV=given)

    assert own(planned)["SLURM_EXPORT_ENV"] == merged


def test_a_file_of_variables_is_said() -> None:
    assert "LD_PRELOAD" in launch(SLURM, "start --export-file=vars app").notes[0]


MPIRUN = Path(sys.executable).parent / "mpirun"


@pytest.mark.skipif(not MPIRUN.exists(), reason="Open MPI is not installed")
@pytest.mark.parametrize(
    "options",
    [["-x", "LD_PRELOAD=libm.so.6"], ["--mca", "mca_base_env_list", "LD_PRELOAD=libm.so.6"]],
)
def test_ranks_of_open_mpi_have_both(options: list[str]) -> None:
    own_options = ["--allow-run-as-root", "--oversubscribe"]
    command = [str(MPIRUN), *own_options, *options, "-n", "2", "sh", "-c", "echo $LD_PRELOAD"]

    ended = subprocess.run(
        [sys.executable, "-m", "polypath.cli", "run", "-q", "--", *command],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert ended.stdout.splitlines() == [f"{OURS}:libm.so.6"] * 2
