"""UCX's own benchmark between two GPUs. It compares no bytes; that it runs, and how, counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from stack import Stack

BYTES, REPEATS = 4 << 20, 20


@pytest.mark.parametrize("test", ["ucp_put_bw", "tag_bw", "tag_lat"])
def test_perftest(stack: Stack, cuda_runtime: Path, test: str) -> None:
    task = ["-t", test, "-m", "cuda", "-s", str(BYTES), "-n", str(REPEATS)]

    server, client = stack.perftest(*task, LD_PRELOAD=str(cuda_runtime))

    for outcome in (server, client):
        assert outcome.status == 0, outcome.output + outcome.errors
        assert outcome.violations() == []
    assert server.bytes_between_gpus() + client.bytes_between_gpus() >= BYTES * REPEATS / 2
    assert server.called("cuIpcOpenMemHandle") + client.called("cuIpcOpenMemHandle") > 0


def test_ucx_watches_memory(stack: Stack, cuda_runtime: Path) -> None:
    """Only then does it forget what it knew of memory that is freed, as it does on real drivers."""
    task = ["-t", "tag_bw", "-m", "cuda", "-s", "1000", "-n", "1"]

    outcomes = stack.perftest(*task, LD_PRELOAD=str(cuda_runtime), UCX_MEM_LOG_LEVEL="diag")

    for outcome in outcomes:
        assert outcome.status == 0, outcome.output + outcome.errors
        assert "failed to" not in outcome.output + outcome.errors
