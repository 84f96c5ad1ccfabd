"""A library that stands in for NCCL: fake_nccl.c, and what it was called for."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


def built(folder: Path, *more: str) -> str:
    """Return the path of a libnccl.so.2."""
    made = folder / "libnccl.so.2"
    folder.mkdir(exist_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", *more, str(SOURCE), "-o", str(made)], check=True)
    return str(made)


def lines(calls: Path) -> list[str]:
    """Return the calls, with their arguments."""
    return calls.read_text(encoding="utf-8").splitlines()


def names(calls: Path) -> list[str]:
    """Return the functions that were called."""
    return [line.split()[0] for line in lines(calls)]
