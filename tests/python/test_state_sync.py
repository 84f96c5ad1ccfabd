"""Collectives.sync: all ranks have the root's tensors, or all say what differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchStream, TorchTensor
from polypath import Collectives, state_sync
from rank_threads import among_ranks, buffer_of, numbers

KIB = 1024
RANKS = 3


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets are small, so that there are several."""
    monkeypatch.setattr(state_sync, "BUCKET", 64 * KIB)
    monkeypatch.setattr(state_sync, "LARGE", 32 * KIB)


def state_of(torch: Torch, rank: int, sizes: dict[str, int]) -> dict[str, TorchTensor]:
    """Return tensors of float32 of so many elements each, with contents of the rank's own."""
    state = {}
    for name, count in sizes.items():
        state[name] = torch.tensor(rank, count, np.float32)
        state[name].array[:] = numbers(rank, count)
    return state


def errors_of(
    context: polypath.Context, sync: Any, kinds: tuple[type[Exception], ...] = (ValueError,)
) -> list[str]:
    """Return every rank's error; they can go on after it."""

    def be(own: Collectives) -> str:
        with pytest.raises(kinds) as raised:
            sync(own)
        own.barrier()
        buffer = buffer_of(context, own.gpu, numbers(own.rank, 4))
        own.all_reduce(buffer, dtype="float32")
        return str(raised.value)

    return among_ranks(context, RANKS, be)


SIZES = {"small": 100, "large": 40 * KIB, "empty": 0, "odd": 333, **{
    f"layer.{n}": 3 * KIB + n for n in range(12)
}}  # fmt: skip


@pytest.mark.parametrize("root", [0, 2])
def test_all_ranks_have_the_roots_tensors(
    context: polypath.Context, torch: Torch, root: int
) -> None:
    states = [state_of(torch, rank, SIZES) for rank in range(RANKS)]
    states[1] = dict(reversed(states[1].items()))

    def sync(own: Collectives) -> None:
        for _ in range(2):
            own.sync(states[own.rank], root)
        own.barrier()
        torch.current[own.rank].synchronize()

    among_ranks(context, RANKS, sync)

    for state in states:
        for name, count in SIZES.items():
            assert np.array_equal(state[name].array, numbers(root, count)), name
    assert context.violations() == []
    written = {id(entry[1]) for entry in torch.log if entry[0] == "write"}
    assert id(states[root]["small"]) not in written
    assert id(states[1]["small"]) in written


def test_buffers_are_done_when_it_returns(context: polypath.Context) -> None:
    def sync(own: Collectives) -> np.ndarray:
        state = {name: buffer_of(context, own.gpu, numbers(own.rank, 4 * KIB)) for name in "ab"}
        own.sync(state, 1)
        return state["b"].numpy().view(np.float32).copy()

    for found in among_ranks(context, RANKS, sync):
        assert np.array_equal(found, numbers(1, 4 * KIB))
    assert context.violations() == []


def test_it_is_in_order_with_the_stream(context: polypath.Context, torch: Torch) -> None:
    def sync(own: Collectives) -> np.ndarray:
        state = state_of(torch, own.rank, {"a": 5 * KIB, "b": 7})
        before, after = state_of(torch, own.rank, {"before": 5 * KIB, "after": 5 * KIB}).values()
        before.array[:] = numbers(own.rank + 10, 5 * KIB)
        polypath.copy(state["a"], before)
        own.sync(state)
        polypath.copy(after, state["a"])
        own.barrier()
        torch.current[own.rank].synchronize()
        return after.array

    for found in among_ranks(context, RANKS, sync):
        assert np.array_equal(found, numbers(10, 5 * KIB))
    assert context.violations() == []


def test_calls_on_different_streams_do_not_share_a_buffer_too_early(
    context: polypath.Context, torch: Torch
) -> None:
    def sync(own: Collectives) -> None:
        streams = [TorchStream(context, own.rank) for _ in range(2)]
        states = [state_of(torch, own.rank, {"a": 5 * KIB, "b": 7}) for _ in streams]
        for state, stream in zip(states, streams):
            own.sync(state, stream=stream)
        own.barrier()
        for stream in streams:
            stream.synchronize()
        assert all(np.array_equal(state["a"].array, numbers(0, 5 * KIB)) for state in states)

    among_ranks(context, RANKS, sync)

    assert context.violations() == []


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        ({"a": 8, "b": 8}, "it has no 'c'"),
        ({"a": 8, "b": 8, "c": 8, "d": 8}, "it alone has 'd'"),
        ({"a": 8, "b": 9, "c": 8}, r"'b' is float32 [9], not float32 [8]"),
    ],
)
def test_ranks_that_differ_are_named_at_every_rank(
    context: polypath.Context, torch: Torch, odd: dict[str, int], text: str
) -> None:
    states = [state_of(torch, rank, {"a": 8, "b": 8, "c": 8}) for rank in range(RANKS)]
    states[2] = state_of(torch, 2, odd)

    told = errors_of(context, lambda own: own.sync(states[own.rank]))

    assert all(each.startswith("rank 2 has other tensors than rank 0") for each in told)
    assert text in told[2] and "its own error says which" in told[0]
    assert all(
        np.array_equal(state["a"].array, numbers(rank, 8)) for rank, state in enumerate(states)
    )


def test_what_one_rank_cannot_use_is_raised_at_every_rank(
    context: polypath.Context, torch: Torch
) -> None:
    good = [state_of(torch, rank, {"a": 8}) for rank in range(RANKS)]
    watched = torch.tensor(1, 8, np.float32, requires_grad=True)
    gaps = TorchTensor(torch, torch.tensor(1, 16, np.float32).array[::2], 1)
    for wrong, text in (
        ({"a": torch.tensor(2, 8, np.float32)}, "it is not on this rank's GPU, gpu1"),
        ({"a": gaps}, "it is not contiguous"),
        ({"a": watched}, "requires_grad"),
        ({"a": "text"}, "tensor 'a': object of type str"),
        ([1], "object of type list cannot be synchronized"),
    ):
        told = errors_of(
            context,
            lambda own, wrong=wrong: own.sync(wrong if own.rank == 1 else good[own.rank]),
            (ValueError, TypeError),
        )

        assert text in told[1]
        assert told[0].startswith("rank 1 cannot use its tensors") and told[2] == told[0]


def test_a_root_that_is_none_is_refused(context: polypath.Context) -> None:
    for told in errors_of(context, lambda own: own.sync({}, RANKS)):
        assert told.startswith("root 3 cannot be used (ranks are 0 to 2)")


def test_nothing_and_one_rank_are_well(context: polypath.Context, torch: Torch) -> None:
    state = state_of(torch, 0, {"a": 8})

    among_ranks(context, RANKS, lambda own: own.sync({}))
    among_ranks(context, 1, lambda own: own.sync(state))
    torch.current[0].synchronize()

    assert np.array_equal(state["a"].array, numbers(0, 8))
