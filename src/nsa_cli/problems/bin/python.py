"""Bin packing as a function of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from numpy.typing import ArrayLike

from nsa_cli.api import RunOptions, solve_keys, with_options
from nsa_cli.report.result import Result


@with_options(RunOptions)
def bin_packing(
    sizes: ArrayLike,
    capacity: float = 1,
    *,
    copies: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    name: str | None = None,
    best_known: int | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Pack all items into few bins.

    Parameters
    ----------
    sizes : array [N]
        Of the items: not negative, none above `capacity`.
    capacity : float
        Of each bin.
    copies : array [N] of int, optional
        How often each item is there; solutions then count copies as items.
    names : sequence of N str, optional
    name : str, optional
        Of the instance.
    best_known : int, optional
        Number of bins that the result's gap refers to; the bound by default.
    **options
        `RunOptions`, see `nsa_cli.solve`.

    Returns
    -------
    Result
        Whose `solution`, int64[N], is the bin of each item, numbers from 0.

    Raises
    ------
    InputError
        If the data make no instance; names the key.

    Examples
    --------
    >>> import nsa_cli as nsa
    >>> nsa.bin_packing([6, 5, 4, 5], 10).solution.tolist()
    [0, 1, 0, 1]
    """
    keys = {"problem": "bin", "sizes": sizes, "capacity": capacity, "copies": copies}
    keys |= {"names": names, "name": name, "best_known": best_known}
    return solve_keys(keys, ("sizes",), options)
