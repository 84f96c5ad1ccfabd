"""The Python interface: contexts, buffers, streams and copies."""

from __future__ import annotations

import gc
import threading

import numpy as np
import polypath
import pytest

MIB = 1 << 20


@pytest.fixture
def context() -> polypath.Context:
    return polypath.Context("beluga", trace=True)


def filled(buffer: polypath.Buffer, seed: int) -> np.ndarray:
    """Fill the buffer with a pattern of its seed and return a copy of it."""
    values = np.random.default_rng(seed).integers(0, 256, buffer.nbytes, dtype=np.uint8)
    buffer.numpy()[:] = values
    return values


def test_copy_without_a_stream_is_done_when_it_returns(context: polypath.Context) -> None:
    source, destination = context.allocate("gpu0", 16 * MIB), context.allocate("gpu1", 16 * MIB)
    expected = filled(source, 1)

    how = context.copy(destination, source)

    assert how in ("native", "stream", "graph")
    assert np.array_equal(destination.numpy(), expected)
    assert context.violations() == []


@pytest.mark.parametrize("executor", ["native", "stream", "graph"])
def test_copies_on_a_stream_keep_its_order(context: polypath.Context, executor: str) -> None:
    first, second, third = (context.allocate(f"gpu{i}", 8 * MIB) for i in range(3))
    stream = context.stream("gpu0")
    expected = filled(first, 2)

    context.copy(second, first, stream=stream, executor=executor)
    context.copy(third, second, stream=stream, executor=executor)
    stream.synchronize()

    assert np.array_equal(third.numpy(), expected)
    assert context.violations() == []


def test_offsets_leave_the_rest_alone(context: polypath.Context) -> None:
    source, destination = context.allocate("host0", 4 * MIB), context.allocate("gpu0", 4 * MIB)
    expected, before = filled(source, 3), filled(destination, 4)

    context.copy(destination, source, 2 * MIB + 1, destination_offset=7, source_offset=11)

    got = destination.numpy()
    assert np.array_equal(got[7 : 2 * MIB + 8], expected[11 : 2 * MIB + 12])
    assert np.array_equal(got[:7], before[:7])
    assert np.array_equal(got[2 * MIB + 8 :], before[2 * MIB + 8 :])


def test_bad_arguments_raise_with_a_code(context: polypath.Context) -> None:
    source, destination = context.allocate("gpu0", MIB), context.allocate("gpu1", MIB)
    other = polypath.Context("beluga").allocate("gpu0", MIB)

    with pytest.raises(polypath.Error, match=r"place 'gpu9' is unknown") as unknown:
        context.allocate("gpu9", MIB)
    with pytest.raises(polypath.Error, match="offset 1048577"):
        context.copy(destination, source, source_offset=MIB + 1)
    with pytest.raises(polypath.Error, match="another context"):
        context.copy(destination, other)
    with pytest.raises(polypath.Error, match="executor 'fast' is unknown"):
        context.copy(destination, source, executor="fast")
    with pytest.raises(polypath.Error, match="path 'gpu7'"):
        context.copy(destination, source, paths=["gpu7"])

    assert unknown.value.code == "invalid argument"


def test_buffers_outlive_their_context_and_arrays_their_buffers() -> None:
    context = polypath.Context("beluga")
    buffer = context.allocate("gpu0", MIB)
    array = buffer.numpy()
    del context, buffer
    gc.collect()

    array[:] = 5

    assert int(array.sum()) == 5 * MIB


def test_forced_shares_are_obeyed(context: polypath.Context) -> None:
    source, destination = context.allocate("gpu0", 16 * MIB), context.allocate("gpu1", 16 * MIB)
    expected = filled(source, 5)

    context.copy(
        destination,
        source,
        executor="stream",
        shares={"direct": 0.5, "gpu2": 0.25, "host": 0.25},
        chunks={"gpu2": 3, "host": 5},
    )

    spans = [e for e in context.trace()["traceEvents"] if e["ph"] == "X"]
    assert np.array_equal(destination.numpy(), expected)
    assert len(spans) == 1 + 2 * 3 + 2 * 5
    assert context.statistics()["staged_bytes"] == 8 * MIB


def test_with_closes_the_context_and_leaves_its_buffers() -> None:
    with polypath.Context("beluga") as context:
        source, destination = context.allocate("gpu0", MIB), context.allocate("gpu1", MIB)
        expected = filled(source, 6)
        context.copy(destination, source)

    with pytest.raises(polypath.Error, match="the context is closed") as closed:
        context.allocate("gpu0", MIB)
    with pytest.raises(polypath.Error, match="the context is closed"):
        context.copy(destination, source)
    context.close()

    assert closed.value.code == "invalid argument"
    assert np.array_equal(destination.numpy(), expected)


def test_everything_says_what_it_is(context: polypath.Context) -> None:
    assert repr(context) == "<polypath.Context of beluga, simulated>"
    assert repr(context.allocate("gpu1", 64 * MIB)) == "<polypath.Buffer of 64M at gpu1>"
    assert repr(context.stream("gpu2")) == "<polypath.Stream of gpu2>"
    context.close()
    assert repr(context) == "<polypath.Context, closed>"


def test_plan_has_a_reason_for_every_path(context: polypath.Context) -> None:
    plan = context.plan("gpu0", "gpu1", 64 * MIB)

    assert plan["schema"] == "polypath.plan/1"
    assert [path["via"] for path in plan["paths"]] == ["direct", "gpu2", "gpu3", "host0"]
    assert all(path["reason"] for path in plan["paths"])


def test_threads_share_a_context(context: polypath.Context) -> None:
    results: list[bool] = []

    def work(seed: int) -> None:
        source = context.allocate(f"gpu{seed % 4}", 2 * MIB)
        destination = context.allocate(f"gpu{(seed + 1) % 4}", 2 * MIB)
        stream = context.stream(f"gpu{seed % 4}")
        expected = filled(source, seed)
        for _ in range(5):
            context.copy(destination, source, stream=stream)
        stream.synchronize()
        results.append(np.array_equal(destination.numpy(), expected))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * 4
    assert context.violations() == []


def test_clock_is_virtual_and_repeats() -> None:
    def seconds() -> float:
        context = polypath.Context("h200x4")
        source, destination = context.allocate("host", 64 * MIB), context.allocate("gpu0", 64 * MIB)
        context.copy(destination, source)
        return context.now()

    assert seconds() == seconds()
