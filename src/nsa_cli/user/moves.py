"""Moves: what they choose, and how they change a solution; ready-made ones and those of users.

Functions of moves are plain loops over numbers, which Numba compiles: ``apply(data, x, move)`` changes `x`;
``allowed(data, x, chosen, candidate)`` tells whether a candidate may be chosen after `chosen`, in which
choices not yet made are -1. `move` and `chosen` are tuples of one number a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np

from nsa_cli.user.solutions import Count, Labels, Permutation, Reals, Routes, SolutionKind, Subset

#: Steps that a normal choice draws from: quantiles of as many equal shares.
LEVELS = 4096


@dataclass(frozen=True)
class Normal:
    """Choice of a step from a normal distribution, by its quantiles at `LEVELS` equal shares.

    Attributes
    ----------
    sigma : float
    """

    sigma: float

    @property
    def steps(self) -> Any:
        """Steps by level, float64[LEVELS]."""
        return self.sigma * _quantiles()


@cache
def _quantiles() -> Any:
    half = [NormalDist().inv_cdf((c + 0.5) / LEVELS) for c in range(LEVELS // 2)]
    return np.array([*half, *(-q for q in reversed(half))])


@dataclass(frozen=True)
class AnyElement:
    """Choice of an element of the solution."""

    def __repr__(self) -> str:
        return "elements"


@dataclass(frozen=True)
class OfKind:
    """Choice of one of as many as an attribute of the kind of solutions says."""

    attribute: str


#: As a choice: an element of the solution.
elements = AnyElement()

#: As a choice: one of so many, an element, a normal step, or a value of an assignment.
Candidates: TypeAlias = Count | AnyElement | Normal


@dataclass(frozen=True)
class MoveType:
    """A type of moves.

    Attributes
    ----------
    name : str
    choices : mapping of str to Candidates
        In the order in which they are made; three at most.
    apply : callable
    allowed : callable, optional
        None if all candidates are.
    kinds : tuple of type
        Solutions that it can be made on.
    """

    name: str
    choices: Mapping[str, Any] = field(hash=False)
    apply: Callable[..., Any]
    allowed: Callable[..., Any] | None = None
    kinds: tuple[type[SolutionKind], ...] = (SolutionKind,)


def move(
    *, allowed: Callable[..., Any] | None = None, **choices: Candidates
) -> Callable[[Callable[..., Any]], MoveType]:
    """Make a move of the decorated function, which is its `apply`; named after it.

    Parameters
    ----------
    allowed : callable, optional
        See the module.
    **choices : int, str, callable, `elements` or `normal`
        What is chosen: one of so many (a number, a key with a list or a number, a function of the data), an
        element of the solution, or a normal step.

    Examples
    --------
    >>> @move(customer=elements, route="vehicles")
    ... def relocate(data, x, move):
    ...     x[move[0]] = move[1]
    """

    def made(apply: Callable[..., Any]) -> MoveType:
        return MoveType(apply.__name__, choices, apply, allowed)

    return made


def normal(sigma: float) -> Normal:
    """As a choice: a step of standard deviation `sigma`, in the solution's own units."""
    return Normal(float(sigma))


def _another(data: Any, x: Any, chosen: Any, candidate: Any) -> bool:
    return candidate != chosen[0]


def _different(data: Any, x: Any, chosen: Any, candidate: Any) -> bool:
    return chosen[0] < 0 or x[chosen[0]] != x[candidate]


def _swap(data: Any, x: Any, move: Any) -> None:
    i, j = move
    kept = x[i]
    x[i] = x[j]
    x[j] = kept


def _insert(data: Any, x: Any, move: Any) -> None:
    i, j = move
    kept = x[i]
    if i < j:
        for k in range(i, j):
            x[k] = x[k + 1]
    else:
        for k in range(i, j, -1):
            x[k] = x[k - 1]
    x[j] = kept


def _reverse(data: Any, x: Any, move: Any) -> None:
    _turn(x, min(move[0], move[1]), max(move[0], move[1]) + 1)


def _turn(x: Any, begin: int, end: int) -> None:
    """Reverse what is from one place to before another."""
    end -= 1
    while begin < end:
        kept = x[begin]
        x[begin] = x[end]
        x[end] = kept
        begin += 1
        end -= 1


def _flip(data: Any, x: Any, move: Any) -> None:
    x[move[0]] = not x[move[0]]


def _another_value(data: Any, x: Any, chosen: Any, candidate: Any) -> bool:
    return chosen[0] < 0 or x[chosen[0]] != candidate


def _reassign(data: Any, x: Any, move: Any) -> None:
    x[move[0]] = move[1]


def _inside(data: Any, x: Any, chosen: Any, candidate: Any) -> bool:
    i = chosen[0]
    return i < 0 or data.lowest[i] <= x[i] + candidate <= data.highest[i]


def _step(data: Any, x: Any, move: Any) -> None:
    x[move[0]] += move[1]


def vehicle_at(x: Any, place: int) -> Any:
    """Tell on which vehicle's route the customer ``x[place]`` is."""
    begin = x[-1] + 1
    while x[begin] <= place:
        begin += 1
    return begin - x[-1] - 1


def gap(x: Any, number: int) -> Any:
    """Give the vehicle and place of a gap, where a customer can go: before a place or at a route's end."""
    begin = x[-1] + 1
    vehicle = 0
    while x[begin + vehicle] + vehicle < number:
        vehicle += 1
    return vehicle, number - vehicle


def _exchange(x: Any, begin: int, middle: int, rest: int, end: int) -> None:
    """Exchange what is from a place to before the next with what is between the last two."""
    _turn(x, begin, end)
    _turn(x, begin, begin + end - rest)
    _turn(x, begin + end - rest, begin + end - middle)
    _turn(x, begin + end - middle, end)


def _shift(x: Any, vehicle: int, last: int, by: int) -> None:
    """Let the routes after one, up to another, begin later."""
    for begin in range(x[-1] + vehicle + 1, x[-1] + last + 1):
        x[begin] += by


def _elsewhere(data: Any, x: Any, chosen: Any, candidate: Any) -> bool:
    first, more, _ = chosen
    if first < 0:
        return True
    end = x[x[-1] + vehicle_at(x, first) + 1]
    if more < 0:
        return first + candidate < end
    vehicle, place = gap(x, candidate)
    return not first <= place <= first + more + 1 or vehicle != vehicle_at(x, first)


def _relocate(data: Any, x: Any, move: Any) -> None:
    first, more, to = move
    vehicle, place = gap(x, to)
    count, before = more + 1, vehicle_at(x, first)
    if place <= first:
        _exchange(x, place, first, first, first + count)
        _shift(x, vehicle, before, count)
    else:
        _exchange(x, first, first + count, first + count, place)
        _shift(x, before, vehicle, -count)


def _another_cut(data: Any, x: Any, chosen: Any, candidate: Any) -> bool:
    if chosen[0] < 0:
        return True
    one, begin = gap(x, chosen[0])
    other, end = gap(x, candidate)
    if one == other:
        return abs(begin - end) > 1
    return begin < x[x[-1] + one + 1] or end < x[x[-1] + other + 1]


def _two_opt(data: Any, x: Any, move: Any) -> None:
    one, begin = gap(x, min(move[0], move[1]))
    other, end = gap(x, max(move[0], move[1]))
    if one == other:
        _turn(x, begin, end)
        return
    middle, last = x[x[-1] + one + 1], x[x[-1] + other + 1]
    _exchange(x, begin, middle, end, last)
    _shift(x, one, other, (last - end) - (middle - begin))


_TWO = {"first": elements, "second": elements}
_FROM_TO = {"element": elements, "place": elements}
_ENDS = {"begin": elements, "end": elements}
_ROUTE = {"first": elements, "more": 3, "gap": OfKind("gaps")}
_CUTS = {"begin": OfKind("gaps"), "end": OfKind("gaps")}
_ORDERS = (Permutation, Labels, Reals, Subset)

#: Two different elements change places. In a set, one comes in for one that goes out: ``(i, j)``.
swap = MoveType("swap", _TWO, _swap, _different, (*_ORDERS, Routes))

#: The element at place i goes to place j, and those between move up: ``(i, j)``.
insert = MoveType("insert", _FROM_TO, _insert, _another, _ORDERS)

#: The elements from place i to place j are reversed: ``(i, j)``.
reverse = MoveType("reverse", _ENDS, _reverse, _another, _ORDERS)

#: An element comes into the set or leaves it: ``(i,)``.
flip = MoveType("flip", {"element": elements}, _flip, None, (Subset,))

#: An element gets another value: ``(i, value)``.
reassign = MoveType(
    "reassign", {"element": elements, "value": OfKind("values")}, _reassign, _another_value, (Labels,)
)

#: The customer at place i and the `more` (0, 1 or 2) after it go to a gap (or-opt): ``(i, more, gap)``.
relocate = MoveType("relocate", _ROUTE, _relocate, _elsewhere, (Routes,))

#: What comes after two gaps on two routes is exchanged (2-opt*). On one route, what is between them is
#: reversed (2-opt): ``(gap, gap)``.
two_opt = MoveType("two_opt", _CUTS, _two_opt, _another_cut, (Routes,))


def gaussian(sigma: float, name: str = "gaussian") -> MoveType:
    """Add a normal step to number i, which never leaves its bounds: ``(i, step)``.

    Parameters
    ----------
    sigma : float
        Standard deviation of the step. Several moves, with several of them, serve a search that goes from
        coarse to fine.
    name : str
        As in ``delta_NAME``.
    """
    choices = {"coordinate": elements, "step": Normal(float(sigma))}
    return MoveType(name, choices, _step, _inside, (Reals,))


def values_of(choice: Any, kind: SolutionKind) -> Any:
    """Give the count of a choice on a kind of solutions; `AnyElement` and `Normal` as they are."""
    return getattr(kind, choice.attribute) if isinstance(choice, OfKind) else choice
