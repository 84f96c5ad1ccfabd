"""Versions of dependencies are stated once, or the same wherever they stand."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENT = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[\w+\])?((?:[=<>~!]=?[\w.]+,?)*)")


def stated_in(lines: list[str]) -> list[tuple[str, str]]:
    """Return (name, versions) of every requirement among the lines."""
    found = (REQUIREMENT.match(line.strip()) for line in lines if line.strip()[:1] not in "#-")
    return [(each[1].lower(), each[2]) for each in found if each]


def of_the_package() -> list[str]:
    """Return what pyproject.toml says that the package needs."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^dependencies = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]+)"', listed)


def test_a_name_in_two_files_has_the_same_versions() -> None:
    versions: dict[str, set[str]] = defaultdict(set)
    files = sorted((ROOT / "requirements").glob("*.txt"))
    for lines in [of_the_package(), *(file.read_text().splitlines() for file in files)]:
        for name, version in stated_in(lines):
            versions[name].add(version)

    assert {"numpy", "ruff", "pytest", "mkdocs-material"} <= versions.keys()
    several = {name: found for name, found in versions.items() if len(found) > 1}
    # nanobind: what writes the stub is fixed, where Python can have it (requirements/build.txt).
    assert several.keys() <= {"nanobind"}


def test_requirements_are_read() -> None:
    lines = ["# a", "-r b.txt", "", "numpy>=1.22", "mkdocstrings[python]==1.0", "x==1; python<3"]

    assert stated_in(lines) == [
        ("numpy", ">=1.22"),
        ("mkdocstrings", "==1.0"),
        ("x", "==1"),
    ]


def test_the_citation_has_the_version() -> None:
    built = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    (version,) = re.findall(r"project\(polypath VERSION ([\d.]+)", built)
    assert f"\nversion: {version}\n" in cited
