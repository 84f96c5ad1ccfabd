"""What the documentation says can be followed: links, names, commands and examples."""

from __future__ import annotations

import functools
import itertools
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
PAGES = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]  # which tells of the past
LONGEST_README = 120  # lines

LINK = re.compile(r"\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`]*)`")
CALL = re.compile(r"(?:\$ )?(?:[A-Z_]+=\S+ )*polypath ([a-z]+(?: .*)?)$")
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


def calls_of(text: str) -> list[list[str]]:
    """Return the words of every call of `polypath` in code, up to a program that it runs."""
    code = "\n".join(code for _, code in CODE_BLOCK.findall(text)).replace("\\\n", " ")
    code += "\n" + "\n".join(" ".join(c.split()) for c in INLINE.findall(CODE_BLOCK.sub("", text)))
    lines = (re.sub(r"\s+#.*|\"[^\"]*\"", "", line) for line in code.splitlines())
    calls = [found[1].split() for line in lines if (found := CALL.match(line))]
    return [list(itertools.takewhile(lambda word: word != "--", words)) for words in calls]


@functools.cache
def help_of(command: str) -> str:
    return polypath(command, "--help").stdout


def wrong_words(words: list[str]) -> list[str]:
    """Return what is no option of the command, and what `bench` cannot measure."""
    command, *rest = words
    options = [word.partition("=")[0] for word in rest if word.startswith("--")]
    wrong = [option for option in options if not re.search(rf"{option}\b", help_of(command))]
    if command == "bench" and rest and rest[0].isalpha() and rest[0].islower():
        wrong += [rest[0]] if rest[0] not in help_of("bench") else []
    return wrong


@pytest.mark.parametrize("document", PAGES, ids=lambda path: path.name)
def test_commands_can_be_carried_out_as_they_are_written(document: Path) -> None:
    calls = calls_of(text_of(document))

    assert [(" ".join(call), wrong) for call in calls if (wrong := wrong_words(call))] == []


def test_calls_are_found_and_judged() -> None:
    text = "`polypath plan gpu0 --no-such x`\n```\nA=1 polypath run -- a --b  # c\n```\n"

    assert calls_of(text) == [["run"], ["plan", "gpu0", "--no-such", "x"]]
    assert wrong_words(["plan", "gpu0", "--no-such", "x"]) == ["--no-such"]
    assert wrong_words(["bench", "weights", "--sizes", "1M"]) == ["weights"]


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
