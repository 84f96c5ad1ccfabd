#!/usr/bin/env python3
"""Times what a newcomer does: a new environment, an empty HOME, the wheel, and `polypath demo`.

scripts/first_gain.py dist/polypath-*.whl                  what a wheel needs is fetched
scripts/first_gain.py WHEEL --find-links FOLDER            from wheels in a folder, and nowhere else
scripts/first_gain.py WHEEL --json results/first_gain.json

The demo runs on simulated machines, also where there are GPUs. Ends with 1 if a step fails, or if
the demo shows no gain.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GAIN = re.compile(r"(?<![\w.])(?:1\.[1-9]\d*|(?:[2-9]|[1-9]\d+)(?:\.\d+)?)x")  # from 1.1x on
VERIFIED = "yes"
ALLOWED = ("PATH", "LANG", "TZ", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
PIP = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_CONFIG_FILE")
Steps = dict[str, float]


def main() -> int:
    """Take the steps one after another, and say how long each took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("wheel", nargs="+", type=Path, help="several: the one for this Python")
    parser.add_argument("--find-links", type=Path, help="folder with all that the wheel needs")
    parser.add_argument("--json", type=Path, help="where the times go")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        steps = take_steps(Path(folder), asked.wheel, asked.find_links)
    for name, seconds in steps.items():
        print(f"{seconds:6.1f} s  {name}")
    if asked.json is not None:
        asked.json.write_text(json.dumps(document_of(steps), indent=1) + "\n", encoding="utf-8")
    return 0


def take_steps(folder: Path, wheels: list[Path], links: Path | None) -> Steps:
    """Make the environment in an empty folder, which is HOME as well, and run the demo in it."""
    seen = {name: os.environ[name] for name in (*ALLOWED, *PIP) if name in os.environ}
    seen |= {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / ".cache"), "COLUMNS": "80"}
    source = ["--no-index", "--find-links", str(links.resolve())] if links else []
    begun = time.monotonic()
    run([sys.executable, "-m", "venv", str(folder / "new")], seen)
    made = time.monotonic()
    binaries = folder / "new" / "bin"
    run([str(binaries / "pip"), "install", "--disable-pip-version-check", "--no-cache-dir",
         *source, str(fitting(wheels))], seen)  # fmt: skip
    installed = time.monotonic()
    gained = first_gain(binaries / "polypath", seen, folder)
    ended = time.monotonic()
    return {
        "new environment": made - begun,
        "pip install": installed - made,
        "demo, until its first gain": gained - installed,
        "demo, all of it": ended - installed,
        "in all, until the first gain": gained - begun,
    }


def run(command: list[str], seen: dict[str, str]) -> None:
    """Run a command; end with what it printed if it fails."""
    done = subprocess.run(command, env=seen, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def fitting(wheels: list[Path]) -> Path:
    """Return the wheel that is for this Python: with its own tag, or for all from 3.12 on."""
    major, minor = sys.version_info[:2]
    tags = [f"-cp{major}{minor}-"] + (["-abi3-"] if (major, minor) >= (3, 12) else [])
    found = [wheel for tag in tags for wheel in wheels if tag in wheel.name]
    if not found:
        raise SystemExit(f"none of these wheels is for Python {major}.{minor}")
    return found[0].resolve()


def first_gain(polypath: Path, seen: dict[str, str], folder: Path) -> float:
    """Run the demo to its end; return when it showed a gain for the first time."""
    found: float | None = None
    for line in lines_of([str(polypath), "demo", "--simulated"], seen, folder):
        if found is None and shows_gain(line):
            found = time.monotonic()
    if found is None:
        raise SystemExit("the demo shows no gain")
    return found


def shows_gain(line: str) -> bool:
    """Return whether a line is the row of a copy that gained, and whose bytes were compared."""
    return GAIN.search(line) is not None and VERIFIED in line.split()


def lines_of(command: list[str], seen: dict[str, str], folder: Path) -> Iterator[str]:
    """Run a command, and yield its lines as they come."""
    seen = {**seen, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=seen, cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield from process.stdout
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")


def document_of(steps: Steps) -> dict[str, Any]:
    """Return the times with what they were taken on."""
    host = {"cores": os.cpu_count(), "python": platform.python_version(), "simulated": True}
    return {"command": "scripts/first_gain.py", "host": host, "seconds": steps}


if __name__ == "__main__":
    sys.exit(main())
