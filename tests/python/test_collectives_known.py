"""Calls of polypath.Collectives that have been made before: what has changed since is seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchStream, TorchTensor
from polypath import Collectives
from rank_threads import among_ranks, buffer_of, numbers, on_threads

COUNT = 64

# What becomes of a float32 tensor of COUNT elements: others at the same address.
Change = Callable[[Torch, TorchTensor], TorchTensor]


def again(torch: Torch, tensor: TorchTensor, array: np.ndarray, **more: Any) -> TorchTensor:
    """Return another tensor of the same memory."""
    return TorchTensor(torch, array, more.pop("gpu", tensor.gpu), **more)


REFUSED: dict[str, tuple[Change, type[BaseException], str]] = {
    "another type": (
        lambda torch, tensor: again(torch, tensor, tensor.array.view(np.complex64)),
        ValueError, "elements of type complex64 cannot be used",
    ),
    "one element less": (
        lambda torch, tensor: again(torch, tensor, tensor.array[:-1]),
        ValueError, "63 elements cannot be divided",
    ),
    "transposed": (
        lambda torch, tensor: again(torch, tensor, tensor.array.reshape(4, 16).T),
        ValueError, "tensor is not contiguous",
    ),
    "negated when read": (
        lambda torch, tensor: again(torch, tensor, tensor.array, negated=True),
        ValueError, "tensor is not contiguous",
    ),
    "with a gradient": (
        lambda torch, tensor: again(torch, tensor, tensor.array, requires_grad=True),
        ValueError, "tensor with requires_grad cannot be copied",
    ),
    "of another GPU": (
        lambda torch, tensor: again(torch, tensor, tensor.array, gpu=3),
        ValueError, "memory of gpu3 cannot be used",
    ),
    "of the host": (
        lambda torch, tensor: again(torch, tensor, tensor.array, gpu=None),
        ValueError, "memory of the host cannot be used",
    ),
    "sparse": (
        lambda torch, tensor: again(torch, tensor, tensor.array, layout="sparse"),
        TypeError, "tensor with layout sparse",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_given_any_more_is_refused(
    context: polypath.Context, torch: Torch, what: str
) -> None:
    change, kind, text = REFUSED[what]

    def call(own: Collectives) -> None:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        own.reduce_scatter(tensor)
        with pytest.raises(kind, match=text):
            own.reduce_scatter(change(torch, tensor))

    among_ranks(context, 2, call)


def test_a_tensor_that_gets_a_gradient_is_refused_where_gradients_are_kept(
    context: polypath.Context, torch: Torch
) -> None:
    def call(own: Collectives) -> None:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        own.all_reduce(tensor)
        tensor.requires_grad = True
        own.barrier()
        torch.grad_enabled = False
        own.all_reduce(tensor)
        own.barrier()
        torch.grad_enabled = True
        with pytest.raises(ValueError, match="requires_grad"):
            own.all_reduce(tensor)

    among_ranks(context, 2, call)


def test_an_output_that_does_not_fit_any_more_is_refused(
    context: polypath.Context, torch: Torch
) -> None:
    def call(own: Collectives) -> None:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        output = torch.tensor(own.rank, 2 * COUNT, np.float32)
        own.all_gather(tensor, output)
        with pytest.raises(ValueError, match="output of 127 elements cannot be used"):
            own.all_gather(tensor, output[:-1])
        with pytest.raises(ValueError, match="input and output overlap"):
            own.all_reduce(output[:COUNT], output[1 : COUNT + 1])

    among_ranks(context, 2, call)


def test_a_type_that_the_memory_does_not_have_is_refused(
    context: polypath.Context, torch: Torch
) -> None:
    def call(own: Collectives) -> None:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        own.all_reduce(tensor)
        with pytest.raises(ValueError, match="elements of type float32 are not int32"):
            own.all_reduce(tensor, dtype="int32")
        with pytest.raises(polypath.Error, match="median"):
            own.all_reduce(tensor, op="median")
        with pytest.raises(ValueError, match="root 2 is no rank"):
            own.broadcast(tensor, root=2)

    among_ranks(context, 2, call)


def reduced(torch: Torch, own: Collectives, tensor: TorchTensor, given: np.ndarray) -> np.ndarray:
    """Return what a tensor with these elements holds after a sum over the ranks."""
    tensor.array[:] = given
    own.all_reduce(tensor)
    own.barrier()
    torch.current[own.rank].synchronize()
    return tensor.array.copy()


# As floats these would have another sum.
def test_elements_are_of_the_type_that_they_have_now(
    context: polypath.Context, torch: Torch
) -> None:
    inputs = [numbers(rank, COUNT, np.int32) + 1_000_000_000 for rank in range(2)]

    def call(own: Collectives) -> np.ndarray:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        reduced(torch, own, tensor, np.zeros(COUNT))
        whole = again(torch, tensor, tensor.array.view(np.int32))
        return reduced(torch, own, whole, inputs[own.rank])

    for found in among_ranks(context, 2, call):
        assert np.array_equal(found, sum(inputs))


def test_another_tensor_is_reduced_where_it_is(context: polypath.Context, torch: Torch) -> None:
    inputs = [numbers(rank, COUNT) for rank in range(2)]

    def call(own: Collectives) -> list[np.ndarray]:
        both = [torch.tensor(own.rank, COUNT, np.float32) for _ in range(2)]
        return [reduced(torch, own, each, inputs[own.rank]) for each in both + both]

    for found in among_ranks(context, 2, call):
        assert all(np.array_equal(each, sum(inputs)) for each in found)


def copied_through(
    own: Collectives, context: polypath.Context, tensor: TorchTensor, on: Any, **more: Any
) -> np.ndarray:
    """Return what a rank has after a copy, a sum over the ranks and a copy, all on one stream."""
    before = buffer_of(context, "host0", numbers(own.rank, COUNT))
    after = context.allocate("host0", 4 * COUNT)
    context.copy_addresses(tensor.data_ptr(), before.address, 4 * COUNT, own.gpu, on)
    own.all_reduce(tensor, **more)
    context.copy_addresses(after.address, tensor.data_ptr(), 4 * COUNT, own.gpu, on)
    own.barrier()
    on.synchronize()
    return after.numpy().view(np.float32).copy()


@pytest.mark.parametrize("named", [False, True])
def test_another_stream_is_followed(context: polypath.Context, torch: Torch, named: bool) -> None:
    def call(own: Collectives) -> np.ndarray:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        first = torch.current[own.rank].cuda_stream
        found = copied_through(own, context, tensor, first)
        other = TorchStream(context, own.rank)
        if named:
            more = {"stream": other}
        else:
            more, torch.current[own.rank] = {}, other
        again = copied_through(own, context, tensor, other.cuda_stream, **more)
        assert np.array_equal(found, again)
        return again

    for found in among_ranks(context, 2, call):
        assert np.array_equal(found, numbers(0, COUNT) + numbers(1, COUNT))
    assert context.violations() == []


def test_a_stream_of_another_gpu_is_refused(context: polypath.Context, torch: Torch) -> None:
    def call(own: Collectives) -> None:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        own.all_reduce(tensor)
        with pytest.raises(ValueError, match="stream of gpu3 cannot be used"):
            own.all_reduce(tensor, stream=TorchStream(context, 3))
        with pytest.raises(TypeError, match="stream of type str cannot be used"):
            own.all_reduce(tensor, stream="the other one")

    among_ranks(context, 2, call)


# A version counter that stood still would let a backward pass use values that are gone.
def test_each_write_is_noted(context: polypath.Context, torch: Torch) -> None:
    def call(own: Collectives) -> int:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        for _ in range(3):
            own.all_reduce(tensor)
        own.send_receive(tensor, 0, 1)
        own.send_receive(tensor, 0, 1)
        return torch.log.count(("write", tensor))

    assert among_ranks(context, 2, call) == [3, 5]


# They have no version, and nothing is kept of them for a backward pass.
def test_a_tensor_of_inference_is_reduced_again(context: polypath.Context, torch: Torch) -> None:
    def call(own: Collectives) -> np.ndarray:
        tensor = torch.tensor(own.rank, COUNT, np.float32, inference=True)
        ones = np.ones(COUNT)
        reduced(torch, own, tensor, ones)
        return reduced(torch, own, tensor, ones)

    for found in among_ranks(context, 2, call):
        assert np.array_equal(found, 2 * np.ones(COUNT))


def test_a_write_that_cannot_be_noted_is_an_error(context: polypath.Context, torch: Torch) -> None:
    refuses = threading.Event()

    def increment_version(_tensor: TorchTensor) -> None:
        if refuses.is_set():
            raise RuntimeError("no version")

    torch.autograd.graph.increment_version = increment_version

    def call(own: Collectives) -> None:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        own.all_reduce(tensor)
        own.barrier()
        refuses.set()
        with pytest.raises(RuntimeError, match="no version"):
            own.all_reduce(tensor)
        own.barrier()

    among_ranks(context, 2, call)


def test_closed_collectives_do_nothing(context: polypath.Context, torch: Torch) -> None:
    def call(own: Collectives) -> None:
        tensor = torch.tensor(own.rank, COUNT, np.float32)
        own.all_reduce(tensor)
        own.barrier()
        own.close()
        with pytest.raises(polypath.Error, match="the collectives are closed"):
            own.all_reduce(tensor)

    meeting = polypath.ThreadGroup(2)
    on_threads(2, lambda rank: call(Collectives.from_threads(meeting, rank, context=context)))


def test_a_sparse_tensor_is_none_whoever_owns_its_bytes(
    context: polypath.Context, torch: Torch
) -> None:
    def call(own: Collectives) -> None:
        with pytest.raises(TypeError, match="it must be dense"):
            own.all_reduce(torch.tensor(own.rank, COUNT, np.float32, layout="sparse"))

    among_ranks(context, 2, call)
