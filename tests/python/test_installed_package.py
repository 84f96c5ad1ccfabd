"""A C program builds against the installed package, by CMake and by pkg-config, and runs."""

from __future__ import annotations

import os
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from polypath import install

PROGRAM = """\
#include <polypath.h>
#include <stdio.h>

int main(void) {
  const char* version = polypath_version();
  if (version == NULL) return 1;
  printf("%s\\n", version);
  return 0;
}
"""

CMAKE_PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
find_package(polypath 0.1 REQUIRED)
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE polypath::polypath)
"""

# What the library may need at run time: the C and C++ run-time libraries.
ALLOWED_LIBRARIES = re.compile(r"^(lib(stdc\+\+|c|m|gcc_s|pthread|dl|rt)\.so|ld-linux)")


def output_of(*command: str | Path, **environment: str) -> str:
    result = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}:\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "main.c"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def library() -> Path:
    return install.library_dir() / "libpolypath.so"


def test_every_part_is_installed() -> None:
    expected = [
        install.include_dir() / "polypath.h",
        library(),
        install.cmake_dir() / "polypathConfig.cmake",
        install.cmake_dir() / "polypathConfigVersion.cmake",
        install.cmake_dir() / "polypathTargets.cmake",
        install.pkgconfig_dir() / "polypath.pc",
    ]

    assert [path for path in expected if not path.is_file()] == []


def test_the_kernel_that_programs_load_is_the_librarys_own() -> None:
    image = install.kernel_image("jacobi")
    if not image.is_file():
        pytest.skip("the package was built without a CUDA compiler")

    assert image.read_bytes() in library().read_bytes()


@pytest.mark.usefixtures("source")
def test_program_builds_with_cmake(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_PROJECT, encoding="utf-8")
    build = tmp_path / "build"

    output_of("cmake", "-S", tmp_path, "-B", build, f"-Dpolypath_DIR={install.cmake_dir()}")
    output_of("cmake", "--build", build)

    assert output_of(build / "consumer").strip() == metadata.version("polypath")


def test_program_builds_with_pkg_config(source: Path, tmp_path: Path) -> None:
    program = tmp_path / "consumer"
    flags = output_of(
        "pkg-config", "--cflags", "--libs", "polypath", PKG_CONFIG_PATH=str(install.pkgconfig_dir())
    )

    output_of("cc", source, "-o", program, *flags.split())

    output = output_of(program, LD_LIBRARY_PATH=str(install.library_dir()))
    assert output.strip() == metadata.version("polypath")


def test_package_files_name_no_absolute_path() -> None:
    prefix = str(install.library_dir().parent)
    files = [*install.cmake_dir().iterdir(), *install.pkgconfig_dir().iterdir()]

    absolute = [path.name for path in files if prefix in path.read_text(encoding="utf-8")]

    assert absolute == []


def test_library_exports_only_the_c_interface() -> None:
    symbols = output_of("nm", "--dynamic", "--defined-only", "--format=posix", library())

    names = [line.split()[0] for line in symbols.splitlines()]

    assert "polypath_version" in names
    assert [name for name in names if not name.startswith("polypath_")] == []


def test_library_needs_only_the_run_time_libraries() -> None:
    dynamic = output_of("readelf", "--dynamic", library())

    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)

    assert "(SONAME)" in dynamic
    assert [name for name in needed if not ALLOWED_LIBRARIES.match(name)] == []


# What is put into other programs brings its C++ run-time library along: theirs may be newer.
INTRUDERS = [install.preload_library(), install.ucx_plugin_dir() / "libuct_polypath.so.0"]


@pytest.mark.parametrize("intruder", INTRUDERS, ids=lambda path: path.name)
def test_intruders_bring_what_they_need(intruder: Path) -> None:
    dynamic = output_of("readelf", "--dynamic", intruder)

    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)

    allowed = r"lib(c|m|dl|pthread|rt)\.so|ld-"
    assert [name for name in needed if not re.match(allowed, name)] == []


def test_intruders_export_nothing_by_accident() -> None:
    preload, module = (
        [
            line.split()[0]
            for line in output_of(
                "nm", "--dynamic", "--defined-only", "--format=posix", intruder
            ).splitlines()
        ]
        for intruder in INTRUDERS
    )

    assert module == []
    assert {"dlsym", "cuMemcpyDtoDAsync_v2", "cuGetProcAddress_v2"} <= set(preload)
    copies = r"cu(Memcpy|MemCreate|MemFree|MemHost(R|Unr)egister|MemImport|Ipc|GetProcAddress)"
    contexts = r"cu(DevicePrimaryCtx|Ctx(Destroy|Synchronize|(Enable|Disable)PeerAccess))"
    what_may_hold_a_stream = (
        r"cu(Launch|GraphLaunch|WaitExternalSemaphores|Stream(AddCallback|BatchMemOp|Wait))"
    )
    what_finds_it_idle = r"cuStream(Query|Synchronize)"
    allowed = re.compile(
        rf"({copies}|{contexts}|{what_may_hold_a_stream}|{what_finds_it_idle})|"
        r"nccl[A-Z]|P?MPI_[A-Z]|dlsym$|polypath_real"
    )
    assert [name for name in preload if not allowed.match(name)] == []
