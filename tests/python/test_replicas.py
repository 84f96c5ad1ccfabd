"""copy_many of the same bytes to several GPUs: bytes, order, time, and where it does not apply."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchTensor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polypath import process_context, replicas
from standin_copies import AROUND, on_the_stand_in
from tensor_memory import pattern, wait

MIB = 1 << 20


def sources(torch: Torch, *sizes: int) -> list[TorchTensor]:
    made = [torch.tensor(None, size) for size in sizes]
    for number, tensor in enumerate(made):
        tensor.array[:] = pattern(tensor.array.size, number)
    return made


def replicas_of(
    torch: Torch, origins: list[TorchTensor], gpus: tuple[int, ...]
) -> list[tuple[TorchTensor, TorchTensor]]:
    return [(torch.tensor(gpu, each.array.size), each) for each in origins for gpu in gpus]


def arrived(pairs: list[tuple[TorchTensor, TorchTensor]]) -> bool:
    return all(np.array_equal(target.array, origin.array) for target, origin in pairs)


def seconds_of(context: polypath.Context, torch: Torch, copy: Any) -> float:
    start = context.now()
    copy()
    wait(*torch.current.values())
    return context.now() - start


def test_they_cross_a_link_of_the_host_once(context: polypath.Context, torch: Torch) -> None:
    (origin,) = sources(torch, 160 * MIB)
    pairs = replicas_of(torch, [origin], (0, 1, 2, 3))
    apart = seconds_of(context, torch, lambda: [polypath.copy(*pair) for pair in pairs])
    for target, _ in pairs:
        target.array[:] = 0

    how: list[str] = []
    together = seconds_of(context, torch, lambda: how.extend(polypath.copy_many(pairs)))

    assert arrived(pairs)
    assert how == ["stream"] * 4
    assert together < apart / 2.5
    assert context.violations() == []
    assert {entry for entry in torch.log if entry[0] == "write"} >= {
        ("write", target) for target, _ in pairs
    }


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    sizes=st.lists(st.integers(1, 70 * MIB).map(lambda size: size // 4096 * 4096 + 1), max_size=4),
    gpus=st.sets(st.integers(0, 3), min_size=2),
)
def test_any_sizes_arrive_in_order_with_the_current_streams(
    context: polypath.Context, torch: Torch, sizes: list[int], gpus: set[int]
) -> None:
    pairs = replicas_of(torch, sources(torch, *sizes), tuple(gpus))
    before = [(target, torch.tensor(target.gpu, target.array.size)) for target, _ in pairs]
    after = [(torch.tensor(target.gpu, target.array.size), target) for target, _ in pairs]

    for target, other in before:
        polypath.copy(other, target)  # reads what the replicas overwrite
        polypath.copy(target, other)
    polypath.copy_many(pairs)
    for ends in after:
        polypath.copy(*ends)
    wait(*torch.current.values())

    assert arrived(pairs) and arrived(after)
    assert context.violations() == []


def test_a_lane_that_begins_with_a_short_rest_waits_for_every_gpu(
    context: polypath.Context, torch: Torch
) -> None:
    sizes = (16 * MIB + 4096, 48 * MIB)  # the second chunk is a page, of GPU 0
    pairs = replicas_of(torch, sources(torch, *sizes), (0, 1))
    for target, _ in pairs:
        polypath.copy(target, torch.tensor(target.gpu, target.array.size))

    polypath.copy_many(pairs)
    wait(*torch.current.values())

    assert arrived(pairs)
    assert context.violations() == []


def test_others_in_the_call_are_copied_as_before(context: polypath.Context, torch: Torch) -> None:
    shared, small, own = sources(torch, 64 * MIB, 4096, 2 * MIB)
    pairs = [
        (torch.tensor(3, 2 * MIB), own),
        *replicas_of(torch, [shared, small], (1, 2)),
    ]

    how = polypath.copy_many(pairs)
    wait(*torch.current.values())

    assert len(how) == 5
    assert arrived(pairs)
    assert context.violations() == []


def groups_of(pairs: list[tuple[TorchTensor, TorchTensor]]) -> list[tuple[int, ...]]:
    from polypath.tensors import memory_of

    return replicas.find_replicas([(memory_of(a), memory_of(b)) for a, b in pairs])


def test_where_order_could_matter_nothing_is_grouped(torch: Torch) -> None:
    origins = sources(torch, 32 * MIB, 32 * MIB)
    pairs = replicas_of(torch, origins, (0, 1))

    assert groups_of(pairs) == [(0, 1), (2, 3)]
    assert groups_of([*pairs, (origins[1], pairs[0][0])]) == []  # back to the host
    assert groups_of([*pairs, (pairs[0][0], origins[1])]) == []  # one is written twice
    assert groups_of([pairs[0], (torch.tensor(0, 32 * MIB), origins[0])]) == []  # one GPU


def test_with_a_stream_that_is_named_or_captured_each_goes_by_itself(
    context: polypath.Context, torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = replicas_of(torch, sources(torch, 32 * MIB), (0, 1))
    monkeypatch.setattr("polypath.tensors.copy_replicas", lambda *_: pytest.fail("grouped"))

    polypath.copy_many(pairs, torch.current[0])
    torch.capturing = True
    polypath.copy_many(pairs)
    wait(*torch.current.values())

    assert arrived(pairs)
    assert context.violations() == []


@pytest.mark.parametrize(("machine", "grouped"), [("beluga", True), ("mist", False),
                                                  ("pcie4", False)])  # fmt: skip
def test_the_model_decides(monkeypatch: pytest.MonkeyPatch, machine: str, grouped: bool) -> None:
    context = polypath.Context(machine)
    monkeypatch.setattr(process_context, "_context", context)
    torch = Torch(context)
    monkeypatch.setitem(sys.modules, "torch", torch)

    pairs = replicas_of(torch, sources(torch, 32 * MIB), (0, 1, 2, 3))

    assert bool(groups_of(pairs)) == grouped


@pytest.fixture
def native_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts that are opened later make native copies only."""
    monkeypatch.setenv("POLYPATH_EXECUTOR", "native")


@pytest.mark.usefixtures("native_copies")
def test_native_copies_that_are_asked_for_are_not_grouped(torch: Torch) -> None:
    assert groups_of(replicas_of(torch, sources(torch, 32 * MIB), (0, 1))) == []


def test_settings_are_those_of_the_contexts_opening(
    context: polypath.Context, torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYPATH_EXECUTOR", "native")

    assert context.executor == "auto"
    assert groups_of(replicas_of(torch, sources(torch, 32 * MIB), (0, 1))) != []


def test_a_failure_waits_for_what_was_begun(
    context: polypath.Context, torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    (origin,) = sources(torch, 64 * MIB)
    pairs = replicas_of(torch, [origin], (0, 1))
    hand_on = replicas._Pipeline._hand_on

    def fail(self: Any, *arguments: Any) -> Any:
        _, *rest = hand_on(self, *arguments)
        return (16, *rest)  # no memory is there

    monkeypatch.setattr(replicas._Pipeline, "_hand_on", fail)
    with pytest.raises(polypath.Error):
        polypath.copy_many(pairs)

    origin.array[:] = 0  # is a race unless the copies are over
    wait(*torch.current.values())
    assert context.violations() == []


# With pageable memory, which simulated machines do not know.
ON_THE_STAND_IN = """
import numpy as np
import polypath
from polypath.process_context import process_context

source = np.random.default_rng(1).integers(0, 256, 40 << 20, dtype=np.uint8)
machine = polypath.Context()
targets = [machine.allocate(f"gpu{gpu}", source.nbytes) for gpu in range(4)]

polypath.copy_many([(target, source) for target in targets])
transfers = process_context().statistics()["transfers"]

for target in targets:
    back = np.empty_like(source)
    polypath.copy(back, target)
    assert np.array_equal(back, source)
print(transfers)
"""


@on_the_stand_in
def test_pageable_memory_goes_to_one_gpu_and_from_there_to_the_others() -> None:
    run = subprocess.run(
        [sys.executable, "-c", ON_THE_STAND_IN], env={**os.environ, **AROUND},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (run.returncode, run.stdout) == (0, "4\n"), run.stderr
