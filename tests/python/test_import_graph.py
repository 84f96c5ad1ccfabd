"""No modules import one another in a circle, and the checker that says so can say yes."""

from __future__ import annotations

from pathlib import Path

import import_graph
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {"python/polypath": "polypath", "scripts": ""}


def cycles_below(folder: Path, package: str) -> list[list[str]]:
    return import_graph.cycles(
        import_graph.import_graph(import_graph.modules_below(folder, package))
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a module that uses all others."""
    write(tmp_path, "__init__.py", "from p.top import all_of_it")
    write(tmp_path, "top.py", "import p.low\nfrom p.part import name")
    write(tmp_path, "low.py", "import os")
    write(tmp_path, "part/__init__.py", "from p.part.piece import name")
    write(tmp_path, "part/piece.py", "from p import low")
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


@pytest.mark.parametrize(("folder", "name"), SOURCES.items())
def test_modules_import_one_way(folder: str, name: str) -> None:
    assert len(import_graph.modules_below(ROOT / folder, name)) > 10

    assert cycles_below(ROOT / folder, name) == []


def test_imports_are_read(package: Path) -> None:
    graph = import_graph.import_graph(import_graph.modules_below(package, "p"))

    assert graph == {
        "p": {"p.top"},
        "p.top": {"p.low", "p.part"},
        "p.low": set(),
        "p.part": {"p.part.piece"},
        "p.part.piece": {"p.low"},
    }


@pytest.mark.parametrize(
    ("file", "line", "circle"),
    [
        ("low.py", "import p.part.piece", ["p.low", "p.part.piece"]),
        ("low.py", "from p.part.piece import name", ["p.low", "p.part.piece"]),
        ("low.py", "from .part.piece import name", ["p.low", "p.part.piece"]),
        ("low.py", "from .part import piece", ["p.low", "p.part.piece"]),
        ("low.py", "def f():\n    import p.part.piece", ["p.low", "p.part.piece"]),
        ("low.py", "if TYPE_CHECKING:\n    import p.part.piece", ["p.low", "p.part.piece"]),
        ("low.py", "from p import part", ["p.low", "p.part", "p.part.piece"]),
        ("part/piece.py", "from ..top import name", ["p.part", "p.part.piece", "p.top"]),
        ("part/piece.py", "from . import other", ["p.part", "p.part.piece"]),
        ("part/__init__.py", "from .. import top", ["p.part", "p.top"]),
        ("low.py", "import p.low", ["p.low"]),
    ],
)
def test_a_circle_is_named(package: Path, file: str, line: str, circle: list[str]) -> None:
    text = (package / file).read_text(encoding="utf-8")
    write(package, file, f"{text}\n{line}")

    assert cycles_below(package, "p") == [circle]


def test_circles_apart_are_named_each(package: Path) -> None:
    write(package, "a.py", "import p.b")
    write(package, "b.py", "import p.a")
    write(package, "low.py", "import p.part.piece")

    assert cycles_below(package, "p") == [["p.a", "p.b"], ["p.low", "p.part.piece"]]
