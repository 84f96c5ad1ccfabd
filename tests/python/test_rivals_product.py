"""scripts/rivals/gpu_product.py, with a stand-in for PyTorch."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))


class Clock:
    """PyTorch: calls take 1 s and products 4 s, each on a stream of its own."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.at = {"call": 0.0, "product": 0.0, "gate": 0.0}
        self.last = "gate"

    def do(self, what: str, seconds: float) -> None:
        self.order.append(what)
        self.at[what] += seconds
        self.last = what

    def event(self, enable_timing: bool) -> Any:
        assert enable_timing
        event = MagicMock()

        def record() -> None:
            event.at = self.at[self.last]

        event.record = record
        event.elapsed_time = lambda later: (later.at - event.at) * 1e3
        return event


def test_marks_of_both_streams_count_from_when_all_gpus_have_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, torch, before = Clock(), MagicMock(), set(sys.modules)
    torch.cuda.Event = clock.event
    torch.mm = lambda *_, out: clock.do("product", 4.0 * bool(out))
    for name in ("torch", "torch.distributed"):
        monkeypatch.setitem(sys.modules, name, torch)
    ranks = MagicMock()
    ranks.meet = lambda: clock.do("gate", 0.0)
    product = importlib.import_module("rivals.gpu_product").GpuProduct(ranks)
    for name in set(sys.modules) - before:
        del sys.modules[name]
    clock.at = dict.fromkeys(clock.at, 0.0)

    both = product.start(lambda: clock.do("call", 1.0), 8, 2)()

    # one call is for warmth; the other eight take 8 s, as the two products do
    assert clock.order[1:3] == ["call", "gate"]
    assert (clock.order[3:].count("call"), clock.order[3:].count("product")) == (8, 2)
    assert (both.seconds, both.product_seconds) == (1.0, 4.0)
