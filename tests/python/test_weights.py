"""polypath weights: what it moves, and what it says where it cannot."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import polypath
import pytest
from cli_runner import Run, assert_refused
from cli_runner import polypath as run_polypath
from hypothesis import given
from hypothesis import strategies as st
from polypath.cli import weight_copies

GIB = 1 << 30


def bytes_of(shapes: dict[str, tuple[int, ...]]) -> int:
    return sum(2 * int(np.prod(shape)) for shape in shapes.values())


@given(st.integers(1, 64 * GIB).map(lambda half: 2 * half))
def test_tensors_have_the_bytes_asked_for(total: int) -> None:
    shapes = weight_copies.weight_shapes(total)

    assert bytes_of(shapes) == total
    assert all(all(extent > 0 for extent in shape) for shape in shapes.values())


def test_default_total_has_tensors_of_a_large_model() -> None:
    shapes = weight_copies.weight_shapes(16 * GIB)

    sizes = sorted(bytes_of({"": shape}) for shape in shapes.values())
    assert shapes["embedding"] == (128256, 8192)
    assert shapes["7.down"] == (8192, 28672)
    assert sizes[0] == 16384 and sizes[-1] > 2e9
    assert weight_copies.weight_shapes(16 * GIB) == shapes


class FakeTensor:
    """As much of torch.Tensor as the measurement uses, over NumPy."""

    def __init__(self, array: np.ndarray, device: str) -> None:
        self.array, self.device = array, types.SimpleNamespace(type=device[:4].rstrip(":"))

    def view(self, kind: Any) -> FakeTensor:
        return FakeTensor(self.array.view(kind), self.device.type)

    def to(self, device: Any) -> FakeTensor:
        return FakeTensor(self.array, device.type)

    def copy_(self, source: FakeTensor, non_blocking: bool = False) -> None:  # noqa: ARG002
        self.array[...] = source.array

    def zero_(self) -> None:
        self.array[...] = 0


class FakeTorch:
    """As much of torch as the measurement uses."""

    bfloat16, int16 = np.int16, np.int16

    def __init__(self) -> None:
        self.cuda = types.SimpleNamespace(synchronize=lambda _: None)

    def empty(self, shape: Any, dtype: Any, device: str, pin_memory: bool = False) -> FakeTensor:
        assert device == "cpu" or not pin_memory
        return FakeTensor(np.full(shape, 1, dtype), device)

    def Generator(self, device: str) -> Any:  # noqa: ARG002, N802
        return types.SimpleNamespace(manual_seed=np.random.default_rng)

    def randint(
        self, low: int, high: int, shape: Any, generator: Any, dtype: Any, device: str
    ) -> FakeTensor:
        return FakeTensor(generator.integers(low, high, shape).astype(dtype), device)

    def equal(self, first: FakeTensor, second: FakeTensor) -> bool:
        return np.array_equal(first.array, second.array)


def measured(monkeypatch: pytest.MonkeyPatch, broken: bool) -> list[dict[str, Any]]:
    def copy(destination: FakeTensor, source: FakeTensor) -> None:
        if not (broken and source.device.type == "cuda"):
            destination.copy_(source)

    monkeypatch.setattr(polypath, "copy", copy)
    return weight_copies.measure_weights(FakeTorch(), 0, 1 << 20, 2, lambda *_: None)


def test_results_are_one_per_memory_and_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    results = measured(monkeypatch, broken=False)

    assert [(r["memory"], r["source"], r["destination"]) for r in results] == [
        ("pinned", "host0", "gpu0"), ("pinned", "gpu0", "host0"),
        ("pageable", "host0", "gpu0"), ("pageable", "gpu0", "host0"),
    ]  # fmt: skip
    assert all(r["verified"] and r["bytes"] == 1 << 20 and r["repeats"] == 2 for r in results)
    assert all(r["speedup"] == r["native_seconds"] / r["seconds"] for r in results)


def test_bytes_that_do_not_arrive_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    results = measured(monkeypatch, broken=True)

    assert [result["verified"] for result in results] == [True, False, True, False]


def without_gpus() -> Any:
    return types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: False))


@pytest.mark.parametrize(
    ("options", "torch", "words"),
    [
        ((), None, "PyTorch is not installed"),
        ((), without_gpus(), "PyTorch sees 0 GPUs"),
        (("host", "gpu7"), without_gpus(), "gpu7"),
        (("gpu0", "gpu1"), None, "between the host and one GPU"),
        (("cuda:1", "host"), None, "Did you mean gpu1 host?"),
        (("host", "gpu01"), None, "from host to gpu01"),
        (("host",), None, "'host' has no destination"),
        (("--machine", "beluga"), None, "--machine"),
        (("--json", "no/such/folder/x.json"), None, "no/such/folder"),
        (("--total", "3"), None, "total of 3"),
        (("--total", "much"), None, "much"),
        (("--repeats", "0"), None, "0 repeats"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_measured_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], torch: Any, words: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)

    run: Run = run_polypath("weights", *options)

    assert_refused(run)
    assert words in run.stderr


def installed(monkeypatch: pytest.MonkeyPatch, free: int = 64 << 30) -> FakeTorch:
    """Put a PyTorch in place that has one GPU with so many bytes free."""
    torch = FakeTorch()
    torch.__version__, torch.version = "2", types.SimpleNamespace(cuda="13")  # type: ignore[attr-defined]
    torch.cuda.is_available, torch.cuda.device_count = lambda: True, lambda: 1
    torch.cuda.get_device_name = lambda _: "GPU of a test"
    torch.cuda.OutOfMemoryError = MemoryError
    torch.cuda.mem_get_info = lambda _: (free, 80 << 30)
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    monkeypatch.setattr(polypath, "copy", lambda destination, source: destination.copy_(source))
    return torch


def test_the_whole_command(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = installed(monkeypatch)

    run = run_polypath("weights", "--total", "1M", "--repeats", 1, "--json", "-")

    assert run.status == 0, run.stderr
    assert run.json()["schema"] == "polypath.bench/1" and len(run.json()["results"]) == 4
    assert "GPU of a test" in run.stderr and "pageable" in run.stderr
    assert importlib.import_module("torch") is torch


def test_more_than_a_gpu_has_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = installed(monkeypatch, free=1 << 30)
    monkeypatch.setattr(torch, "empty", lambda *_, **__: pytest.fail("made for nothing"))

    run = run_polypath("weights", "--total", "8000T")

    assert_refused(run)
    assert "GPU 0 has 1 GiB free" in run.stderr


def test_more_than_the_host_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be ...")

    torch = installed(monkeypatch)
    monkeypatch.setattr(torch, "empty", empty)

    run = run_polypath("weights", "--total", "1M")

    assert_refused(run)
    assert "CUDA error: out of memory) Ask for less" in run.stderr


def test_a_pytorch_that_cannot_be_loaded_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.13: no such file')")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))

    run = run_polypath("weights")

    assert_refused(run)
    assert "libcudart.so.13" in run.stderr
