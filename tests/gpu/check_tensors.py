"""Checks what polypath does with tensors on this computer's GPUs, with PyTorch and CuPy.

Usage: check_tensors.py [NAME...]: all checks, or those whose name contains one of the words. Prints
one line per check; exit status 1 if one failed. A check that needs what is not here says so.
"""

from __future__ import annotations

import sys
import time
import traceback
from typing import Callable

import tensor_copies
import tensor_order
import tensor_weights
import torch
from tensor_support import NotHereError, synchronize

CHECKS = (*tensor_copies.CHECKS, *tensor_order.CHECKS, *tensor_weights.CHECKS)


def run(check: Callable[[], None]) -> bool:
    """Run one check and print its line; return whether nothing is wrong."""
    name, start = check.__name__.replace("_", " "), time.perf_counter()
    try:
        check()
        synchronize()
    except NotHereError as reason:
        print(f"skipped  {name} ({reason})", flush=True)
    except Exception as error:
        print(f"FAILED   {name}: {type(error).__name__}: {error}", flush=True)
        traceback.print_exc()
        return False
    else:
        print(f"passed   {name} ({time.perf_counter() - start:.1f} s)", flush=True)
    return True


def main(words: list[str]) -> int:
    """Run the checks asked for; return the exit status."""
    if not torch.cuda.is_available():
        print("no GPU here (PyTorch sees none) Run this where there is one.", file=sys.stderr)
        return 1
    chosen = [check for check in CHECKS
              if not words or any(word in check.__name__ for word in words)]  # fmt: skip
    passed = [run(check) for check in chosen]
    print(f"{sum(passed)} of {len(passed)} checks without failure")
    return 0 if all(passed) and passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
