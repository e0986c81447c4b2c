"""Simple lower bounds of bin packing: volume, L2 of Martello and Toth, dual feasible functions.

A dual feasible function maps weights (in bins) so that what fits into one bin still does; the volume of the
mapped items, rounded up, is then a bound. Two families are tried, each after cutting small items off:
``cut`` at eps drops items below eps and makes those above ``1 - eps`` fill a bin, which alone gives L2
(Martello and Toth 1990, section 8.3); ``step`` k rounds to k-ths (u^(k) of Fekete and Schepers 2001, "New
classes of fast lower bounds for bin packing problems"). The parameters are the witness.

All sums are of small integers or of exact integer weights: nothing is rounded but the final count, up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError, shown
from nsa_cli.problems.bin.instance import BinInstance

#: Largest k of the step functions tried.
_MOST_STEPS = 50

#: Bits of the capacity, and of the sum of all weights, with which products with k and sums fit into 64 bits.
_CAPACITY_BITS, _SUM_BITS = 55, 61

#: The most items whose weights stay exact where these do not fit: Python's integers take far longer. Of more
#: items weights are rounded down, which changes hardly a bound.
_MOST_LONG = 10_000


class _Sorted(NamedTuple):
    """Weights by rising size, in integer units.

    Attributes
    ----------
    weights : int64[N], or Python integers where that is too short
    capacity : int
    cuts : like `weights`, [M]
        0, the distinct weights of at most half a bin, and half a bin: the parameters eps that matter.
    first, last : int64[M]
        The items that neither are dropped nor fill a bin, for each cut: from the first to before the last.
    """

    weights: NDArray[Any]
    capacity: int
    cuts: NDArray[Any]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def bound(instance: BinInstance, clock: Clock) -> Bound:
    """Take the largest of the bounds; the first in order of simplicity where several are equal.

    Parameters
    ----------
    instance : BinInstance
    clock : Clock
        Ends the search, too.
    """
    weights, whole = integers(instance)
    capacity, total = max(whole, 1), sum(weights)
    best = Bound(value=max(_up(total, capacity), 1), method="volume", witness={"cut": 0})
    shift = max(capacity.bit_length() - _CAPACITY_BITS, total.bit_length() - _SUM_BITS, 0)
    dtype: Any = np.int64
    if shift and instance.size <= _MOST_LONG:
        shift, dtype = 0, object
    data = _sorted(np.array([w >> shift for w in weights], dtype=dtype), -(-whole >> shift))

    def witness(cut: int) -> dict[str, Any]:
        # The same items are dropped; the others weigh more, and a bin holds less: the bound is no lower.
        return {"cut": min(cut << shift, (capacity + 1) // 2)}

    cut, value = _best_cut(data, data.weights, max(data.capacity, 1))
    if value > best.value:
        best = Bound(value=value, method="martello-toth L2", witness=witness(cut))
    for k in range(1, _MOST_STEPS + 1):
        if clock.reason():
            break
        cut, value = _best_cut(data, _rounded(data, k), k * (k + 1))
        if value > best.value:
            best = Bound(value=value, method="dual feasible function", witness={**witness(cut), "steps": k})
    return best


def recompute(instance: BinInstance, witness: Mapping[str, Any]) -> int:
    """Evaluate one dual feasible function, item by item.

    Raises
    ------
    DataError
        If the witness names no dual feasible function.
    """
    weights, capacity = integers(instance)
    cut, k = witness.get("cut"), witness.get("steps")
    if not isinstance(cut, int) or not 0 <= 2 * cut <= capacity + 1:
        raise DataError(f"witness: expected a cut of at most half a bin, got {shown(cut)}", "witness")
    if k is not None and (not isinstance(k, int) or k < 1):
        raise DataError(f"witness: expected a number of steps, got {shown(k)}", "witness")
    kept: list[int] = [w for w in weights if w >= cut and w > 0]
    whole = sum(w > capacity - cut for w in kept)
    rest = [w for w in kept if w <= capacity - cut]
    if k is None:
        return max(whole + _up(sum(rest), max(capacity, 1)), 1)
    mapped = [divmod((k + 1) * w, max(capacity, 1)) for w in rest]
    # In units of 1 / (k (k + 1)): a whole number of (k + 1)-ths stays, others go down to k-ths.
    total = sum(share * (k if left == 0 else k + 1) for share, left in mapped)
    return max(whole + _up(total, k * (k + 1)), 1)


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def integers(instance: BinInstance) -> tuple[Sequence[int], int]:
    """Weights and capacity in exact integer units."""
    exact = instance.exact
    if exact.integers is None:
        return exact.units.tolist(), exact.capacity
    return exact.integers[:-1], exact.integers[-1]


def _sorted(weights: NDArray[Any], capacity: int) -> _Sorted:
    array = np.sort(weights)
    # The last cut leaves the items of more than half a bin, which take a bin each.
    cuts = np.unique(np.concatenate([[0], array[2 * array <= capacity], [(capacity + 1) // 2]]))
    first = np.searchsorted(array, cuts, side="left")
    last = np.searchsorted(array, capacity - cuts, side="right")
    return _Sorted(array, capacity, cuts, first, last)


def _best_cut(data: _Sorted, mapped: NDArray[Any], whole: int) -> tuple[int, int]:
    """Find the best eps, and its bound.

    Parameters
    ----------
    data : _Sorted
    mapped : int64[N], or Python integers
        The mapped weights of items that neither are dropped nor fill a bin.
    whole : int
        What a bin holds of them.
    """
    first, last = data.first, data.last
    sums = np.append(0, np.cumsum(mapped))
    bins = len(mapped) - last + -(-(sums[last] - sums[first]) // whole)
    best = int(np.argmax(bins))
    return int(data.cuts[best]), int(bins[best])


def _rounded(data: _Sorted, k: int) -> NDArray[np.int64]:
    """Round weights to k-ths, in units of 1 / (k (k + 1))."""
    scaled, capacity = data.weights * (k + 1), max(data.capacity, 1)
    share = (scaled // capacity).astype(np.int64)
    return np.asarray(share * np.where(scaled % capacity == 0, k, k + 1))
