"""Links of the documentation lead to the same thing beside the sources and on the site."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "scripts"))
site = importlib.import_module("docs_site")


@pytest.mark.parametrize(
    ("source", "link", "on_the_site"),
    [
        ("README.md", "docs/cli.md", "cli.md"),
        ("README.md", "docs/cli.md#weights", "cli.md#weights"),
        ("README.md", "docs/images/plan-beluga.png", "images/plan-beluga.png"),
        ("README.md", "CHANGELOG.md", "changelog.md"),
        ("README.md", "LICENSE", "sources/LICENSE.md"),
        ("docs/cli.md", "mpi.md", "mpi.md"),
        ("docs/cli.md", "../README.md#install", "index.md#install"),
        ("docs/papers/README.md", "../cli.md", "../cli.md"),
        ("docs/tutorial/mpi.md", "../../include/polypath.h", "../sources/include/polypath.h.md"),
        ("docs/cli.md", "#weights", "#weights"),
        ("docs/cli.md", "https://x.y/z.md", "https://x.y/z.md"),
        ("docs/cli.md", "missing.md", "missing.md"),
    ],
)
def test_links_are_rewritten(source: str, link: str, on_the_site: str) -> None:
    assert site.rewritten(f"a [b]({link}) c", source) == f"a [b]({on_the_site}) c"


@pytest.mark.parametrize("source", ["README.md", "CHANGELOG.md", "docs/cli.md", "docs/papers/a.md"])
def test_an_address_stands_for_one_source(source: str) -> None:
    assert site.source_of(site.address_of(source)) == source


def test_every_page_is_in_the_navigation() -> None:
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w/.-]+\.md\b", configuration))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}

    assert {address for address in listed if not address.startswith("sources/")} == {
        *pages,
        *site.PAGES.values(),
    }


def test_a_shown_file_keeps_its_text() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")

    assert site.shown("LICENSE") == f"# LICENSE\n\n````text\n{text}````\n"
