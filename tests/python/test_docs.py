"""What the documentation says can be followed: links, names, commands and examples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import polypath, succeed
from polypath import install, reports

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
LONGEST_README = 120  # lines

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SOURCE_PATH = re.compile(r"`((?:src|tests|docs|python|machines|scripts|include|cmake)/[\w./-]+)`")
VARIABLE = re.compile(r"\bPOLYPATH_[A-Z_]+\b")
DEFAULT = re.compile(r"`(POLYPATH_[A-Z_]+)` \(default ([^)]+)\)")
# The C header's constants start alike.
CONSTANTS = set(VARIABLE.findall((ROOT / "include" / "polypath.h").read_text(encoding="utf-8")))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def is_its_test(name: str) -> bool:
    """Return whether this is how a test of a header that there is would be called."""
    header = re.sub(r"^tests/(.*)\.test\.cc$", r"src/\1.h", name)
    return header != name and (ROOT / header).exists()


def anchors_of(text: str) -> set[str]:
    """Return the anchors that headings make: lower case, blanks as hyphens, no punctuation."""
    headings = re.findall(r"^#+ (.*)$", re.sub(CODE_BLOCK, "", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(document: Path) -> list[str]:
    broken = []
    for link in LINK.findall(CODE_BLOCK.sub("", text_of(document))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        if not target.exists() or (anchor and anchor not in anchors_of(text_of(target))):
            broken.append(link)
    return broken


def code_blocks(language: str, text: str) -> list[str]:
    return [code for kind, code in CODE_BLOCK.findall(text) if kind == language]


def settings() -> dict[str, str]:
    return {entry["variable"]: entry["default"] for entry in reports.settings()}


def command_names(text: str) -> set[str]:
    """Return the words after "polypath" where it is called in code."""
    code = "\n".join(code for _, code in CODE_BLOCK.findall(text))
    code += "\n" + "\n".join(re.findall(r"`(polypath [^`]*)`", CODE_BLOCK.sub("", text)))
    return set(re.findall(r"^polypath ([a-z]\w+)", code, re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    assert broken_links(document) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("# One two\n[b](b.md) [here](#one-two) [not](#three) [web](https://x.y)\n")

    assert broken_links(document) == ["b.md", "#three"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_files_exist(document: Path) -> None:
    named = SOURCE_PATH.findall(text_of(document))

    assert [name for name in named if not (ROOT / name).exists() and not is_its_test(name)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_settings_exist_and_have_the_stated_default(document: Path) -> None:
    known = settings()
    text = text_of(document)

    mentioned = {name for name in VARIABLE.findall(text) if not name.endswith("_")}
    assert mentioned - set(known) - CONSTANTS == set()
    assert {name: known[name] for name, _ in DEFAULT.findall(text)} == dict(DEFAULT.findall(text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_commands_exist(document: Path) -> None:
    listed = succeed("--help").stdout

    missing = [name for name in command_names(text_of(document)) if f" {name} " not in listed]

    assert missing == []


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= LONGEST_README


def test_the_command_line_names_most_commands() -> None:
    assert command_names(COMMANDS) >= {"plan", "bench", "tune", "trace", "info", "machines"}


def test_options_of_first_commands_exist() -> None:
    for line in "\n".join(code_blocks("", COMMANDS)).splitlines():
        if not line.startswith("polypath "):
            continue
        command, *words = line.split()[1:]
        help_text = polypath(command, "--help").stdout
        for option in (word for word in words if word.startswith("--")):
            assert option in help_text, line


@pytest.mark.parametrize(
    "code",
    [code for document in DOCUMENTS for code in code_blocks("python", text_of(document))],
)
def test_python_examples_run(code: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stderr


def test_c_example_compiles_and_runs(tmp_path: Path) -> None:
    code = code_blocks("c", text_of(ROOT / "docs" / "c.md"))[0]
    (tmp_path / "copy.c").write_text(code, encoding="utf-8")
    program = tmp_path / "copy"
    include, library = install.include_dir(), install.library_dir()

    subprocess.run(
        ["cc", "-Wall", "-Wextra", "-Werror", tmp_path / "copy.c", "-o", program, f"-I{include}",
         f"-L{library}", "-lpolypath", f"-Wl,-rpath,{library}"],
        check=True,
    )  # fmt: skip
    result = subprocess.run([program], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout
    assert re.fullmatch(r"64 MiB in \d+ us\n", result.stdout)


def test_every_c_function_is_listed() -> None:
    header = text_of(ROOT / "include" / "polypath.h")
    functions = set(re.findall(r"^POLYPATH_API [^;]*?\b(polypath_\w+)\(", header, re.MULTILINE))

    assert "polypath_copy_many_on" in functions
    assert (
        functions - set(re.findall(r"`(polypath_\w+)`", text_of(ROOT / "docs" / "c.md"))) == set()
    )
