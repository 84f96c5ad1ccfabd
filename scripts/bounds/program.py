"""
A linear program in the making: blocks of variables, rows, and the least T.

Variables are numbers; a block is a run of them. Bytes are in units of the message, so that all
numbers of a program are near 1, as solvers like them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

Terms = Iterable[tuple[int, float]]
# Of the solver: the objective may be too large by that.
TOLERANCE = 1e-6
# With more variables the interior point method is faster than the simplex method, by far.
MANY = 5000


class Rows:
    """Rows of a sparse matrix, and their right-hand sides."""

    def __init__(self) -> None:
        self.row: list[int] = []
        self.column: list[int] = []
        self.weight: list[float] = []
        self.right: list[float] = []

    def add(self, terms: Terms, right: float) -> None:
        """Append a row: what the terms add up to, and `right`."""
        for column, weight in terms:
            self.row.append(len(self.right))
            self.column.append(column)
            self.weight.append(weight)
        self.right.append(right)

    def matrix(self, columns: int) -> csr_array:
        """Return them as a matrix; terms of the same variable add up."""
        places = (self.row, self.column)
        return csr_array((self.weight, places), shape=(len(self.right), columns))


class LinearProgram:
    """Minimises its variable 0, the time."""

    TIME = 0

    def __init__(self) -> None:
        self.variables = 1
        self.at_most = Rows()
        self.equal = Rows()

    def block(self, size: int) -> list[int]:
        """Return so many new variables, none of them below 0."""
        first = self.variables
        self.variables += size
        return list(range(first, self.variables))

    def least_time(self) -> float:
        """Return the least time; 0 if nothing limits it."""
        cost: NDArray[np.float64] = np.zeros(self.variables)
        cost[self.TIME] = 1
        solved = linprog(
            cost,
            A_ub=self.at_most.matrix(self.variables),
            b_ub=self.at_most.right,
            A_eq=self.equal.matrix(self.variables) if self.equal.right else None,
            b_eq=self.equal.right or None,
            method="highs-ipm" if self.variables > MANY else "highs",
        )
        if not solved.success:
            raise RuntimeError(f"no bound was found ({solved.message})")
        return float(solved.fun) * (1 - TOLERANCE)
