"""The committed stub of the extension module is what its signatures say."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest
from polypath import _core

pytest.importorskip("nanobind.stubgen")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
write_stub = importlib.import_module("write_stub")


def declared() -> ast.Module:
    return ast.parse(write_stub.STUB.read_text(encoding="utf-8"))


def functions() -> list[ast.FunctionDef]:
    return [node for node in ast.walk(declared()) if isinstance(node, ast.FunctionDef)]


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the nanobind that writes it needs 3.10")
def test_the_stub_is_as_generated() -> None:
    assert write_stub.STUB.read_text(encoding="utf-8") == write_stub.generated_stub()


def test_every_name_of_the_extension_is_declared() -> None:
    names = {name for name in vars(_core) if not name.startswith("_")}

    assert {node.name for node in declared().body if hasattr(node, "name")} == names


@pytest.mark.parametrize("function", functions(), ids=lambda node: node.name)
def test_arguments_have_names_and_types(function: ast.FunctionDef) -> None:
    arguments = [*function.args.args, *function.args.kwonlyargs]

    assert function.args.vararg is None and function.args.kwarg is None
    assert function.returns is not None
    assert [argument.arg for argument in arguments if argument.arg.startswith("arg")] == []
    assert [a.arg for a in arguments if a.annotation is None and a.arg != "self"] == []


@pytest.mark.parametrize("function", functions(), ids=lambda node: node.name)
def test_public_functions_are_described(function: ast.FunctionDef) -> None:
    if not function.name.startswith("__"):
        assert ast.get_docstring(function)
