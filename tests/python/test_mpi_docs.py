"""What docs/mpi.md says of Polypath's statistics is what they print."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_reason_that_is_explained_is_one_that_is_printed() -> None:
    printed = (ROOT / "src/api/preload/outcome.h").read_text(encoding="utf-8")
    text = (ROOT / "docs/mpi.md").read_text(encoding="utf-8")
    table = text[text.index("| reason |") : text.index("| no table at all")]

    reasons = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[1:]

    assert len(reasons) >= 5
    missing = [one for one in reasons if f'"{one.replace("`", "")}"' not in printed]
    assert missing == []
