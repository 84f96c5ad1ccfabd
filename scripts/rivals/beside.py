"""A collective beside a matrix product: what each costs the other.

Both go on at once, on streams of their own, each again and again. A mark after each says when it
was over. Marks count until either of the two has come to its end, so that whatever they time had
the other beside it. Before that each is timed alone, in the same turn.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rivals.contender import Contender
from rivals.ranks import Call, Lap
from rivals.turns import Entry, Turns, figures

BESIDE = "beside product"  # the mode
PRODUCTS = 20  # in one lap
MOST_CALLS = 1000


@dataclass(frozen=True)
class Both(Lap):
    """The time of one call, and that of one product beside it."""

    product_seconds: float


@dataclass(frozen=True)
class BesideLap(Both):
    """The same, and what each took alone just before."""

    alone_seconds: float
    product_alone_seconds: float


class Product(Protocol):
    """A matrix product on this rank's GPU."""

    call: Call

    def start(self, call: Call, calls: int, products: int) -> Callable[[], Both]:
        """Enqueue both, so many of each; return what tells the times when all is over."""


def interleaved(calls: int, products: int) -> list[bool]:
    """Return the order in which both are enqueued, evenly spread: true is a call."""
    places = [((i + 0.5) / calls, True) for i in range(calls)]
    places += [((i + 0.5) / products, False) for i in range(products)]
    return [is_call for _, is_call in sorted(places)]


def pace(marks: list[float], until: float) -> float:
    """Return the seconds from one mark to the next, of those until then; of all there is, if one.

    The first is left out where others are: both have not begun at exactly one time.
    """
    first, *others = marks
    done = [mark for mark in others if mark <= until]
    return (done[-1] - first) / len(done) if done else first


def paces(calls: list[float], products: list[float]) -> tuple[float, float]:
    """Return the seconds of a call and of a product while the other went on."""
    until = min(calls[-1], products[-1])
    return pace(calls, until), pace(products, until)


def as_long(call_seconds: float, product_seconds: float) -> int:
    """Return how many calls take as long as the products of a lap, each alone."""
    return min(max(round(PRODUCTS * product_seconds / call_seconds), 2), MOST_CALLS)


class BesideTurns(Turns):
    """The measurement of one case at one rank, beside a product."""

    def __init__(self, product: Product, *about: Any) -> None:
        super().__init__(*about)
        self._product = product

    def _modes(self, contender: Contender) -> tuple[str, ...]:
        """Return one mode, of those that are called eagerly."""
        return (BESIDE,) if "eager" in contender.modes else ()

    def _time(self, entry: Entry) -> None:
        """Add a lap: the collective alone, the product alone, and both."""
        self._say(entry.label)
        product = self._product
        alone = self._calls(entry, self._case.calls)
        single = alone and self._lap(
            entry, lambda: self._ranks.start_lap(PRODUCTS, product.call, 1)
        )
        if not alone or not single:
            return
        calls = as_long(alone.seconds, single.seconds)
        both = self._lap(entry, lambda: product.start(entry.call, calls, PRODUCTS))
        if both:
            entry.laps.append(BesideLap(both.seconds, both.host_seconds, both.product_seconds,
                                        alone.seconds, single.seconds))  # fmt: skip

    def _figures(self, entry: Entry) -> dict[str, Any]:
        """Return what a result says, with the medians of the times beside each other and alone."""
        laps = [lap for lap in entry.laps if isinstance(lap, BesideLap)]
        more = {
            name: statistics.median(getattr(lap, name) for lap in laps)
            for name in ("alone_seconds", "product_seconds", "product_alone_seconds")
        }
        runs = {"product_runs": [lap.product_seconds for lap in laps]}
        return {**figures(entry, self._case, self._ranks.size), **more, **runs}
