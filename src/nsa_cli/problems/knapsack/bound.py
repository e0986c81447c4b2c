"""Upper bounds of the knapsack: Lagrangian dual with and without a cardinality, then the core programme.

The first two are values of the Lagrangian dual: for any multipliers mu >= 0 of the capacity and lambda of
a number of items, ``lambda K + mu C + sum of max(0, v - lambda - mu w)`` is an upper bound, so that the
multipliers are a witness that anyone can check. Without lambda the best mu is the ratio of the break item
and the bound is Dantzig's (Dantzig 1957; Martello and Toth 1990, section 2.2). With it, for integers, the
bound uses that no more than K items fit, or that at least K are needed to be worth more than a known
selection (Martello and Toth 1997, "Upper bounds and algorithms for hard 0-1 knapsack problems").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.exact import LIMIT, Exact, total_of
from nsa_cli.problems.knapsack.core_programme import CoreProgramme
from nsa_cli.problems.knapsack.heuristics import greedy
from nsa_cli.problems.knapsack.instance import KnapsackInstance

#: Steps of the search for the cardinality's multiplier, each of which halves an interval.
_HALVINGS = 40

#: Seconds that the dual takes at least: once, and for each item.
_ONCE, _ITEM = 2e-4, 5e-7

#: Items up to which a bound with a cardinality is worth its time: it gains less than one of them is worth.
_CARDINALITY_UP_TO = 100_000

#: Bits of sums that the core programme takes: its bounds are floats, and products of two.
_MOST_BITS = 500

#: Bits of a bound from a witness, which is a float.
_BOUND_BITS = 1000

#: A multiplier in a witness.
_MULTIPLIER = re.compile(r"-?[0-9]{1,4000}(\.[0-9]{1,400}|/[0-9]{1,4000})?")

#: Multipliers are whole multiples of this.
_GRAIN = 2**-30


class _Integers(NamedTuple):
    """Instance in integers of any length.

    Attributes
    ----------
    values, weights : int64[N], or Python integers where sums do not stay below 2**61
    capacity : int
    denominator : int or None
        Units of value in 1; None where values are integers.
    """

    values: NDArray[Any]
    weights: NDArray[Any]
    capacity: int
    denominator: int | None


class _Dual(NamedTuple):
    """Upper bound in units of value.

    Attributes
    ----------
    units : int
    method : str
    witness : mapping or None
    """

    units: int
    method: str
    witness: Mapping[str, Any] | None


def bound(instance: KnapsackInstance, clock: Clock) -> Bound | None:
    """Compute an upper bound, exact if the core programme ends; None without time for any.

    Parameters
    ----------
    instance : KnapsackInstance
    clock : Clock
        Ends the dynamic programme.
    """
    if clock.left < _ONCE + _ITEM * instance.size:
        return None
    data = _integers(instance)
    known = greedy(instance, lambda n: np.zeros(n))
    best, worth = _by_dual(data, known), _worth(data, known)
    bits = max(total_of(data.values), total_of(data.weights)).bit_length()
    if best.units > worth and bits <= _MOST_BITS:
        known, upper = CoreProgramme(data.values, data.weights, data.capacity, known).run(clock)
        worth = _worth(data, known)
        if upper <= best.units:
            best = _Dual(upper, "core programme" if upper == worth else "core programme, unfinished", None)
    limit, (units, method, witness) = _in_file_units(data, best.units), best
    return Bound.of(limit, "max", exact=units == worth, method=method, witness=witness, solution=known)


def recompute(instance: KnapsackInstance, witness: Mapping[str, Any]) -> Exact:
    """Evaluate the dual at given multipliers, without rounding.

    Raises
    ------
    DataError
        If the witness has no multipliers, or a negative one.
    """
    data = _integers(instance)
    mu, lam = _multiplier(witness.get("capacity_multiplier")), _multiplier(witness.get("item_multiplier", 0))
    known = witness.get("known")
    if mu < 0 or (lam < 0 and not isinstance(known, int)):
        raise DataError("witness: the multiplier of the capacity is negative", "witness")
    value = _in_file_units(data, _dual(data, mu, lam, known if lam < 0 else None))
    if abs(value) > 2**_BOUND_BITS:
        raise DataError("witness: gives no bound of any use", "witness")
    return value


def _multiplier(given: Any) -> Fraction:
    if isinstance(given, str | int) and _MULTIPLIER.fullmatch(text := str(given)):
        with suppress(ZeroDivisionError):
            return Fraction(text)
    raise DataError(f"witness: expected multipliers, got {shown(given)}", "witness")


def _by_dual(data: _Integers, known: NDArray[np.bool_]) -> _Dual:
    """Dantzig's bound; where values are integers the one with a cardinality if it is lower."""
    mu = _break_ratio(data, Fraction(0))
    best = _Dual(_dual(data, mu, Fraction(0), None), "dantzig", {"capacity_multiplier": str(mu)})
    if data.denominator is not None or len(data.values) > _CARDINALITY_UP_TO:
        return best
    worth = _worth(data, known)
    for target in (None, worth):
        lam = _best_item_multiplier(data, target)
        mu = _break_ratio(data, lam)
        value = _dual(data, mu, lam, target)
        if value < best.units:
            witness = {"capacity_multiplier": str(mu), "item_multiplier": str(lam)}
            more = {} if target is None else {"known": target}
            best = _Dual(value, "dantzig with cardinality", {**witness, **more})
    return best


def _worth(data: _Integers, chosen: NDArray[np.bool_]) -> int:
    return total_of(data.values[chosen])


def _in_file_units(data: _Integers, units: int) -> Exact:
    return units if data.denominator is None else Fraction(units, data.denominator)


def _integers(instance: KnapsackInstance) -> _Integers:
    exact, values = instance.exact, instance.exact_values
    if exact.integers is None:
        weights, capacity = exact.units, exact.capacity
    else:
        weights, capacity = np.array(exact.integers[:-1], dtype=object), exact.integers[-1]
    worths = values.units if total_of(values.units) < LIMIT else values.units.astype(object)
    return _Integers(worths, weights, capacity, None if values.whole else values.denominator)


def _dual(data: _Integers, mu: Fraction, lam: Fraction, known: int | None) -> int:
    """Evaluate the Lagrangian dual exactly, down to whole units of value.

    With `lam` > 0, of "at most as many items as can fit"; with `lam` < 0, of "at least as many as it takes
    to be worth more than `known`", which bounds all selections but those that are worth no more.
    """
    scale = mu.denominator * lam.denominator
    m, k = int(mu * scale), int(lam * scale)
    values, weights = data.values, data.weights
    if scale * int(values.max()) + m * int(weights.max()) + abs(k) >= LIMIT:
        values, weights = values.astype(object), weights.astype(object)
    gains = scale * values - k - m * weights
    count = 0 if lam == 0 else _most_items(data) if lam > 0 else _least_items(data, known or 0)
    value = (total_of(gains[gains > 0]) + m * data.capacity + k * count) // scale
    return value if known is None else max(value, known)


def _most_items(data: _Integers) -> int:
    """Most items that fit: the lightest ones."""
    return bisect_right(list(accumulate(sorted(data.weights.tolist()))), data.capacity)


def _least_items(data: _Integers, known: int) -> int:
    """Fewest items that are worth more than `known`: the most valuable ones."""
    worths = list(accumulate(sorted(data.values.tolist(), reverse=True)))
    return min(bisect_right(worths, known) + 1, len(worths))


def _break_ratio(data: _Integers, lam: Fraction) -> Fraction:
    """Best multiplier of the capacity: the ratio of the first item that no longer fits."""
    values, weights = _floats(data.values), _floats(data.weights)
    if lam:  # of integers only, which are not long
        values -= float(lam)
    order = _by_ratio(values, weights)
    broken = int(np.searchsorted(np.cumsum(data.weights[order]), data.capacity, side="right"))
    if broken == len(order):
        return Fraction(0)
    return max(Fraction(int(data.values[order[broken]]) - lam, int(data.weights[order[broken]])), Fraction(0))


def _by_ratio(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Items of any value by falling value per weight, int64[M]."""
    worthy = np.flatnonzero(values > 0)
    with np.errstate(divide="ignore"):
        return worthy[np.argsort(-values[worthy] / weights[worthy], kind="stable")]


def _floats(integers: NDArray[Any]) -> NDArray[np.float64]:
    """Integers as floats, in a unit in which they are no larger than floats can be."""
    unit = max(int(integers.max()).bit_length() - 1000, 0)
    return (integers >> unit if unit else integers).astype(np.float64)


def _best_item_multiplier(data: _Integers, known: int | None) -> Fraction:
    """Search for the multiplier of the number of items that makes the dual least; it is convex."""
    values, weights = _floats(data.values), _floats(np.append(data.weights, data.capacity))
    weights, capacity = weights[:-1], float(weights[-1])
    count = _most_items(data) if known is None else _least_items(data, known)
    top = float(values.max(initial=0.0))
    low, high = (0.0, top) if known is None else (-top, 0.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        taken = _fractional(values - middle, weights, capacity)
        if taken == count:
            break
        # The slope of the dual in lambda: the items allowed less the items taken.
        low, high = (middle, high) if taken > count else (low, middle)
    # At the kink itself, which bisection only approaches, rounding to a simple fraction lands.
    middle = (low + high) / 2
    grain = max(_GRAIN * top, 2.0**-20)
    simple = Fraction(round(middle / grain)) * Fraction(grain)
    return simple.limit_denominator(10_000)


def _fractional(values: NDArray[np.float64], weights: NDArray[np.float64], capacity: float) -> float:
    """Number of items in the fractional knapsack of these values."""
    order = _by_ratio(values, weights)
    loads = np.cumsum(weights[order])
    whole = int(np.searchsorted(loads, capacity, side="right"))
    if whole == len(order):
        return float(whole)
    before = loads[whole - 1] if whole else 0.0
    return float(whole + (capacity - before) / weights[order[whole]])
