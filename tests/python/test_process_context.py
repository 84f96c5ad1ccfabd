"""The one context of a process: threads, forks, simulated machines, and what is not imported."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import polypath
import pytest
from fake_frameworks import Torch, TorchStream
from polypath import process_context
from tensor_memory import pattern, wait

MIB = 1 << 20


def test_threads_copy_beside_each_other(context: polypath.Context, torch: Torch) -> None:
    results: list[bool] = []

    def work(seed: int) -> None:
        source, destination = torch.tensor(seed, 2 * MIB), torch.tensor((seed + 1) % 4, 2 * MIB)
        source.array[:] = pattern(2 * MIB, seed)
        stream = TorchStream(context, seed)
        for _ in range(5):
            polypath.copy(destination, source, stream)
        wait(stream)
        results.append(np.array_equal(destination.array, source.array))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * 4


def test_a_simulated_machine_has_no_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_context, "_context", None)
    monkeypatch.setenv("POLYPATH_MACHINE", "beluga")

    with pytest.raises(polypath.Error, match=r"POLYPATH_MACHINE=beluga is simulated\) Unset") as no:
        process_context.process_context()

    assert no.value.code == "unsupported"


def test_one_context_is_opened_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[polypath.Context] = []

    def open_slowly() -> polypath.Context:
        opened.append(polypath.Context("beluga"))
        return opened[-1]

    monkeypatch.setattr(process_context, "_context", None)
    monkeypatch.setattr(process_context, "_open", open_slowly)
    found: list[polypath.Context] = []
    threads = [
        threading.Thread(target=lambda: found.append(process_context.process_context()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(opened) == 1 and set(map(id, found)) == {id(opened[0])}


FORKS = """
import os, sys, threading
import polypath
from polypath import process_context as shared

shared._open = lambda: polypath.Context("beluga")
parents = shared.process_context()
a, b = (shared.process_context().allocate(place, 8 << 20) for place in ("gpu0", "gpu1"))
shared._lock.acquire()  # another thread may hold it while this one forks
child = os.fork()
if child == 0:
    assert shared.process_context() is not parents
    c, d = (shared.process_context().allocate(place, 8 << 20) for place in ("gpu0", "gpu1"))
    c.numpy()[:] = 3
    shared.process_context().copy(d, c)
    assert (d.numpy() == 3).all()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
shared._lock.release()
assert shared.process_context() is parents
shared.process_context().copy(b, a)
"""


def test_a_forked_child_opens_its_own_context() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=60, check=False
    )

    assert (run.returncode, run.stderr) == (0, "")


def test_no_framework_is_imported_by_the_package() -> None:
    code = "import sys, polypath; print(sorted({'torch', 'cupy', 'numpy'} & set(sys.modules)))"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         env={**os.environ, "PYTHONPATH": ""})  # fmt: skip

    assert run.stdout == "[]\n"
