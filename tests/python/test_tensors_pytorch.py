"""polypath.copy and polypath.to with PyTorch: stream order, layouts, what the framework is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchStream
from tensor_memory import pattern, wait

MIB = 1 << 20


def test_between_gpus_in_the_order_of_both_current_streams(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination, after = (torch.tensor(gpu, 8 * MIB) for gpu in (0, 1, 1))
    before = context.allocate("host0", 8 * MIB)
    expected = pattern(8 * MIB)
    before.numpy()[:] = expected
    read = context.allocate("gpu1", 8 * MIB)

    # What writes the source, what the destination is used for before, and what reads it.
    context.copy_addresses(source.data_ptr(), before.address, 8 * MIB, "gpu0",
                           torch.current[0].cuda_stream)  # fmt: skip
    context.copy_addresses(read.address, destination.data_ptr(), 8 * MIB, "gpu1",
                           torch.current[1].cuda_stream)  # fmt: skip
    how = polypath.copy(destination, source)
    context.copy_addresses(after.data_ptr(), destination.data_ptr(), 8 * MIB, "gpu1",
                           torch.current[1].cuda_stream)  # fmt: skip
    wait(*torch.current.values())

    assert how in ("native", "stream", "graph")
    assert np.array_equal(after.array, expected)
    assert context.violations() == []


def test_a_stream_that_does_not_wait_is_found_by_these_tests(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination = torch.tensor(0, 8 * MIB), torch.tensor(1, 8 * MIB)
    stranger = context.stream("gpu1")

    polypath.copy(destination, source)
    context.copy_addresses(source.data_ptr(), destination.data_ptr(), 8 * MIB, "gpu1", stranger)
    wait(stranger, *torch.current.values())

    assert context.violations() != []


def test_a_named_stream_counts_on_its_gpu_and_the_current_one_on_the_other(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination, after = (torch.tensor(gpu, 4 * MIB) for gpu in (0, 1, 1))
    own = TorchStream(context, 0)
    source.array[:] = pattern(4 * MIB)

    polypath.copy(destination, source, own)
    context.copy_addresses(after.data_ptr(), destination.data_ptr(), 4 * MIB, "gpu1",
                           torch.current[1].cuda_stream)  # fmt: skip
    wait(own, *torch.current.values())

    assert np.array_equal(after.array, source.array)
    assert context.violations() == []
    assert ("record_stream", source, own) in torch.log
    assert ("record_stream", destination, own) not in torch.log


def test_a_stream_of_the_receiving_gpu_may_be_named(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination = torch.tensor(0, 4 * MIB), torch.tensor(1, 4 * MIB)
    own = TorchStream(context, 1)
    source.array[:] = pattern(4 * MIB)

    polypath.copy(destination, source, stream=own)
    wait(own)

    assert np.array_equal(destination.array, source.array)
    assert ("record_stream", destination, own) in torch.log


def test_a_source_with_gaps_is_made_contiguous_on_its_stream(
    context: polypath.Context, torch: Torch
) -> None:
    source, destination = torch.tensor(0, (64, 64)), torch.tensor(1, (64, 64))
    source.array[:] = pattern(64 * 64).reshape(64, 64)
    source.array = source.array.T
    own = TorchStream(context, 0)

    polypath.copy(destination, source, own)
    wait(own)

    assert np.array_equal(destination.array, source.array)
    assert ("contiguous", own) in torch.log
    # The allocator keeps what the copy still reads, which is not the source.
    used = [entry[1] for entry in torch.log if entry[0] == "record_stream"]
    assert len(used) == 1
    assert used[0] is not source


def test_equal_layouts_are_copied_as_they_lie(torch: Torch) -> None:
    source, destination = torch.tensor(0, (8, 64, 4)), torch.tensor(1, (8, 64, 4))
    source.array = source.array.transpose(2, 0, 1)
    destination.array = destination.array.transpose(2, 0, 1)
    source.array[:] = pattern(8 * 64 * 4).reshape(4, 8, 64)

    polypath.copy(destination, source)
    wait(torch.current[0])

    assert np.array_equal(destination.array, source.array)
    assert all(entry[0] != "contiguous" for entry in torch.log)


def test_values_that_are_conjugated_when_read_are_resolved_first(torch: Torch) -> None:
    source, destination = torch.tensor(0, 64, conjugated=True), torch.tensor(1, 64)
    source.array[:] = pattern(64)
    expected = ~source.array

    polypath.copy(destination, source)
    wait(torch.current[0])

    assert np.array_equal(destination.array, expected)


def test_pinned_memory_is_made_known_to_the_allocator(torch: Torch) -> None:
    pinned, on_gpu = torch.tensor(None, 4096, pinned=True), torch.tensor(1, 4096)
    pinned.array[:] = pattern(4096)

    polypath.copy(on_gpu, pinned)
    wait(torch.current[1])

    assert ("copy_", 1, True) in torch.log
    assert np.array_equal(on_gpu.array, pinned.array)


def test_nothing_but_the_copy_enters_a_capture(torch: Torch) -> None:
    pinned, on_gpu = torch.tensor(None, 4096, pinned=True), torch.tensor(1, 4096)
    torch.capturing = True

    polypath.copy(on_gpu, pinned)

    assert [entry[0] for entry in torch.log] == ["write"]


def test_a_write_is_made_known_to_autograd(torch: Torch) -> None:
    source, destination = torch.tensor(0, 64), torch.tensor(1, 64)

    polypath.copy(destination, source)

    assert torch.log == [("write", destination)]


def test_between_host_tensors_the_framework_copies(torch: Torch) -> None:
    source, destination = torch.tensor(None, (5, 3), np.float32), torch.tensor(None, 15, np.int32)
    source.array[:] = np.arange(15).reshape(5, 3)

    assert polypath.copy(destination, source, bits=True) == "native"

    assert destination.array.tobytes() == source.array.tobytes()
    assert ("copy_", 60, False) in torch.log


@pytest.mark.parametrize("device", ["cuda:1", "gpu1", "cuda1", 1])
def test_to_gives_a_tensor_on_the_gpu(torch: Torch, device: Any) -> None:
    source = torch.tensor(0, (3, 5), np.float32)
    source.array[:] = np.arange(15).reshape(3, 5)

    result = polypath.to(source, device)
    wait(torch.current[0])

    assert str(result.device) == "cuda:1"
    assert np.array_equal(result.array, source.array)


def test_to_the_cpu_is_complete_when_it_returns(torch: Torch) -> None:
    source = torch.tensor(1, 3 * MIB)
    source.array[:] = pattern(3 * MIB)

    result = polypath.to(source, "cpu")

    assert str(result.device) == "cpu"
    assert np.array_equal(result.array, source.array)


def test_to_keeps_the_order_in_memory(torch: Torch) -> None:
    source = torch.tensor(0, (16, 8))
    source.array[:] = pattern(128).reshape(16, 8)
    source.array = source.array.T

    result = polypath.to(source, "cuda:1")
    wait(torch.current[0])

    assert np.array_equal(result.array, source.array)
    assert result.array.strides == source.array.strides


@pytest.mark.parametrize(("gpu", "device"), [(0, "cuda"), (0, "cuda:0"), (None, "cpu")])
def test_to_returns_what_is_there_already(torch: Torch, gpu: int | None, device: str) -> None:
    source = torch.tensor(gpu, 64, requires_grad=True)

    assert polypath.to(source, device) is source


def test_a_tensor_with_gradient_must_be_detached(torch: Torch) -> None:
    watched, other = torch.tensor(0, 64, requires_grad=True), torch.tensor(1, 64)

    for call in (
        lambda: polypath.to(watched, "cpu"),
        lambda: polypath.copy(other, watched),
        lambda: polypath.copy(watched, other),
    ):
        with pytest.raises(ValueError, match=r"requires_grad .*detach\(\)"):
            call()

    torch.grad_enabled = False
    assert polypath.copy(other, watched) in ("native", "stream", "graph")


def test_nothing_moves_to_the_cpu_while_its_stream_is_captured(torch: Torch) -> None:
    torch.capturing = True

    with pytest.raises(RuntimeError, match=r"cannot be moved to the CPU now \("):
        polypath.to(torch.tensor(0, 64), "cpu")


def test_a_sparse_tensor_is_refused(torch: Torch) -> None:
    with pytest.raises(TypeError, match="layout sparse_coo"):
        polypath.copy(torch.tensor(0, 64), torch.tensor(1, 64, layout="sparse_coo"))
