"""Rates and times that stand where nothing has been measured, each with a source that says so."""

from __future__ import annotations

from polypath import reports
from polypath.cli.output import Document

# As of GPUs that have been found and not measured (src/probe/discover.cc).
NVLINK = 21.75  # GB/s, of each link
PCIE = 26.8  # GB/s, one direction
PCIE_USABLE = 0.85  # of what a link carries
BOTH_WAYS = 1.7  # of one direction of PCIe, as DRIVER_STAGED and MEMORY are
DRIVER_STAGED = 0.68
MEMORY = {"read": 2.0, "write": 1.5, "total": 2.25}
SOCKETS = 40.0  # GB/s
LATENCY, LATENCY_STAGED, STAGING = 3.3, 13.3, 6.7  # us
LATENCY_NETWORK = 5.0  # us
MEASURED = "h200x4"  # whose costs of calls are taken

_FILL_IN = "Fill in what nvbandwidth or polypath calibrate measures on that computer."
SOURCES = {
    "nvlink": f"Placeholder: 25 GB/s for each NVLink, 0.87 of it usable. {_FILL_IN}",
    "pcie": f"Placeholder: PCIe 4.0 x16, 0.85 of 31.5 GB/s usable. {_FILL_IN}",
    "pcie_link": "Placeholder: 0.85 of the PCIe link that lstopo found; that of an idle GPU may be "
    f"slower than usual. {_FILL_IN}",
    "pcie_both": f"Placeholder: 1.7 of one direction of the PCIe link. {_FILL_IN}",
    "memory": f"Placeholder: 2 PCIe links out, 1.5 in, 2.25 together. {_FILL_IN}",
    "sockets": f"Placeholder: 40 GB/s each way. {_FILL_IN}",
    "staged": f"Placeholder: 0.68 of the PCIe link, and 10 us more than others. {_FILL_IN}",
    "latency": f"Placeholder: as measured for {MEASURED}. {_FILL_IN}",
    "network": "Placeholder: 0.85 of the adapters' PCIe links that lstopo found, or of PCIe 4.0 "
    "x16, and no more than the slowest way to one; adapters are taken to reach GPUs (GPUDirect "
    "RDMA). Fill in what the network carries.",
    "network_latency": "Placeholder: 5 us. Fill in what a small message takes.",
    "calls": f"Placeholder: as measured for {MEASURED}. {_FILL_IN}",
}


def rate(value: float, source: str) -> Document:
    """Return a bandwidth or capacity, in GB/s."""
    return {"value": round(value, 2), "unit": "GB/s", "source": source}


def pcie(*speeds: float) -> tuple[float, str]:
    """Return what copies over PCIe links of these speeds reach, and its source; 0 is unknown."""
    known = [speed for speed in speeds if speed]
    return (PCIE_USABLE * min(known), "pcie_link") if known else (PCIE, "pcie")


def time(value: float, source: str) -> Document:
    """Return a time, in us."""
    return {"value": round(value, 3), "unit": "us", "source": source}


def capacity(kind: str, value: float, source: str) -> Document:
    """Return what a resource carries."""
    return {"kind": kind, "capacity": rate(value, source)}


def costs() -> Document:
    """Return what driver calls take."""
    measured = reports.machine(MEASURED)["costs"]
    return {name: time(cost["value"] * 1e6, "calls") for name, cost in measured.items()}
