"""A machine that does not exist: beluga, with PCIe links that are twice as fast.

python examples/faster_pcie.py mine.json
polypath plan gpu0 gpu1 64M --machine ./mine.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from polypath import reports


def double(quantity: dict[str, Any]) -> None:
    """Make a number of the machine twice as large, and say where it comes from now."""
    quantity.update(value=2 * quantity["value"], source="assumed")


def faster_machine() -> dict[str, Any]:
    """Return beluga with every PCIe link, and every hop over one, twice as fast."""
    machine = reports.machine("beluga")
    machine["name"] = "faster"
    machine["sources"]["assumed"] = "Assumption: twice what beluga has, as if it had PCIe 4.0."
    for resource in machine["resources"]:
        if resource["kind"] == "pcie":
            double(resource["capacity"])
    for hop in machine["hops"]:
        if hop["kind"] == "host":
            double(hop["bandwidth"])
    return machine


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(faster_machine(), indent=1), encoding="utf-8")
