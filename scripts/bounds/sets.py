"""
Lower bounds of sets of copies that start together: a flow for each.

Copies do not share bytes, so that traffic is the sum of the flows, each of n_k bytes from its
source to its destination, by way of any GPUs and hosts (multi-commodity flow; bounds/flows.py has
the limits):

    t(h) = Σ_k f_k(h)

One thread that issues K copies makes at least K calls, and the last copy begins after the last
call. So with the time M in which bytes move, first and last latencies left out,

    T >= max(M, K·c)

Calls and bytes overlap only in part: M + K·c, all calls before all bytes, is the goal that plans
are held against. It is no bound: behind a long copy the calls of the others are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bounds.flows import Traffic, fixed
from bounds.machine import Machine


@dataclass(frozen=True)
class Copy:
    """Bytes from a place to another one."""

    source: str
    destination: str
    bytes: int


def moving_time(machine: Machine, copies: Sequence[Copy]) -> float:
    """Return the least time in which all bytes move."""
    unit = float(max(each.bytes for each in copies))
    traffic = Traffic(machine, unit)
    flows = [
        traffic.flow(
            {each.source: fixed(each.bytes / unit), each.destination: fixed(-each.bytes / unit)}
        )
        for each in copies
    ]
    traffic.carry(*flows)
    return traffic.program.least_time()


def lower_bound(machine: Machine, copies: Sequence[Copy]) -> float:
    """Return seconds that no plan of one thread stays below."""
    calls = len(copies) * machine.copy_call
    return max(machine.first_byte + moving_time(machine, copies), calls) + machine.wake_up


def with_calls(machine: Machine, copies: Sequence[Copy]) -> float:
    """Return the bound if no byte moves before the last call."""
    calls = (len(copies) - 1) * machine.copy_call
    return machine.first_byte + moving_time(machine, copies) + calls + machine.wake_up
