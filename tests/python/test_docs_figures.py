"""Every figure in prose that reads as measured says where it is from.

A figure is a rate (3.5 GB/s), a time (12 us, 3 ms), or a ratio with two decimals (0.97). Where one
stands in a paragraph or an item of a list, that paragraph or item

- names the file that has it, below results/ or machines/, or
- links to a section that has a table which scripts/figures.py makes, or
- says that it is simulated, predicted or nominal, or that its runs were not kept, or
- ends with the comment <!-- not measured -->: a limit, a default, a definition.

Code, tables and what scripts/figures.py writes are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("tutorial/*.md"))]

FIGURE = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?\s(?:GB/s|us|µs|ms)(?!\w)"
    r"|(?<![\w.§])\d+\.\d\d(?!\.?\w)(?!\s(?:[GMK]iB|%))"
)
FILE = re.compile(r"\b((?:results|machines)/[\w./-]+\.json)")
LINK = re.compile(r"\]\(([^)\s#]*)#([\w-]+)\)")
SAID = re.compile(
    r"\b(?:simulat\w+|predict\w+|nominal\w*|were not kept)\b|<!-- not measured -->", re.I
)
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
GENERATED = re.compile(r"^<!-- ([\w -]+) -->$.*?^<!-- /\1 -->$", re.DOTALL | re.MULTILINE)
MADE = "MADE"  # stands for a generated block


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def without_code(text: str) -> str:
    return GENERATED.sub(f"\n{MADE}\n", CODE.sub("", text))


def units(text: str) -> list[str]:
    """Return the paragraphs and items of lists, each as one line."""
    found: list[list[str]] = [[]]
    for line in without_code(text).splitlines():
        begins = re.match(r"\s*([-*]|\d+\.) ", line)
        formula = line.startswith("    ") and not found[-1] and not begins
        alone = formula or not line.strip() or line.startswith(("|", "#", "!", MADE))
        if begins or alone:
            found.append([])
        if not alone:
            found[-1].append(line.strip())
    return [" ".join(lines) for lines in found if lines]


def sections_with_tables(text: str) -> set[str]:
    """Return the anchors of sections, and of those around them, that have a generated block."""
    found: set[str] = set()
    open_sections: list[tuple[int, str]] = []
    for line in without_code(text).splitlines():
        if heading := re.match(r"(#+) (.*)", line):
            level = len(heading[1])
            open_sections = [each for each in open_sections if each[0] < level]
            open_sections.append((level, anchor(heading[2])))
        elif line == MADE:
            found |= {name for _, name in open_sections}
    return found


def links_to_a_table(unit: str, document: Path) -> bool:
    for name, section in LINK.findall(unit):
        target = (document.parent / name).resolve() if name else document
        if target.suffix == ".md" and section in sections_with_tables(target.read_text("utf-8")):
            return True
    return False


def figures_without_source(document: Path) -> list[str]:
    found = []
    for unit in units(document.read_text(encoding="utf-8")):
        figures = FIGURE.findall(re.sub(r"`[^`]*`", "", unit))
        if figures and not (
            FILE.search(unit) or SAID.search(unit) or links_to_a_table(unit, document)
        ):
            found.append(f"{', '.join(figures)}: {unit}")
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_figure_says_where_it_is_from(document: Path) -> None:
    assert figures_without_source(document) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_of_figures_exist(document: Path) -> None:
    named = FILE.findall(document.read_text(encoding="utf-8"))

    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It takes 12 us.", 1),
        ("It takes 12 us (`results/h200x2/calls.json`).", 0),
        ("It gains 1.05 of it.\n\nSee `results/h200x2/calls.json`.", 1),
        ("- It gains 1.05.\n- That takes 3 ms (simulated).", 1),
        ("That is\n\n    max(a, 0.05)\n\nwith a.", 0),
        ("After 50 ms at most. <!-- not measured -->", 0),
        ("Version 3.10, 12 MiB, 3 %, 1.05 GiB, `0.97`.", 1),
        ("| 1.05 |\n\n```\n1.05\n```\n\n<!-- a -->\n1.05 and 3 us\n<!-- /a -->", 0),
        ("It gains 1.05 ([table](#one)).\n\n# One\n\n<!-- a -->\n1.05\n<!-- /a -->", 0),
        ("It gains 1.05 ([text](#one)).\n\n# One\n\ntext", 1),
    ],
)
def test_figures_without_a_source_are_found(tmp_path: Path, text: str, count: int) -> None:
    document = tmp_path / "a.md"
    document.write_text(text, encoding="utf-8")

    assert len(figures_without_source(document)) == count


if __name__ == "__main__":
    for path in DOCUMENTS:
        for figure in figures_without_source(path):
            sys.stdout.write(f"{path.name}: {figure}\n\n")
