"""The folder of what is kept for a user: calibrations, and compiled programs."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from polypath.cli.errors import UserError


def cache_folder(purpose: str) -> Path:
    """Return this user's folder for Polypath, as the XDG base directory specification has it.

    Raises UserError, with the purpose in its words, where no variable says where it is.
    """
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if chosen.is_absolute():
        return chosen / "polypath"
    home = Path(os.environ.get("HOME", ""))
    if home.is_absolute():
        return home / ".cache" / "polypath"
    raise UserError(
        f"there is no folder for {purpose}",
        "neither XDG_CACHE_HOME nor HOME is an absolute path",
        "Set one of them.",
    )


def check_cache_folder(problem: str, folder: Path) -> None:
    """Make the folder, and refuse one that cannot be written; the problem is what that prevents."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError:
        raise UserError(
            problem,
            f"this user may not write to {folder}",
            "Set XDG_CACHE_HOME to a folder that you may write to.",
        ) from None


def seen_pairs() -> list[dict[str, Any]]:
    """Return the pairs of GPUs between which bytes have been looked at since the computer started.

    Each has `accessing` and `owner`, addresses on the bus, and `right`. Empty where nothing is
    kept, or what is kept is of another start.
    """
    try:
        kept = json.loads((cache_folder("what was seen") / "peers.json").read_text("utf-8"))
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return list(kept["pairs"]) if kept["boot"] == boot else []
    except (OSError, ValueError, KeyError, TypeError, UserError):
        return []
