"""Several copies that are asked for together: of buffers, and of what people hold."""

from __future__ import annotations

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch
from tensor_memory import host_array, pattern, wait

MIB = 1 << 20


@pytest.fixture
def beluga() -> polypath.Context:
    return polypath.Context("beluga")


def ring(context: polypath.Context, nbytes: int) -> list[tuple[polypath.Buffer, polypath.Buffer]]:
    """Return the pairs of a ring over four GPUs, each source with another pattern."""
    pairs = []
    for gpu in range(4):
        source = context.allocate(f"gpu{gpu}", nbytes)
        source.numpy()[:] = np.random.default_rng(gpu).integers(0, 256, nbytes, dtype=np.uint8)
        pairs.append((context.allocate(f"gpu{(gpu + 1) % 4}", nbytes), source))
    return pairs


def arrived(pairs: list[tuple[polypath.Buffer, polypath.Buffer]]) -> bool:
    return all(np.array_equal(target.numpy(), origin.numpy()) for target, origin in pairs)


def test_without_a_stream_all_are_done_when_it_returns(beluga: polypath.Context) -> None:
    pairs = ring(beluga, 24 * MIB)

    how = beluga.copy_many(pairs)

    assert set(how) <= {"stream", "graph"} and len(how) == 4
    assert arrived(pairs)
    assert beluga.violations() == []


def test_on_one_stream_they_run_beside_each_other_in_its_order(beluga: polypath.Context) -> None:
    pairs = ring(beluga, 24 * MIB)
    stream = beluga.stream("gpu0")
    last = beluga.allocate("gpu2", 24 * MIB)
    start = beluga.now()
    for target, origin in pairs:
        beluga.copy(target, origin, stream=stream, executor="native")
    stream.synchronize()
    one_by_one = beluga.now() - start
    for target, _ in pairs:
        target.numpy()[:] = 0
    start = beluga.now()

    beluga.copy_many(pairs, stream=stream)
    beluga.copy(last, pairs[0][0], stream=stream)
    stream.synchronize()

    assert beluga.now() - start < one_by_one
    assert arrived([*pairs, (last, pairs[0][0])])
    assert beluga.violations() == []


def test_wrong_arguments_copy_nothing(beluga: polypath.Context) -> None:
    pairs = ring(beluga, MIB)
    foreign = polypath.Context("beluga").allocate("gpu0", MIB)

    with pytest.raises(polypath.Error, match="another context"):
        beluga.copy_many([*pairs, (foreign, pairs[0][1])])
    with pytest.raises(polypath.Error, match="overlap"):
        beluga.copy_many([*pairs, (pairs[0][0], pairs[0][0])])
    with pytest.raises(polypath.Error, match="executor 'fast' is unknown"):
        beluga.copy_many(pairs, executor="fast")

    assert beluga.statistics()["transfers"] == 0


def test_none_are_none(beluga: polypath.Context) -> None:
    assert beluga.copy_many([]) == []
    assert polypath.copy_many([]) == []


def test_tensors_of_several_gpus_and_the_host(context: polypath.Context, torch: Torch) -> None:
    on_host, back = host_array(context, 4 * MIB), host_array(context, 4 * MIB)
    on_host[:] = pattern(4 * MIB)
    first, second = torch.tensor(0, 4 * MIB), torch.tensor(1, 4 * MIB)
    words, where = np.arange(256, dtype=np.uint32), bytearray(1024)

    how = polypath.copy_many([(first, on_host), (second, first), (where, words), (back, second)])
    for gpu in range(2):
        wait(torch.current[gpu])

    assert len(how) == 4
    assert np.array_equal(back, on_host)
    assert np.array_equal(np.frombuffer(where, np.uint32), words)
    assert context.violations() == []


def test_tensors_that_depend_on_each_other_keep_their_order(
    context: polypath.Context, torch: Torch
) -> None:
    source = host_array(context, 4 * MIB)
    source[:] = pattern(4 * MIB)
    chain = [
        source,
        *(torch.tensor(gpu, 4 * MIB) for gpu in range(4)),
        host_array(context, 4 * MIB),
    ]

    polypath.copy_many(zip(chain[1:], chain))
    for gpu in range(4):
        wait(torch.current[gpu])

    assert np.array_equal(chain[-1], source)
    assert context.violations() == []


def test_one_wrong_pair_stops_all(context: polypath.Context, torch: Torch) -> None:
    source = torch.tensor(0, 4096)

    with pytest.raises(ValueError, match=r"pair 1: .*does not fill"):
        polypath.copy_many([(torch.tensor(1, 4096), source), (torch.tensor(1, 64), source)])

    assert context.statistics()["transfers"] == 0


def test_what_is_no_pair_is_said_to_be_none(context: polypath.Context, torch: Torch) -> None:
    pair = torch.tensor(1, 4096), torch.tensor(0, 4096)

    for pairs, words in (
        ([pair, pair[0]], r"pair 1: TorchTensor cannot be copied \(a pair is a destination and"),
        ([(*pair, 1)], "pair 0: tuple of 3 cannot be copied"),
        ([pair, (pair[0], 3)], "pair 1: object of type int cannot be copied"),
        (None, r"NoneType cannot be copied \(it is no list of pairs"),
    ):
        with pytest.raises(TypeError, match=words):
            polypath.copy_many(pairs)

    assert context.statistics()["transfers"] == 0
