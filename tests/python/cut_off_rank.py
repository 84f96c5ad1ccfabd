"""A rank on one of two nodes that gathers until it fails; other ranks are gone by then.

cut_off_rank.py RANK SIZE FOLDER HOST: it says "going" once it has gathered, and then why it fails.
"""

from __future__ import annotations

import sys

import polypath
from gathering import Rank

RANK, SIZE, FOLDER, HOST = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]


def main() -> None:
    """Gather, until another rank is gone."""
    machine = polypath.Context()
    node = f"node{RANK * 2 // SIZE}"
    with polypath.Collectives.from_file(
        FOLDER, RANK, SIZE, RANK, context=machine, node=node, host=HOST, timeout=60
    ) as ranks:
        own = Rank(ranks, machine)
        own.check()
        print("going", flush=True)
        print(own.gather_until_it_fails(), flush=True)


main()
