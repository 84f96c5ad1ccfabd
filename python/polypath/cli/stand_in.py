"""Whether the GPUs here are those of the stand-in driver, which commands then say."""

from __future__ import annotations

from pathlib import Path

_DRIVER = "/standin/libcuda.so.1"  # in the package, and in a folder that it was built in


def stand_in_file() -> str:
    """Return the file of the stand-in driver, if this process has loaded it; else nothing."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.split(maxsplit=5)[-1] for line in lines if line.endswith(_DRIVER)), "")


def stand_in_text() -> str:
    """Return what to know of figures from the stand-in driver; nothing where it is not in use."""
    file = stand_in_file()
    if not file:
        return ""
    return f"these GPUs are the stand-in driver's ({file}): its bytes are real, its times are not"
