"""Kinds of solutions: what they are checked for, and how a random one is made."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import numpy as np

#: A number of elements: a number, a key whose list's length it is (or whose number), or a function of the
#: data.
Count: TypeAlias = int | str | Callable[[Any], Any]


def count_of(count: Count, data: Any) -> Any:
    """Evaluate a count for an instance's data; not checked."""
    if isinstance(count, str):
        value = getattr(data, count)
        return len(value) if np.ndim(value) else value
    return count(data) if callable(count) else count


@dataclass(frozen=True)
class SolutionKind(ABC):
    """A kind of solutions, each of which is an array of one axis.

    Attributes
    ----------
    size : Count
        Of its elements.
    """

    size: Count
    dtype: ClassVar[Any]

    #: Keys that it adds to the data: of arrays float64[N].
    added: ClassVar[tuple[str, ...]] = ()

    @property
    def counts(self) -> dict[str, Count]:
        """The numbers that it is declared with, by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def misfit(self, size: int, data: Any) -> str | None:
        """Tell why there is no solution of the kind for an instance's data; None if there is one."""
        return None

    def to_add(self, size: int, data: Any) -> tuple[Any, ...]:
        """Make the arrays that it adds to the data."""
        return ()

    def length(self, size: int, data: Any) -> int:
        """Count the numbers of the array."""
        return size

    def written(self, x: Any) -> list[Any]:
        """Give a solution as JSON has it."""
        return [int(value) if isinstance(value, bool) else value for value in x.tolist()]

    def read(self, written: Any) -> Any:
        """Make an array of that; raises ValueError if it is something else."""
        return np.array(written)

    @abstractmethod
    def start(self, size: int, data: Any, draws: Callable[[int], Any]) -> Any:
        """Make a random solution; ``draws(n)`` gives float64[n], uniform in (0, 1)."""

    @abstractmethod
    def why_not(self, data: Any, x: Any) -> str | None:
        """Tell why an array of the right length is no solution of the kind; None if it is one."""


@dataclass(frozen=True)
class Permutation(SolutionKind):
    """Each number from 0 to N - 1 once."""

    dtype = np.int64

    def start(self, size: int, data: Any, draws: Callable[[int], Any]) -> Any:
        return np.argsort(draws(size), kind="stable").astype(np.int64)

    def why_not(self, data: Any, x: Any) -> str | None:
        return _not_once(x)


def _not_once(x: Any) -> str | None:
    """Tell why an array does not have each number from 0 on once."""
    seen = np.zeros(len(x), np.int64)
    for value in x.tolist():
        if not 0 <= value < len(x):
            return f"expected each number from 0 to {len(x) - 1} once, got {value}"
        seen[value] += 1
    if (seen == 1).all():
        return None
    twice = int((seen > 1).argmax())
    return f"expected each number from 0 to {len(x) - 1} once, got {twice} {seen[twice]} times"


@dataclass(frozen=True)
class Routes(SolutionKind):
    """Each of N customers once, on one of V routes, which may be empty.

    An array of the customers, one route after the other, then of the places where the routes begin, and N:
    see `route`. JSON has a list for each route.

    Attributes
    ----------
    vehicles : Count
        V.
    """

    vehicles: Count
    dtype = np.int64

    @property
    def gaps(self) -> Callable[[Any], int]:
        """Places where a customer can be put: before each, and at the end of each route."""
        return lambda data: int(count_of(self.size, data) + count_of(self.vehicles, data))

    def length(self, size: int, data: Any) -> int:
        return int(size + count_of(self.vehicles, data) + 1)

    def start(self, size: int, data: Any, draws: Callable[[int], Any]) -> Any:
        vehicles = count_of(self.vehicles, data)
        found = draws(size) * vehicles
        order = np.argsort(found, kind="stable")
        return np.concatenate([order, np.searchsorted(found[order], np.arange(vehicles + 1))])

    def why_not(self, data: Any, x: Any) -> str | None:
        begins = x[-count_of(self.vehicles, data) - 1 :]
        customers = x[: -len(begins)]
        if begins[0] != 0 or begins[-1] != len(customers) or (np.diff(begins) < 0).any():
            return f"expected where routes begin, from 0 to {len(customers)}, got {begins.tolist()}"
        return _not_once(customers)

    def written(self, x: Any) -> list[Any]:
        return [route(x, v).tolist() for v in range(len(x) - x[-1] - 1)]

    def read(self, written: Any) -> Any:
        if np.ndim(written[0]) == 0:
            return np.array(written)
        ends = np.cumsum([len(customers) for customers in written])
        return np.concatenate([np.array([*chain.from_iterable(written), 0]), ends])


def route(x: Any, vehicle: int) -> Any:
    """Give the customers on a route of a solution, in their order."""
    begin = x[-1] + vehicle
    return x[x[begin] : x[begin + 1]]


@dataclass(frozen=True)
class Subset(SolutionKind):
    """For each of N elements whether it is in the set.

    Attributes
    ----------
    exactly : Count, optional
        How many are; any number by default.
    """

    exactly: Count | None = None
    dtype = np.bool_

    def misfit(self, size: int, data: Any) -> str | None:
        wanted = 0 if self.exactly is None else count_of(self.exactly, data)
        return f"expected at most the {size} elements in the set, got {wanted}" if wanted > size else None

    def start(self, size: int, data: Any, draws: Callable[[int], Any]) -> Any:
        if self.exactly is None:
            return draws(size) < 0.5
        return np.argsort(np.argsort(draws(size))) < count_of(self.exactly, data)

    def why_not(self, data: Any, x: Any) -> str | None:
        if self.exactly is None or x.sum() == (wanted := count_of(self.exactly, data)):
            return None
        return f"expected {wanted} elements in the set, got {int(x.sum())}"


@dataclass(frozen=True)
class Labels(SolutionKind):
    """For each of N elements a number from 0 to K - 1.

    Attributes
    ----------
    values : Count
        K.
    """

    values: Count
    dtype = np.int64

    def start(self, size: int, data: Any, draws: Callable[[int], Any]) -> Any:
        return (draws(size) * count_of(self.values, data)).astype(np.int64)

    def why_not(self, data: Any, x: Any) -> str | None:
        return _outside(x, 0, count_of(self.values, data) - 1)


@dataclass(frozen=True)
class Reals(SolutionKind):
    """N real numbers between two bounds, which are included.

    Attributes
    ----------
    low, high : float or str
        A number, or a key: of a number, or of a list with one for each variable.
    """

    low: float | str
    high: float | str
    dtype = np.float64
    added = ("lowest", "highest")

    def __post_init__(self) -> None:
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, str) and not math.isfinite(bound):
                raise ValueError(f"{name}: expected a finite number or a key, got {bound}")

    @property
    def counts(self) -> dict[str, Count]:
        return {"size": self.size}

    def to_add(self, size: int, data: Any) -> tuple[Any, ...]:
        bounds = (getattr(data, b) if isinstance(b, str) else b for b in (self.low, self.high))
        return tuple(np.full(size, bound, np.float64) for bound in bounds)

    def misfit(self, size: int, data: Any) -> str | None:
        for name, bound in (("low", self.low), ("high", self.high)):
            shape = np.shape(getattr(data, bound) if isinstance(bound, str) else bound)
            if shape not in ((), (size,)):
                return f"{name}: expected a number or a list of {size}, got one of shape {shape}"
        low, high = self.to_add(size, data)
        if (wrong := low > high).any():
            i = wrong.argmax()
            return f"expected low <= high, got {low[i]:.15g} and {high[i]:.15g} of element {i}"
        return None

    def start(self, size: int, data: Any, draws: Callable[[int], Any]) -> Any:
        return data.lowest + (data.highest - data.lowest) * draws(size)

    def why_not(self, data: Any, x: Any) -> str | None:
        return _outside(x, data.lowest, data.highest)


def _outside(x: Any, low: Any, high: Any) -> str | None:
    """Name the first number that is not between two bounds, if there is one."""
    wrong = ~((x >= low) & (x <= high))
    if not wrong.any():
        return None
    at = int(wrong.argmax())
    low, high = (np.broadcast_to(bound, x.shape)[at] for bound in (low, high))
    return f"expected numbers from {low:.15g} to {high:.15g}, got {x[at]} of element {at}"


#: An order: each number from 0 to N - 1 once, int64[N].
permutation = Permutation

#: Each of N customers once, on one of V routes in their order. `x` is int64: first all customers, route by
#: route, then the places where the routes begin. JSON has a list for each route.
routes = Routes

#: For each of N elements whether it is in the set, bool[N]; of any number of them, or exactly k.
subset = Subset

#: For each of N elements a number from 0 to K - 1, int64[N].
assignment = Labels

#: N real numbers, float64[N]. The bounds are included; a key with a list gives each number its own.
reals = Reals
