"""Types of the extension module; src/python has the implementation.

Requests and results are JSON; docs/cli.md describes the results.
"""

from typing import Callable

Progress = Callable[[int, int], None]

class Error(RuntimeError):
    """What every function of this package raises; the message says what to do."""

    code: str

def version() -> str:
    """Return the version of the library."""

def machines() -> str:
    """Return a list of {name, description, gpus, hosts}: the machines that come along."""

def machine(name: str) -> str:
    """Return a machine, by name, seed or file, as schema polypath.machine/1 without patterns."""

def settings() -> str:
    """Return a list of {variable, value, default, meaning}: the POLYPATH_* settings."""

def plan(request: str) -> str:
    """Return how a transfer would run: schema polypath.plan/1 with a "timeline"."""

def bench(request: str, progress: Progress | None = None) -> str:
    """Measure an operation: schema polypath.bench/1; progress is called with (done, total)."""

def tune(request: str, progress: Progress | None = None) -> str:
    """Search the best static plans: schema polypath.tuned/1."""

def trace(request: str) -> str:
    """Return the timeline of a transfer as Chrome trace events."""

def parse_bytes(text: str) -> int:
    """Return the bytes of "64M", "1GiB" or "4096"; K, M, G and T are powers of 1024."""

def format_bytes(count: int) -> str:
    """Return the shortest exact form that parse_bytes reads back: "64M", "4097"."""
