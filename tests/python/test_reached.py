"""`polypath run` says that a program is reached only where it is, and why where it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polypath
import pytest
from polypath import preloading, program_file
from polypath.install import preload_library
from polypath.launching import LaunchError, plan_launch

pytestmark = pytest.mark.skipif(
    not preload_library().exists(), reason="built without the CUDA driver layer"
)

REACHED = "polypath: preloaded into this program: sees all its CUDA copies, with or without UCX\n"
PACKAGE = Path(polypath.__file__).parent


def cli(*arguments: object, **around: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "polypath.cli", "run", *map(str, arguments)]
    environment = {**os.environ, **around}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def compiled(folder: Path, *options: str) -> Path:
    """Return a program that ends with status 7; skip where it cannot be made."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    (folder / "program.c").write_text("int main(void) { return 7; }\n")
    program = folder / "program"
    made = subprocess.run(
        ["gcc", *options, "program.c", "-o", program], cwd=folder, check=False, capture_output=True
    )
    if made.returncode != 0:
        pytest.skip(f"gcc has no {options}")
    return program


@pytest.mark.parametrize("options", [(), ("--report", "/dev/null")])
def test_the_program_says_so_once(options: tuple[str, ...]) -> None:
    ended = cli(*options, "--", "sh", "-c", "sh -c true; env | grep _POLYPATH_RUN; true")

    assert ended.stdout == ""
    assert ended.stderr.startswith(REACHED) and ended.stderr.count("preloaded into") == 1


def test_a_program_that_is_not_reached_does_not(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-static")

    ended = cli("--", program)

    assert ended.returncode == 7
    assert ended.stderr == (
        f"polypath: '{program}' is not reached (it is linked statically, and LD_PRELOAD is for "
        "the dynamic linker) Programs that it starts are.\n"
    )
    assert cli("-q", "--", program).stderr == ""


def test_rank_0_says_so_and_the_launcher_does_not(tmp_path: Path) -> None:
    launcher = tmp_path / "srun"
    launcher.write_text(
        '#!/bin/sh\nfor rank in 0 1; do SLURM_PROCID=$rank "$@"; done\n', encoding="utf-8"
    )
    launcher.chmod(0o755)

    reached = cli("--", launcher, "sh", "-c", "echo rank $SLURM_PROCID >&2; sh -c true")

    assert reached.stderr == f"{REACHED}rank 0\nrank 1\n"


def test_a_launcher_that_drops_the_variable_is_not_believed(tmp_path: Path) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text('#!/bin/sh\nLD_PRELOAD= PMI_RANK=0 "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)

    assert "preloaded into" not in cli("--", launcher, "true").stderr


def test_capabilities_are_as_a_set_user_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    # The revision, "effective", and the bit of cap_net_raw (linux/capability.h).
    value = (0x02000001).to_bytes(4, "little") + (1 << 13).to_bytes(4, "little") + bytes(12)
    try:
        os.setxattr(program, "security.capability", value)
    except OSError:
        pytest.skip("this user may give no capabilities here")

    assert program_file.privilege(str(program)) == ""  # for root nothing is gained
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    launch = plan_launch([str(program)])

    assert launch.way == "plugin"
    assert "a program with capabilities of its own" in launch.why


@pytest.mark.parametrize("name", ["a folder", "colon:folder", "$LIB"])
def test_a_folder_of_any_name_takes_the_library(name: str, tmp_path: Path) -> None:
    folder, cache = tmp_path / name, tmp_path / "cache"
    folder.mkdir()
    library = shutil.copy(preload_library(), folder)
    own = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); from polypath import *\n"
    program = (
        f"{own}from polypath import preloading\n"
        f"preloading.library = lambda: {str(library)!r}\n"
        "from polypath.cli import main; sys.exit(main(['run', 'sh', '-c', 'echo $LD_PRELOAD']))"
    )

    for _ in range(2):  # the second one finds the link
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True,
            env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        )  # fmt: skip
        assert ended.stderr == REACHED
        assert Path(ended.stdout.strip()).resolve() == Path(library).resolve()


def test_without_a_link_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "also with a blank"))
    library = tmp_path / "a folder" / preloading.NAME
    library.parent.mkdir()
    library.touch()
    monkeypatch.setattr("polypath.launching.preload_library", lambda: library)

    with pytest.raises(LaunchError, match=r"cannot be named in LD_PRELOAD .* XDG_CACHE_HOME"):
        plan_launch(["sh"])


def test_the_address_sanitizer_is_named_before_it_ends_the_program(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-fsanitize=address")

    ended = cli("--", program)
    allowed = cli("--", program, ASAN_OPTIONS="verify_asan_link_order=0")

    assert ended.stderr.startswith(f"polypath: '{program}' will end at its start (it is linked")
    assert allowed.returncode == 7
    assert allowed.stderr == REACHED


@pytest.mark.parametrize("length", [0, 3, 64, 200, 1000, 5000])
def test_a_file_that_is_cut_or_damaged_is_no_obstacle(length: int, tmp_path: Path) -> None:
    whole = Path(sys.executable).resolve().read_bytes()
    for file in (whole[:length], whole[:32] + b"\xff" * length + whole[32 + length : 1 << 16]):
        (tmp_path / "program").write_bytes(file)
        program_file.obstacle(str(tmp_path / "program"), {})
