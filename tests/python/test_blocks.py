"""polypath.copy_blocks: which bytes arrive, in which order with streams, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchStream, TorchTensor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensor_memory import pattern, wait

KIB = 1024


def cache(torch: Torch, gpu: int | None, blocks: int, seed: int = 0, **more: Any) -> TorchTensor:
    """Return blocks of 64 KiB of two dimensions; with a seed they have contents."""
    tensor = torch.tensor(gpu, (blocks, 64, KIB), **more)
    if seed:
        tensor.array[...] = pattern(blocks * 64 * KIB, seed).reshape(tensor.shape)
    return tensor


def expected(target: TorchTensor, origin: TorchTensor, pairs: Any) -> np.ndarray:
    result = target.array.copy()
    for source, destination in pairs:
        result[destination] = origin.array[source]
    return result


SHUFFLED = [(int(s), int(d)) for s, d in zip(np.random.default_rng(1).permutation(60), range(60))]


@pytest.mark.parametrize("ends", [(0, 1), (None, 1), (0, None), (2, 2), (None, None)])
def test_blocks_arrive_in_any_order(
    context: polypath.Context, torch: Torch, ends: tuple[int | None, int | None]
) -> None:
    origin, target = cache(torch, ends[0], 60, 1), cache(torch, ends[1], 64, 2)
    wanted = expected(target, origin, SHUFFLED)

    how = polypath.copy_blocks(target, origin, SHUFFLED)
    wait(*torch.current.values())

    assert np.array_equal(target.array, wanted)
    assert sum(how.values()) == 60 and set(how) <= {"native", "stream"}
    assert context.violations() == []


def test_more_blocks_than_are_planned_together(context: polypath.Context, torch: Torch) -> None:
    count = 2500
    origins = [torch.tensor(None, (count, 4, KIB)) for _ in range(2)]
    target, after = torch.tensor(1, (count, 4, KIB)), torch.tensor(1, (count, 4, KIB))
    for seed, origin in enumerate(origins, start=1):
        origin.array[...] = pattern(count * 4 * KIB, seed).reshape(origin.shape)
    pairs = np.stack([np.random.default_rng(2).permutation(count), np.arange(count)], axis=1)

    how = [polypath.copy_blocks(target, origin, pairs) for origin in origins]
    polypath.copy(after, target)
    wait(*torch.current.values())

    assert all(sum(each.values()) > 2048 for each in how)  # neighbours are one copy
    assert np.array_equal(after.array, origins[1].array[pairs[:, 0]])
    assert context.violations() == []


def test_layers_have_the_same_pairs_copied(context: polypath.Context, torch: Torch) -> None:
    origins = [cache(torch, 0, 8, seed) for seed in (1, 2, 3)]
    targets = [cache(torch, 1, 8) for _ in origins]
    pairs = np.array([(7, 0), (2, 5)])
    wanted = [expected(*ends, pairs) for ends in zip(targets, origins)]

    polypath.copy_blocks(targets, origins, pairs)
    wait(*torch.current.values())

    assert all(np.array_equal(target.array, each) for target, each in zip(targets, wanted))
    assert context.violations() == []


def test_of_layers_that_are_one_memory_the_last_counts(
    context: polypath.Context, torch: Torch
) -> None:
    origins = [cache(torch, 0, 8, seed) for seed in (1, 2)]
    target, after = cache(torch, 1, 8), cache(torch, 1, 8)
    pairs = [(n, 7 - n) for n in range(8)]
    for seed, origin in enumerate(origins):
        polypath.copy(origin, cache(torch, 0, 8, seed + 5))  # comes before, on the source's stream

    polypath.copy_blocks([target, target], origins, pairs)
    polypath.copy(after, target)
    wait(*torch.current.values())

    assert np.array_equal(after.array, origins[1].array[::-1])
    assert context.violations() == []


def test_blocks_that_lie_apart_keep_what_lies_between(
    context: polypath.Context, torch: Torch
) -> None:
    both = torch.tensor(1, (16, 2, 8 * KIB))
    both.array[...] = pattern(both.array.size).reshape(both.shape)
    origin = torch.tensor(0, (16, 8 * KIB))
    origin.array[...] = pattern(origin.array.size, 2).reshape(origin.shape)
    keys = TorchTensor(torch, both.array[:, 0], 1)
    values = both.array[:, 1].copy()

    polypath.copy_blocks(keys, origin, [(n, 15 - n) for n in range(16)])
    wait(*torch.current.values())

    assert np.array_equal(keys.array, origin.array[::-1])
    assert np.array_equal(both.array[:, 1], values)
    assert context.violations() == []


def test_neighbours_become_one_copy(context: polypath.Context, torch: Torch) -> None:
    origin, target = cache(torch, None, 64, 1), cache(torch, 1, 64)
    pairs = [*((n, n + 8) for n in range(20, 30)), *((n, n) for n in range(4))]

    how = polypath.copy_blocks(target, origin, pairs)
    wait(torch.current[1])

    assert sum(how.values()) == 2
    assert np.array_equal(target.array, expected(target, origin, pairs))
    assert context.statistics()["bytes"] == len(pairs) * 64 * KIB


def test_runs_are_cut_where_pieces_go_together(context: polypath.Context, torch: Torch) -> None:
    origin, target = cache(torch, 0, 128, 1), cache(torch, 1, 128)
    pairs = [*((n, n) for n in range(40)), *((n, n) for n in range(41, 128, 2))]

    how = polypath.copy_blocks(target, origin, pairs)
    wait(*torch.current.values())

    assert sum(how.values()) == 2 + 44
    assert np.array_equal(target.array, expected(target, origin, pairs))
    assert context.violations() == []


def test_buffers_have_blocks_of_the_size_that_is_named(context: polypath.Context) -> None:
    source, destination = context.allocate("host0", 32 * KIB), bytearray(16 * KIB)
    source.numpy()[:] = pattern(32 * KIB)

    how = polypath.copy_blocks(destination, source.numpy(), [(7, 0), (0, 3)], block_bytes=4 * KIB)

    assert how == {"native": 2}
    assert destination[: 4 * KIB] == source.numpy()[28 * KIB :].tobytes()
    assert destination[12 * KIB :] == source.numpy()[: 4 * KIB].tobytes()
    assert not any(destination[4 * KIB : 12 * KIB])


def test_a_buffer_of_a_gpu(context: polypath.Context) -> None:
    source, destination = context.allocate("host0", 64 * KIB), context.allocate("gpu1", 64 * KIB)
    source.numpy()[:] = pattern(64 * KIB)
    stream = context.stream("gpu1")

    polypath.copy_blocks(destination, source.numpy(), [(1, 0)], stream, block_bytes=32 * KIB)
    stream.synchronize()

    assert np.array_equal(destination.numpy()[: 32 * KIB], source.numpy()[32 * KIB :])


def test_the_named_stream_counts_and_memory_is_told_of_it(
    context: polypath.Context, torch: Torch
) -> None:
    origin, target = cache(torch, 0, 8, 1), cache(torch, 1, 8)
    own = TorchStream(context, 0)

    polypath.copy_blocks(target, origin, [(0, 1)], own)
    wait(own)

    assert np.array_equal(target.array[1], origin.array[0])
    assert ("record_stream", origin, own) in torch.log
    assert ("write", target) in torch.log
    assert context.violations() == []


def test_pinned_memory_is_told_by_a_block_that_was_copied(torch: Torch) -> None:
    origin, target = cache(torch, None, 8, 1, pinned=True), cache(torch, 1, 8)

    polypath.copy_blocks(target, origin, [(5, 2)])
    wait(torch.current[1])

    assert [entry for entry in torch.log if entry[0] == "copy_"] == [("copy_", 1, True)]
    assert not target.array[0].any()  # the first byte of all was not


def test_no_pairs_copy_nothing(context: polypath.Context, torch: Torch) -> None:
    ends = cache(torch, 1, 4), cache(torch, 0, 4)

    assert polypath.copy_blocks(*ends, []) == {}
    assert polypath.copy_blocks(*ends, np.empty((0, 2), np.int32)) == {}
    assert polypath.copy_blocks([], [], [(0, 0)]) == {}
    assert context.statistics()["transfers"] == 0


@pytest.mark.parametrize(
    ("pairs", "error", "text"),
    [
        ([(0, 4)], IndexError, r"pair 0 names destination block 4 \(there are blocks 0 to 3\)"),
        ([(0, 0), (-1, 1)], IndexError, r"pair 1 names source block -1 \(there are"),
        ([(0, 1), (2, 3), (5, 1)], ValueError, "pair 2: block 1 .* is written twice .pair 0 "),
        ([(0, 1, 2)], TypeError, "a pair is the numbers"),
        ([(0.5, 1)], TypeError, "a pair is the numbers"),
        ([(0, 1), (2,)], TypeError, "a pair is the numbers"),
        (7, TypeError, "a pair is the numbers"),
    ],
)
def test_wrong_pairs_are_refused(
    context: polypath.Context, torch: Torch, pairs: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        polypath.copy_blocks(cache(torch, 1, 4), cache(torch, 0, 6), pairs)
    assert context.statistics()["transfers"] == 0


def test_pairs_on_a_gpu_are_refused(torch: Torch) -> None:
    with pytest.raises(TypeError, match="they are on a GPU"):
        polypath.copy_blocks(cache(torch, 1, 4), cache(torch, 0, 4), torch.tensor(0, (2, 2)))


def test_wrong_memory_is_refused(context: polypath.Context, torch: Torch) -> None:
    target = cache(torch, 1, 4)
    watched = cache(torch, 0, 4, requires_grad=True)
    flat = torch.tensor(0, 4 * 64 * KIB)
    words = torch.tensor(0, (4, 16 * KIB), np.uint32)
    turned = TorchTensor(torch, cache(torch, 0, 4).array.swapaxes(1, 2), 0)
    frozen = np.zeros((4, 64 * KIB), np.uint8)
    frozen.flags.writeable = False
    for source, text in (
        (torch.tensor(0, (4, 32 * KIB)), "blocks of 32768 bytes do not become ones of 65536"),
        (flat, "of type TorchTensor has no blocks"),
        (words, "elements of 4 bytes do not become ones of 1"),
        (turned, "source is not contiguous"),
        (watched, "requires_grad"),
    ):
        with pytest.raises(ValueError, match=text):
            polypath.copy_blocks(target, source, [(0, 0)])
    with pytest.raises(ValueError, match="read-only"):
        polypath.copy_blocks(frozen, target, [(0, 0)])
    with pytest.raises(ValueError, match="has no blocks of 1000"):
        polypath.copy_blocks(target, flat, [(0, 0)], block_bytes=1000)
    with pytest.raises(ValueError, match="layer 1: blocks of"):
        polypath.copy_blocks([target] * 2, [cache(torch, 0, 4), torch.tensor(0, (4, 8))], [(0, 0)])
    with pytest.raises(ValueError, match="2 layers cannot be copied to 1"):
        polypath.copy_blocks([target], [flat, flat], [(0, 0)])
    assert context.statistics()["transfers"] == 0


def test_a_block_that_is_read_and_written_is_refused(torch: Torch) -> None:
    tensor = cache(torch, 1, 8, 1)
    wanted = expected(tensor, tensor, [(0, 4), (1, 5)])

    with pytest.raises(ValueError, match="read and written by one call"):
        polypath.copy_blocks(tensor, tensor, [(0, 1), (1, 2)])
    polypath.copy_blocks(tensor, tensor, [(0, 4), (1, 5)])
    wait(torch.current[1])

    assert np.array_equal(tensor.array, wanted)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_pairs_do_what_a_loop_does(data: st.DataObject) -> None:
    blocks = data.draw(st.integers(1, 40))
    size = data.draw(st.sampled_from([1, 3, 64, 4 * KIB]))
    numbers = st.integers(0, blocks - 1)
    targets = data.draw(st.lists(numbers, unique=True))
    pairs = [(data.draw(numbers), target) for target in targets]
    origin = pattern(blocks * size).reshape(blocks, size)
    target = np.zeros_like(origin)
    wanted = target.copy()
    for source, destination in pairs:
        wanted[destination] = origin[source]

    polypath.copy_blocks(target, origin, pairs)

    assert np.array_equal(target, wanted)
