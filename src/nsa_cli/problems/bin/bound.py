"""Lower bounds of bin packing: by functions of the weights, else by prices of the items.

Where neither a simple packing nor a short search has as few bins as dual feasible functions say
(`nsa_cli.problems.bin.dual_functions`), the dual of the covering programme gives each item a whole price, and
its patterns give a better packing (`nsa_cli.problems.bin.columns`). The prices, and what the items of a bin
cost at most, are the witness then: a dynamic programme checks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.draws import stream_keys
from nsa_cli.core.errors import DataError
from nsa_cli.core.instance import Solution
from nsa_cli.kernels.large_steps import ADVANCE, BEGIN, DESCEND, Tally, run_chain
from nsa_cli.problems.bin import dual_functions
from nsa_cli.problems.bin.dual_functions import integers
from nsa_cli.problems.bin.heuristics import best_fit_decreasing, first_fit_decreasing
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.large_step import run_of

#: The most items that more than functions is done for, and the most of them times different weights that are
#: priced: of more it takes seconds, and hundreds of megabytes.
_MOST_ITEMS, _MOST_ENTRIES = 20_000, 10_000_000

#: Steps of the search before, an item; and where the bound is the volume, which prices seldom raise.
_STEPS, _MORE_STEPS = 50, 300

#: First and last temperature of that search, times the items; and its steps between two looks.
_HOT, _COLD, _CHUNK = 0.03, 0.003, 1_000

#: Bits of all weights together, in which sums and differences of 64 bits stay.
_BITS = 61

#: States of the dynamic programme that checks prices, at most: some seconds.
_MOST_STATES = 2_000_000_000


def bound(instance: BinInstance, clock: Clock) -> Bound:
    """Bound by dual feasible functions; where packings have more bins, by column generation, too.

    Parameters
    ----------
    instance : BinInstance
    clock : Clock
        Ends the search, too.
    """
    best = dual_functions.bound(instance, clock)
    if instance.size > _MOST_ITEMS or clock.is_over():
        return best
    known = [heuristic(instance, np.zeros) for heuristic in (first_fit_decreasing, best_fit_decreasing)]
    if min(map(_bins, known)) == best.value:
        return best  # chains start there
    known.append(_searched(instance, int(best.value), min(known, key=_bins), best.method == "volume", clock))
    used, (weights, capacity) = _bins(known[-1]), short(instance)
    if used == best.value:
        return replace(best, method=f"{best.method}, large steps", exact=True, solution=known[-1])
    from nsa_cli.core.programme import has_solver

    if clock.is_over() or not has_solver() or len(weights) * len(np.unique(weights)) > _MOST_ENTRIES:
        return best
    from nsa_cli.problems.bin.columns import Columns

    columns = Columns(weights, capacity, int(best.value), clock)
    for packing in known:
        columns.add(packing)
    columns.bound(used)
    if columns.value > best.value:
        witness = {"prices": columns.prices.tolist(), "most": columns.most}
        best = Bound(value=columns.value, method="column generation", witness=witness)
    elif used > columns.value:
        best = replace(best, method=f"{best.method}, column generation")
    if used > best.value and (found := columns.packing()) is not None:
        known.append(found)
    feasible = [packing for packing in known if instance.violation(packing) is None]
    solution = min(feasible, key=_bins)
    return replace(best, exact=_bins(solution) == best.value, solution=solution)


def recompute(instance: BinInstance, witness: Mapping[str, Any]) -> int:
    """Evaluate one dual feasible function, or prices, item by item.

    Raises
    ------
    DataError
        If the witness names no dual feasible function, or a bin holds items that cost more than it says.
    """
    if "prices" not in witness:
        return dual_functions.recompute(instance, witness)
    weights, capacity = short(instance)
    prices, most = witness["prices"], witness.get("most", 0)
    if not _are_counts([most], 1, 1) or not _are_counts(prices, len(weights), 0):
        raise DataError("witness: expected a whole price for each item, and the most of a bin", "witness")
    if most * len(weights) > _MOST_STATES:
        raise DataError(f"witness: {most} is too much to be checked", "witness")
    # The least weight of items at each price together; what does not fit weighs a little more than a bin.
    least = np.full(most + 1, capacity + 1)
    least[0] = 0
    for weight, price in zip(weights.tolist(), prices, strict=True):
        beyond = least[max(most + 1 - price, 0) :]
        if price and (beyond <= capacity - weight).any():
            raise DataError(f"witness: a bin holds items that cost more than {most}", "witness")
        if 0 < price <= most:
            least[price:] = np.minimum(least[price:], least[:-price] + weight)
    return max(-(-sum(prices) // most), 1)


def short(instance: BinInstance) -> tuple[NDArray[np.int64], int]:
    """Weights and capacity in 61 bits; longer ones are rounded down, and it up: packings stay packings."""
    weights, capacity = integers(instance)
    total = sum(weights)
    shift = max(total.bit_length() - _BITS, 0)
    return np.array([w >> shift for w in weights], np.int64), -(-min(capacity, total) >> shift)


def _searched(instance: BinInstance, least: int, first: Solution, long: bool, clock: Clock) -> Solution:
    """Improve a packing by a chain of large steps, until it has as few bins as it can."""
    run, size = run_of(instance, least, first), instance.size
    tally = Tally(np.zeros(2), np.zeros(2, np.int64), stream_keys(0, np.zeros(1, np.int64))[0])
    steps = (_MORE_STEPS if long else _STEPS) * size
    temperatures = _HOT / size * (_COLD / _HOT) ** (np.arange(steps) / steps)
    run_chain(run.data, run.state, tally, temperatures[:0], BEGIN, 0)
    run_chain(run.data, run.state, tally, temperatures[:0], DESCEND, size)
    for k in range(0, steps, _CHUNK):
        run_chain(run.data, run.state, tally, temperatures[k : k + _CHUNK], ADVANCE, 0)
        if len(np.unique(run.best())) <= least or clock.is_over():
            break
    return np.unique(run.best(), return_inverse=True)[1].astype(np.int64)


def _bins(packing: Solution) -> int:
    """Count the bins of a packing that has none empty."""
    return int(packing.max()) + 1


def _are_counts(numbers: Any, count: int, least: int) -> bool:
    """Tell whether these are so many whole numbers, each at least so much."""
    if not isinstance(numbers, list) or len(numbers) != count:
        return False
    return all(isinstance(x, int) and not isinstance(x, bool) and x >= least for x in numbers)
