"""Build the wheels that are handed out: `make wheels`, and they lie in dist/.

One wheel serves CPython 3.12 and everything later (abi3); 3.10 and 3.11 have one each, where such
Pythons are found. They are built in turn by the Pythons on the PATH, or by those that PYTHONS names
("PYTHONS='/opt/3.10/bin/python ...' make wheels"), and tagged by auditwheel with the oldest systems
that they run on. The stand-in driver, which does not depend on Python, is one more.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RAW = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
VERSIONS = ("3.10", "3.11")  # those that have no stable interface which nanobind could use
STABLE_VERSIONS = ("3.12", "3.13", "3.14")  # the first one that is found builds for all of them
# What CMake needs to know of the stable interface, and it is not everywhere.
STABLE = ("wheel.py-api=cp312", "cmake.version=>=3.26")


@dataclass(frozen=True)
class Target:
    """A wheel to be built."""

    what: str
    python: str
    project: Path = ROOT
    settings: tuple[str, ...] = ()


def main() -> int:
    """Build all wheels that the Pythons here can, and say which."""
    targets, missing = targets_here(pythons_here())
    if not targets:
        print("no Python to build with (python3.10 to 3.14 with pip) Name some in PYTHONS.")
        return 1
    shutil.rmtree(DIST, ignore_errors=True)
    for target in targets:
        print(f"\n== {target.what}, by {target.python}", flush=True)
        repair(build(target))
    print("\nIn dist:")
    for wheel in sorted(DIST.glob("*.whl")):
        print(f"  {wheel.name}  {wheel.stat().st_size / 1e6:.1f} MB")
    for version in missing:
        print(f"  none for CPython {version}: there is no python{version} here that can build")
    return 0


def pythons_here() -> dict[str, str]:
    """Return the Pythons that can build, by version."""
    names = os.environ.get("PYTHONS", "").split()
    names += [f"python{version}" for version in (*VERSIONS, *STABLE_VERSIONS)]
    found: dict[str, str] = {}
    for name in names:
        version = version_of(name)
        if version is not None:
            found.setdefault(version, name)
    return found


def version_of(python: str) -> str | None:
    """Return "3.12", or nothing of what is no Python, or one that cannot build extensions."""
    program = (
        "import pathlib, pip, sys, sysconfig\n"
        "assert pathlib.Path(sysconfig.get_path('include'), 'Python.h').exists()\n"
        "assert sys.implementation.name == 'cpython'\n"
        "print('%d.%d' % sys.version_info[:2])"
    )
    try:
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def targets_here(pythons: dict[str, str]) -> tuple[list[Target], list[str]]:
    """Return what can be built, and the versions that nothing can be built for."""
    targets = [Target(f"CPython {v}", pythons[v]) for v in VERSIONS if v in pythons]
    stable = [pythons[version] for version in STABLE_VERSIONS if version in pythons]
    if stable:
        targets.append(Target("CPython 3.12 and later", stable[0], settings=STABLE))
    if targets:
        targets.append(
            Target("the stand-in driver", targets[0].python, ROOT / "packaging" / "standin")
        )
    missing = [version for version in VERSIONS if version not in pythons]
    return targets, missing + ([] if stable else ["3.12 and later"])


def build(target: Target) -> Path:
    """Return the wheel as pip makes it, showing what CMake and the compiler do meanwhile."""
    raw = RAW / "-".join(target.what.replace(",", "").split())
    shutil.rmtree(raw, ignore_errors=True)
    settings = [f"--config-settings={setting}" for setting in target.settings]
    command = [target.python, "-m", "pip", "wheel", "--verbose", "--no-deps",
               "--disable-pip-version-check", "--wheel-dir", str(raw), *settings,
               f"--config-settings=build-dir={raw}/build", str(target.project)]  # fmt: skip
    log = raw.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" 2>&1 | "$0"', str(ROOT / "scripts" / "show_build"),
         *command],
        check=True, env={**os.environ, "BUILD_LOG": str(log)},
    )  # fmt: skip
    return next(raw.glob("*.whl"))


def repair(wheel: Path) -> None:
    """Put the wheel into dist/ with the tag of the oldest systems that have what it needs."""
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(
        [tools / "auditwheel", "repair", "--wheel-dir", DIST, wheel], check=True, env=environment
    )


if __name__ == "__main__":
    sys.exit(main())
