"""Real PyTorch, where it is installed, tracing programs that copy: nothing of it needs a GPU."""

from __future__ import annotations

from typing import Any

import polypath
import pytest

torch: Any = pytest.importorskip("torch")
fake_tensor: Any = pytest.importorskip("torch._subclasses.fake_tensor")


def compiled(function: Any) -> Any:
    return torch.compile(function, backend="eager", fullgraph=True)


def test_a_compiled_function_copies_in_one_graph() -> None:
    def double(destination: Any, source: Any) -> Any:
        polypath.copy(destination, source)
        return destination * 2

    run = compiled(double)

    for value in (1.0, 2.0):
        assert run(torch.zeros(4), torch.full((4,), value)).tolist() == [2 * value] * 4


def test_several_copies_and_moves_are_traced_as_well() -> None:
    def work(first: Any, second: Any, source: Any) -> Any:
        polypath.copy_many([(first, source), (second, source)])
        return polypath.to({"sum": first + second, "n": 2}, "cpu")["sum"]

    assert compiled(work)(torch.zeros(3), torch.zeros(3), torch.ones(3)).tolist() == [2.0] * 3


def test_an_exported_program_has_the_move() -> None:
    class Move(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, tensor: Any) -> Any:
            return polypath.to(tensor, "cpu") * 2

    program = torch.export.export(Move(), (torch.ones(3),))

    assert "aten.to" in str(program.graph)


def test_tensors_without_bytes_pass_through() -> None:
    with fake_tensor.FakeTensorMode():
        source, destination = torch.empty(4), torch.empty(4, device="cuda:0")

        assert polypath.copy(destination, source) == "native"
        assert polypath.to(source, "cuda:0").device == destination.device
        assert polypath.to([destination], "cpu")[0].device.type == "cpu"
        with pytest.raises(ValueError, match="does not fill"):
            polypath.copy(destination, torch.empty(5))
        with pytest.raises(ValueError, match="does not convert"):
            polypath.copy(destination, torch.empty(4, dtype=torch.int32))


def test_a_module_is_moved_with_its_tied_parameters() -> None:
    module = torch.nn.Linear(2, 2)
    tied = torch.nn.ModuleList([module, module])

    assert polypath.to(tied, "cpu") is tied

    assert tied[0].weight is tied[1].weight and tied[0].weight.requires_grad


def test_blocks_break_a_graph_and_are_copied() -> None:
    def swap(destination: Any, source: Any) -> Any:
        polypath.copy_blocks(destination, source, [(2, 0), (0, 1)])
        return destination * 2

    source = torch.arange(12.0).view(3, 4)

    swapped = torch.compile(swap, backend="eager")(torch.zeros(2, 4), source)

    assert swapped.tolist() == (2 * source[[2, 0]]).tolist()


def test_blocks_without_bytes_pass_through() -> None:
    with fake_tensor.FakeTensorMode():
        source, destination = torch.empty(5, 4), torch.empty(3, 4, device="cuda:0")

        polypath.copy_blocks(destination, source, [(4, 0)])
        with pytest.raises(IndexError, match="block 3 of the destination"):
            polypath.copy_blocks(destination, source, [(4, 3)])
