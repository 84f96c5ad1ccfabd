"""The tables of the documentation are what scripts/figures.py makes of the stored results."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import jsonschema
import pytest
from bench_schemas import BENCH

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "scripts"))
figures = importlib.import_module("figures")


@pytest.mark.parametrize(("name", "marker"), sorted(figures.BLOCKS))
def test_document_holds_the_rendered_tables(name: str, marker: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    assert text == figures.with_block(text, figures.BLOCKS[name, marker](), marker)


def test_only_the_text_between_the_named_markers_is_replaced() -> None:
    text = "a <!-- x -->1<!-- /x --> b <!-- figures -->2<!-- /figures --> c"

    assert figures.with_block(text, "new", "x") == (
        "a <!-- x -->\nnew\n<!-- /x --> b <!-- figures -->2<!-- /figures --> c"
    )


@pytest.mark.parametrize("path", sorted((ROOT / "results" / "simulated").glob("*.json")), ids=str)
def test_results_are_verified_simulations(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))

    jsonschema.validate(document, BENCH)
    assert document["driver"] == "sim"
    assert all(result["verified"] for result in document["results"])


def test_a_document_without_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="markers"):
        figures.with_block("no markers here", "text")
