"""What is measured, by all processes alike."""

from __future__ import annotations

from dataclasses import dataclass, field

from rivals.cases import CALLS_IN_GRAPH, Case


@dataclass(frozen=True)
class Plan:
    """What is to be measured."""

    cases: list[Case]
    rounds: int
    algorithms: list[str]
    executor: str
    rivals: bool = True  # beside Polypath
    nccl: str = ""  # the path of another NCCL than PyTorch's
    without_peers: str = ""  # how NCCL goes without peer access (environment.py); "": with it
    beside_product: bool = False
    calls_in_graph: int = CALLS_IN_GRAPH
    absent: dict[str, str] = field(default_factory=dict)  # names of contenders: why
    skipped: dict[Case, dict[str, str]] = field(default_factory=dict)  # labels: why
