"""Where a topology is from: files, stdin, or the commands that print it here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from polypath.cli.errors import UserError
from polypath.cli.output import STDOUT
from polypath.cli.skeleton.hwloc import HWLOC
from polypath.cli.skeleton.topology import COMMAND

LONGEST = 1 << 24  # bytes; 64 GPUs have 20000 of a topology, large computers 2 MiB of hwloc's
_LSTOPO = ("lstopo-no-graphics", "hwloc-ls", "lstopo")  # the same program, by its names


def text_of_file(name: str, command: str, file: str) -> str:
    """Return the text of a file, or of stdin; say which command writes it."""
    if name == STDOUT:
        return sys.stdin.buffer.read(LONGEST).decode(errors="replace")
    try:
        with Path(name).open("rb") as opened:
            return opened.read(LONGEST).decode(errors="replace")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UserError(
            f"topology '{name}' cannot be read", why, f"Write it with: {command} > {file}"
        ) from None


def printed_here() -> tuple[str | None, str | None]:
    """Return what nvidia-smi prints here, and lstopo; nothing for one that is not installed."""
    lstopo = next((each for each in _LSTOPO if shutil.which(each)), None)
    words = COMMAND.split()
    if shutil.which(words[0]) is None and lstopo is None:
        why = f"neither {words[0]} nor lstopo is installed here"
        raise UserError("there is no topology", why, _remedy())
    table = _output(words) if shutil.which(words[0]) else None
    return table, _hwloc(lstopo, table is None) if lstopo else None


def _hwloc(lstopo: str, needed: bool) -> str | None:
    try:
        return _output([lstopo, *HWLOC.split()[1:]])
    except UserError:
        if needed:
            raise
        return None


def _remedy() -> str:
    return (
        f"Where the GPUs are, write {COMMAND} > topo.txt, and name that file; or {HWLOC} > "
        "hwloc.xml, for --hwloc."
    )


def _output(words: list[str]) -> str:
    run = subprocess.run(words, capture_output=True, check=False)
    if run.returncode != 0:
        said = (run.stdout + run.stderr).decode(errors="replace").strip().splitlines()
        why = f"{' '.join(words)} failed: {said[-1] if said else run.returncode}"
        raise UserError("there is no topology", why, _remedy())
    return run.stdout.decode(errors="replace")
