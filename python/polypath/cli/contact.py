"""Where bug reports go, as the metadata of the installed package has it."""

from __future__ import annotations

import re
from importlib import metadata

_NOT_LETTERS = re.compile(r"[^a-z]")
_ISSUES = ("issues", "issue", "bugs", "bugreports", "bugtracker", "issuetracker", "tracker")
_SOURCES = ("repository", "source", "sourcecode", "homepage")


def address_of_bug_reports() -> str | None:
    """Return the address of the issue tracker, else of the repository; nothing without either."""
    named = _project_urls()
    return next((named[label] for label in (*_ISSUES, *_SOURCES) if label in named), None)


def _project_urls() -> dict[str, str]:
    """Return the addresses by their labels' letters: "Issue Tracker" is issuetracker."""
    try:
        lines = metadata.metadata("polypath").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return {}
    pairs = (line.partition(",") for line in lines)
    return {_NOT_LETTERS.sub("", label.lower()): url.strip() for label, _, url in pairs}
