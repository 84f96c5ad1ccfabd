"""Every command of the tutorials and of the quickstart that needs no GPU prints what they say.

A block of kind "console" is one: lines that begin with "$ " are run by bash, one after another in
one folder for each document, and what follows a command is what it prints, stderr included. "..."
stands for lines that are left out. The width of columns may differ, and so may numbers; those of
simulations only by CLOSE.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from mpi_search import SEARCH, needs_mpi
from polypath import install

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(\.\d+)?")
CLOSE = 0.02  # relative; other compilers round otherwise
ANYTHING_LEFT_OUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

needs_stand_in = pytest.mark.skipif(
    not (install.stand_in_dir() / "libcuda.so.1").exists()
    or not install.preload_library().exists(),
    reason="the package was built without the stand-in driver or the preload library",
)


@dataclass(frozen=True)
class Step:
    """A command of a document, and what the document says that it prints."""

    command: str
    printed: str


def steps_of(text: str) -> list[Step]:
    found = []
    for block in CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            while command.endswith("\\"):
                more, _, printed = printed.partition("\n")
                command = f"{command[:-1].rstrip()} {more.strip()}"
            found.append(Step(command, printed))
    return found


def without_numbers(text: str) -> str:
    """Return the text with every number as 0 and every rule as one stroke."""
    return re.sub("─+", "─", NUMBER.sub("0", text))


def agrees(printed: str, stated: str) -> bool:
    checker = doctest.OutputChecker()
    got, want = without_numbers(printed), without_numbers(stated)
    return checker.check_output(want, got, ANYTHING_LEFT_OUT)


def numbers(text: str) -> list[float]:
    return [float(found.group()) for found in NUMBER.finditer(text)]


def same_numbers(printed: str, stated: str) -> bool:
    pairs = zip(numbers(printed), numbers(stated))
    return all(abs(a - b) <= max(CLOSE * abs(b), 0.01) for a, b in pairs)


def plain(line: str) -> str:
    """Return a line without rules, and with one blank for several."""
    return " ".join(re.sub("─+", "─", line).split())


def stale_lines(printed: str, stated: str) -> list[str]:
    """Return the lines that are stated and that no printed line has with about the same numbers."""
    lines = [plain(line) for line in printed.splitlines()]
    complete = [plain(line) for line in stated.splitlines() if "..." not in line]
    return [line for line in complete if not any(says_the_same(each, line) for each in lines)]


def says_the_same(printed: str, stated: str) -> bool:
    same_text = without_numbers(printed) == without_numbers(stated)
    return same_text and same_numbers(printed, stated)


def environment(folder: Path) -> dict[str, str]:
    """Return what a command sees: this Python's programs, no GPU, and caches of its own."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith("POLYPATH_")}
    return settings | {
        "COLUMNS": "80",
        "CUDA_VISIBLE_DEVICES": "-1",
        "PATH": f"{Path(sys.executable).parent}:{SEARCH}",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def printed_by(command: str, folder: Path) -> str:
    (folder / "examples").exists() or (folder / "examples").symlink_to(ROOT / "examples")
    seen = environment(folder)
    if "stand-in" in command or "stand_in" in command:  # which has GPUs of its own
        del seen["CUDA_VISIBLE_DEVICES"]
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder, env=seen, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return run.stdout


def check_document(document: Path, folder: Path, *, repeats_exactly: bool = False) -> None:
    steps = steps_of(document.read_text(encoding="utf-8"))
    assert steps
    for step in steps:
        printed = printed_by(step.command, folder)
        said = f"$ {step.command}\n{printed}\n--- where {document.name} says\n{step.printed}"
        assert agrees(printed, step.printed), said
        if repeats_exactly:
            assert stale_lines(printed, step.printed) == [], said


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial/README.md"])
def test_commands_print_what_the_document_says(name: str, tmp_path: Path) -> None:
    check_document(ROOT / name, tmp_path, repeats_exactly=True)


def test_research_tutorial(tmp_path: Path) -> None:
    check_document(ROOT / "docs/tutorial/research.md", tmp_path, repeats_exactly=True)


@needs_stand_in
def test_pytorch_tutorial(tmp_path: Path) -> None:
    check_document(ROOT / "docs/tutorial/pytorch.md", tmp_path)


@needs_mpi
@needs_stand_in
def test_mpi_tutorial(tmp_path: Path) -> None:
    check_document(ROOT / "docs/tutorial/mpi.md", tmp_path)


def test_every_document_with_commands_is_tested() -> None:
    tested = {path.name for path in DOCUMENTS}
    others = {path for path in (ROOT / "docs").rglob("*.md") if path not in DOCUMENTS}

    assert tested == {"README.md", "mpi.md", "pytorch.md", "research.md"}
    assert [path.name for path in others if CONSOLE.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("stated", "same"),
    [
        ("took 3 us\n", True),
        ("took  4.5 us\n", True),
        ("...\n", True),
        ("took 3 ms\n", False),
        ("took 3 us\nmore\n", False),
    ],
)
def test_only_numbers_and_blanks_may_differ(stated: str, same: bool) -> None:
    assert agrees("took 12.5 us\n", stated) is same


def test_a_stale_number_is_found() -> None:
    printed = "a  1.81x\nb 3 us\n"

    assert stale_lines(printed, "...\na 1.80x\nb 3 us\n") == []
    assert stale_lines(printed, "a 1.92x\nb 3 us\nc\n") == ["a 1.92x", "c"]


def test_commands_may_be_broken_into_lines() -> None:
    text = "```console\n$ a \\\n    b\nx\ny\n$ c\n```\n"

    assert steps_of(text) == [Step("a b", "x\ny\n"), Step("c", "")]
