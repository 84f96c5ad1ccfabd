"""Where the installed package keeps what C and C++ programs build against."""

from __future__ import annotations

from pathlib import Path

from polypath import preloading

_PREFIX = Path(__file__).resolve().parent


def include_dir() -> Path:
    """Return the folder of ``polypath.h``."""
    return _PREFIX / "include"


def library_dir() -> Path:
    """Return the folder of ``libpolypath.so``."""
    return _PREFIX / "lib"


def cmake_dir() -> Path:
    """Return the folder of the CMake package: the value for ``-Dpolypath_DIR=``."""
    return library_dir() / "cmake" / "polypath"


def pkgconfig_dir() -> Path:
    """Return the folder of ``polypath.pc``: an entry for ``PKG_CONFIG_PATH``."""
    return library_dir() / "pkgconfig"


def mpi_source_dir() -> Path:
    """Return the folder of the sources of the program that ``polypath mpi`` runs."""
    return _PREFIX / "share" / "polypath" / "mpi_bench"


def kernel_image(name: str) -> Path:
    """Return the file of a kernel as the CUDA compiler made it, for programs that load it.

    There is "jacobi". There is no such file where the package was built without that compiler.
    """
    return _PREFIX / "share" / "polypath" / "kernels" / f"{name}.fatbin"


def stand_in_dir() -> Path:
    """Return the folder of the driver without GPUs, for tests: an entry for ``LD_LIBRARY_PATH``."""
    return _PREFIX / "standin"


def preload_library() -> Path:
    """Return the library that ``polypath run`` puts before the CUDA driver."""
    return library_dir() / preloading.NAME


def ucx_plugin_dir() -> Path:
    """Return the folder of Polypath's module for UCX: an entry for ``UCX_PLUGIN_PATH``."""
    return _PREFIX / "plugins" / "ucx"
