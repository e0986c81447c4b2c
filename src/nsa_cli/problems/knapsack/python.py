"""The 0-1 knapsack problem as a function of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from numpy.typing import ArrayLike

from nsa_cli.api import RunOptions, solve_keys, with_options
from nsa_cli.report.result import Result


@with_options(RunOptions)
def knapsack(
    values: ArrayLike,
    weights: ArrayLike,
    capacity: float,
    *,
    copies: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    name: str | None = None,
    best_known: float | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Choose the most valuable items within a capacity.

    Parameters
    ----------
    values, weights : array [N]
        Not negative.
    capacity : float
        Largest sum of weights.
    copies : array [N] of int, optional
        How often each item is there; solutions then count copies as items.
    names : sequence of N str, optional
    name : str, optional
        Of the instance.
    best_known : float, optional
        Value that the result's gap refers to; the bound by default.
    **options
        `RunOptions`, see `nsa_cli.solve`.

    Returns
    -------
    Result
        Whose `solution` is the chosen items, numbers from 0 in rising order.

    Raises
    ------
    InputError
        If the data make no instance; names the key.

    Examples
    --------
    >>> import nsa_cli as nsa
    >>> nsa.knapsack([60, 100, 120], [10, 20, 30], 50).solution.tolist()
    [1, 2]
    """
    keys = {"problem": "knapsack", "values": values, "weights": weights, "capacity": capacity}
    others = {"copies": copies, "names": names, "name": name, "best_known": best_known}
    return solve_keys(keys | others, ("weights",), options)
