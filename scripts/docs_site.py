"""Hooks for mkdocs: pages from outside docs/, and links to them.

The documentation is read in two ways: beside the sources, where README.md links to docs/cli.md and
that to ../examples/collectives.py, and as a site, whose pages are those of docs/ only. So that both
hold, the files of PAGES become pages, every other file that a page links to becomes one that shows
its text, and links are rewritten to these. What a link names and is not there stays as it is, and
mkdocs refuses it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the rest is used, and tested, without mkdocs
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs/"
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(?<=\]\()(?![a-z]+:)([^)\s#]+)(?=[#)])")
LANGUAGES = {".h": "c", ".c": "c", ".py": "python", ".json": "json", ".md": "markdown"}


def source_of(address: str) -> str:
    """Return the file, seen from the root, that the page of this address is made of."""
    roots = {page: source for source, page in PAGES.items()}
    return roots.get(address, DOCS + address)


def address_of(source: str) -> str:
    """Return the address of the page, or of the picture, that is made of this file."""
    if source.startswith(DOCS):
        return source[len(DOCS) :]
    return PAGES.get(source, f"sources/{source}.md")


def linked(text: str, source: str) -> Iterator[str]:
    """Yield the files, seen from the root, that the text of `source` links to."""
    for found in LINK.finditer(text):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(source), found[1]))


def rewritten(text: str, source: str) -> str:
    """Return the text of `source` with every link as the site has it."""
    folder = posixpath.dirname(address_of(source))

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[1]))
        if not (ROOT / target).is_file():
            return found[1]
        return posixpath.relpath(address_of(target), folder or ".")

    return LINK.sub(link, text)


def shown(source: str) -> str:
    """Return a page that shows a file as it is."""
    language = LANGUAGES.get(Path(source).suffix, "text")
    text = (ROOT / source).read_text(encoding="utf-8")
    return f"# {source}\n\n````{language}\n{text}````\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that docs/ does not have."""
    from mkdocs.structure.files import File

    sources = {source_of(file.src_uri) for file in files.documentation_pages()} | {*PAGES}
    others = {
        target
        for source in sources
        for target in linked((ROOT / source).read_text(encoding="utf-8"), source)
        if not target.startswith(DOCS) and target not in PAGES and (ROOT / target).is_file()
    }
    for source in sorted(PAGES):
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, PAGES[source], content=text))
    for source in sorted(others):
        files.append(File.generated(config, address_of(source), content=shown(source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite a page's links; files that are only shown keep theirs."""
    del config, files
    uri = page.file.src_uri
    return markdown if uri.startswith("sources/") else rewritten(markdown, source_of(uri))
