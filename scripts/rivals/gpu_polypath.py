"""Polypath among processes with a GPU each."""

from __future__ import annotations

import polypath

from rivals.contender import Ready
from rivals.gpu_ranks import GpuRanks, captured
from rivals.polypath_contender import Polypath
from rivals.ranks import Call, Ranks


class GpuPolypath(Polypath):
    """Ranks that have met by torch.distributed."""

    def join(self, ranks: Ranks) -> polypath.Collectives:
        """Return this rank's end."""
        assert isinstance(ranks, GpuRanks)
        return polypath.Collectives.from_torch(ranks.hosts, gpu=ranks.rank)

    def capture(self, ready: Ready, calls: int) -> Call:
        """Return what replays so many calls as one graph."""
        return captured(ready.call, calls)
