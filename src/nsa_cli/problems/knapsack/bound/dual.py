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
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound, rounded_outwards
from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import Number
from nsa_cli.problems.knapsack.bound.core import CoreProgramme
from nsa_cli.problems.knapsack.heuristics import greedy
from nsa_cli.problems.knapsack.instance import KnapsackInstance

#: Values are scaled to integers whose sum stays below this.
_VALUE_BITS = 60

#: Steps of the search for the cardinality's multiplier, each of which halves an interval.
_HALVINGS = 40

#: Seconds that the dual takes at least: once, and for each item.
_ONCE, _ITEM = 2e-4, 5e-7

#: Multipliers in witnesses: fractions and decimals, without exponents that say much in few digits.
_MULTIPLIER = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*|(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?)")
_DIGITS = 4000

#: A bound from a witness is below this power of two, and a float.
_BOUND_BITS = 1000

#: Multipliers are whole multiples of this.
_GRAIN = 2**-30


class _Integers(NamedTuple):
    """Instance in integers, values rounded up where they do not fit.

    Attributes
    ----------
    values, weights : list of int
    capacity : int
    shift : int
        Values are in units of ``2 ** -shift``.
    exact : bool
        Whether nothing was rounded.
    """

    values: list[int]
    weights: list[int]
    capacity: int
    shift: int
    exact: bool


def bound(instance: KnapsackInstance, seconds: float, stop: Callable[[], bool]) -> Bound | None:
    """Compute an upper bound, exact if the core programme ends; None without time for any.

    Parameters
    ----------
    instance : KnapsackInstance
    seconds : float
        Limit of the dynamic programme.
    stop : callable
        Ends it, too.
    """
    if seconds < _ONCE + _ITEM * instance.size:
        return None
    data = _integers(instance)
    known = greedy(instance, lambda n: np.zeros(n))
    best = _by_dual(instance, data, known)
    if best.proves(instance.objective(known), "max"):
        return Bound(value=best.value, method=best.method, exact=True, witness=best.witness, solution=known)
    if instance.exact.rounded:
        return best
    values, weights = (np.array(x, dtype=np.int64) for x in (data.values, data.weights))
    found = CoreProgramme(values, weights, data.capacity, known).run(seconds, stop)
    return _by_programme(instance, data, found.chosen, found.upper, best)


def recompute(instance: KnapsackInstance, witness: Mapping[str, Any]) -> Number:
    """Evaluate the dual at given multipliers.

    Raises
    ------
    DataError
        If the witness has no multipliers, or a negative one.
    """
    data = _integers(instance)
    mu = _multiplier(witness.get("capacity_multiplier"))
    lam = _multiplier(witness.get("item_multiplier", 0))
    known = witness.get("known")
    if mu < 0 or (lam < 0 and not isinstance(known, int)):
        raise DataError("witness: the multiplier of the capacity is negative", "witness")
    value = _dual(data, mu, lam, known if lam < 0 else None)
    if abs(value) > Fraction(2) ** (data.shift + _BOUND_BITS):
        raise DataError("witness: gives no bound of any use", "witness")
    return _rounded(instance, data, value)


def _multiplier(value: Any) -> Fraction:
    """Read a multiplier: ``7/3``, ``0.5``, or a number; no more digits than one of ours may have.

    Raises
    ------
    DataError
        If it is none.
    """
    text = str(value) if isinstance(value, str | float) or type(value) is int else ""
    if len(text) > _DIGITS or not _MULTIPLIER.fullmatch(text):
        raise DataError(f"witness: expected multipliers, got {shown(value)}", "witness")
    return Fraction(text)


def _by_dual(instance: KnapsackInstance, data: _Integers, known: NDArray[np.bool_]) -> Bound:
    """Dantzig's bound; of integers the one with a cardinality if it is lower."""
    mu = _break_ratio(data, Fraction(0))
    dantzig = _rounded(instance, data, _dual(data, mu, Fraction(0), None))
    plain = Bound(value=dantzig, method="dantzig", witness={"capacity_multiplier": str(mu)})
    if not isinstance(dantzig, int):
        return plain
    worth = sum(compress(data.values, known))
    for target in (None, worth):
        lam = _best_item_multiplier(data, target)
        mu = _break_ratio(data, lam)
        value = _rounded(instance, data, _dual(data, mu, lam, target))
        if value < plain.value:
            witness = {"capacity_multiplier": str(mu), "item_multiplier": str(lam)}
            more = {} if target is None else {"known": target}
            plain = Bound(value=value, method="dantzig with cardinality", witness={**witness, **more})
    return plain


def _by_programme(
    instance: KnapsackInstance, data: _Integers, chosen: NDArray[np.bool_], upper: int, best: Bound
) -> Bound:
    """The lower of the bounds by the core programme and by the dual."""
    value = _rounded(instance, data, Fraction(upper))
    worth = sum(compress(data.values, chosen))
    if worth == upper or value <= best.value:
        method = "core programme" if worth == upper else "core programme, unfinished"
        found = Bound(value=value, method=method, solution=chosen)
        # Values too far apart were rounded up: then the end of the programme need not be a proof.
        return replace(found, exact=worth == upper and found.proves(instance.objective(chosen), "max"))
    solved = best.proves(instance.objective(chosen), "max")
    return Bound(value=best.value, method=best.method, exact=solved, witness=best.witness, solution=chosen)


def _rounded(instance: KnapsackInstance, data: _Integers, value: Fraction) -> Number:
    """Bring a bound into the instance's units: down to whole numbers, or up to a float."""
    if instance.values.dtype == np.int64:
        return value.numerator // value.denominator
    return rounded_outwards(value / Fraction(2) ** data.shift, "max")


def _integers(instance: KnapsackInstance) -> _Integers:
    exact = instance.exact
    weights = list(exact.units.tolist() if exact.integers is None else exact.integers[:-1])
    capacity = exact.capacity if exact.integers is None else exact.integers[-1]
    if instance.values.dtype == np.int64:
        values = instance.values.tolist()
        return _Integers(values, weights, capacity, 0, True)
    places, total = _places(instance.values), _exponent(instance.values)
    shift = min(places, _VALUE_BITS - total)
    # Rounded up, also where next to nothing falls below what a float can be.
    scaled = np.maximum(np.ceil(np.ldexp(instance.values, shift)), instance.values > 0)
    return _Integers(scaled.astype(np.int64).tolist(), weights, capacity, shift, shift == places)


def _places(values: NDArray[np.float64]) -> int:
    """Count the binary digits behind the point that values have at most."""
    mantissa, exponent = np.frexp(values[values != 0])
    whole = (mantissa * 2.0**53).astype(np.int64)
    _, trailing = np.frexp((whole & -whole).astype(np.float64))
    return max(int((54 - exponent - trailing).max(initial=0)), 0)


def _exponent(values: NDArray[np.float64]) -> int:
    """Give a power of two that the sum of values is below."""
    total = float(np.ldexp(values, -64).sum()) * (1 + 1e-9)  # the sum itself may not be a float
    return int(np.frexp(total)[1]) + 64 if total > 0 else 1


def _dual(data: _Integers, mu: Fraction, lam: Fraction, known: int | None) -> Fraction:
    """Evaluate the Lagrangian dual exactly.

    With `lam` > 0, of "at most as many items as can fit"; with `lam` < 0, of "at least as many as it takes
    to be worth more than `known`", which bounds all selections but those that are worth no more.
    """
    scale = mu.denominator * lam.denominator
    m, k = int(mu * scale), int(lam * scale)
    gains = sum(
        gain for v, w in zip(data.values, data.weights, strict=True) if (gain := v * scale - k - m * w) > 0
    )
    count = 0 if lam == 0 else _most_items(data) if lam > 0 else _least_items(data, known or 0)
    value = Fraction(gains + m * data.capacity + k * count, scale)
    return value if known is None else max(value, Fraction(known))


def _most_items(data: _Integers) -> int:
    """Most items that fit: the lightest ones."""
    return bisect_right(list(accumulate(sorted(data.weights))), data.capacity)


def _least_items(data: _Integers, known: int) -> int:
    """Fewest items that are worth more than `known`: the most valuable ones."""
    worths = list(accumulate(sorted(data.values, reverse=True)))
    return min(bisect_right(worths, known) + 1, len(worths))


def _break_ratio(data: _Integers, lam: Fraction) -> Fraction:
    """Best multiplier of the capacity: the ratio of the first item that no longer fits."""
    values = np.array(data.values, dtype=np.float64) - float(lam)
    weights, _ = _float_weights(data)
    worthy = np.flatnonzero((values > 0) & (weights > 0))
    order = worthy[np.argsort(-values[worthy] / weights[worthy], kind="stable")]
    load = 0
    for i in order.tolist():
        load += data.weights[i]
        if load > data.capacity:
            return max(Fraction(data.values[i] - lam, data.weights[i]), Fraction(0))
    return Fraction(0)


def _float_weights(data: _Integers) -> tuple[NDArray[np.float64], float]:
    """Weights and capacity in a unit in which they are no larger than floats can be."""
    unit = max(max(data.weights).bit_length() - 1000, 0)
    weights = np.array([w >> unit for w in data.weights], dtype=np.float64)
    return weights, float(min(data.capacity, sum(data.weights)) >> unit)


def _best_item_multiplier(data: _Integers, known: int | None) -> Fraction:
    """Search for the multiplier of the number of items that makes the dual least; it is convex."""
    values, (weights, capacity) = np.array(data.values, dtype=np.float64), _float_weights(data)
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
    worthy = np.flatnonzero(values > 0)
    with np.errstate(divide="ignore"):
        order = worthy[np.argsort(-values[worthy] / weights[worthy], kind="stable")]
    loads = np.cumsum(weights[order])
    whole = int(np.searchsorted(loads, capacity, side="right"))
    if whole == len(order):
        return float(whole)
    before = loads[whole - 1] if whole else 0.0
    return float(whole + (capacity - before) / weights[order[whole]])
