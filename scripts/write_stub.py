#!/usr/bin/env python3
"""Writes python/polypath/_core.pyi, the types of the extension module, from the built one.

scripts/write_stub.py            writes it
scripts/write_stub.py --check    exit status 1 if it is not as it would be written

Signatures and texts are in src/api/python; stub_patterns.txt there has what they cannot say. Run
it with the Python beside which the package is installed: .venv/bin/python after `make package`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "python" / "polypath" / "_core.pyi"
PATTERNS = ROOT / "src" / "api" / "python" / "stub_patterns.txt"


def generated_stub() -> str:
    """Return the stub of the extension that is installed beside this Python."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / STUB.name
        command = [sys.executable, "-m", "nanobind.stubgen", "-m", "polypath._core"]
        options = ["-p", str(PATTERNS), "-o", str(file), "-q"]
        subprocess.run([*command, *options], check=True, cwd=folder)
        return file.read_text(encoding="utf-8")


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = generated_stub()
    if not parser.parse_args().check:
        STUB.write_text(text, encoding="utf-8")
    elif text != STUB.read_text(encoding="utf-8"):
        print(f"{STUB.relative_to(ROOT)} is not what scripts/write_stub.py writes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
