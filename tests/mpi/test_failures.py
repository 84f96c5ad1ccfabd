"""Ranks that end in the middle."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from stack import Library, Stack

SOURCES = Path(__file__).parent / "program"


def leftovers() -> list[str]:
    names = [path.name for path in Path("/dev/shm").iterdir()]
    return [each for each in names if each.startswith("standin-") and "-nccl-" not in each]


def test_a_killed_rank_ends_the_job_and_leaves_nothing(stack: Stack, exchange: Path) -> None:
    outcome = stack.ranks(2, exchange, "killed", "device", "device", "1", str(16 << 20))

    assert outcome.status != 0
    assert "right" not in outcome.output
    assert leftovers() == []
    after = stack.ranks(2, exchange, "ring", "device", "device", "1", str(1 << 20))
    assert after.status == 0, after.output + after.errors


@pytest.mark.parametrize("call", ["cuDeviceGetUuid", "cuStreamCreate"])
def test_a_rank_that_cannot_join_is_known_at_once(
    library: Library, preload: str, tmp_path: Path, call: str
) -> None:
    """The others do not wait for it until a timeout is over, and MPI makes all calls."""
    sources = (SOURCES / "collectives.c", SOURCES / "memory.c")
    program = library.compile(tmp_path / "collectives", *sources)
    fails = f'[ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = 1 ] && export STANDIN_FAIL={call}:1-; "$@"'

    start = time.monotonic()
    outcome = library.ranks(
        3, "sh", "-c", fails, "sh", program, "3", "12", "device",
        LD_PRELOAD=preload, POLYPATH_LOG="info",
    )  # fmt: skip

    assert outcome.status == 0, outcome.output + outcome.errors
    assert outcome.output.split() == ["right", "12"]
    assert outcome.errors.count("MPI is left to it: Rank 1 has given up (") >= 2, outcome.errors
    assert f"{call} failed" in outcome.errors
    assert time.monotonic() - start < 20  # seconds
