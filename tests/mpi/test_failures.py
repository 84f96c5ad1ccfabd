"""Ranks that end in the middle."""

from __future__ import annotations

from pathlib import Path

from stack import Stack


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
