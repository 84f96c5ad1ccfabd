"""What is measured on GPUs, and the targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from units import GIB, KIB, MIB

SMALL = [8, 512, 4 * KIB, 64 * KIB, 256 * KIB]
LARGE = [MIB << i for i in range(11)]  # 1 MiB to 1 GiB
WITHOUT_PEERS = {"POLYPATH_PEER_ACCESS": "0"}


Json = dict[str, Any]


@dataclass
class Series:
    """One benchmark: what is asked, and under which environment."""

    name: str
    request: Json
    environment: dict[str, str] = field(default_factory=dict)

    def command(self) -> str:
        """Return the command that measures the same."""
        asked = self.request
        settings = "".join(f"{name}={value} " for name, value in self.environment.items())
        sizes = ",".join(str(size) for size in asked["sizes"])
        pair = f"{asked['source']} {asked['destination']}"
        return f"{settings}polypath bench {asked['operation']} {pair} --sizes {sizes}"


@dataclass
class Target:
    """A ratio that a series must reach at these sizes."""

    series: str
    smallest: int
    largest: int
    ratio: float


def request(operation: str, source: str, destination: str, sizes: list[int]) -> Json:
    """Return a bench request."""
    return {"operation": operation, "source": source, "destination": destination, "sizes": sizes}


SERIES = [
    Series("put", request("put", "gpu0", "gpu1", SMALL + LARGE)),
    Series("bibw", request("bibw", "gpu0", "gpu1", SMALL + LARGE)),
    Series("h2d", request("h2d", "host0", "gpu0", SMALL + LARGE)),
    Series("d2h", request("d2h", "gpu0", "host0", SMALL + LARGE)),
    Series("pageable_h2d", request("pageable", "host0", "gpu0", SMALL + LARGE)),
    Series("pageable_d2h", request("pageable", "gpu0", "host0", SMALL + LARGE)),
    Series("put_without_peer_access", request("put", "gpu0", "gpu1", SMALL + LARGE), WITHOUT_PEERS),
]

TARGETS = [
    Target("put", 256 * MIB, GIB, 1.10),
    Target("put", 64 * MIB, 64 * MIB, 1.03),
    Target("put_without_peer_access", 64 * MIB, GIB, 1.35),
    Target("bibw", 256 * MIB, GIB, 1.02),
    Target("bibw", 8, GIB, 0.99),
    Target("h2d", 64 * MIB, GIB, 2.6),
    Target("h2d", 16 * MIB, 16 * MIB, 2.2),
    Target("d2h", 64 * MIB, GIB, 2.0),
    Target("pageable_h2d", 256 * MIB, GIB, 4.0),
    Target("pageable_d2h", 256 * MIB, GIB, 2.5),
    *(Target(series.name, 8, GIB, 0.98) for series in SERIES),
]
