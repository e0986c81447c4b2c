"""Rosenbrock's function as a function of Python."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from nsa_cli.api import RunOptions, solve_keys, with_options
from nsa_cli.report.result import Result


@with_options(RunOptions)
def rosenbrock(
    a: float = 1.0,
    b: float = 100.0,
    *,
    dim: int | None = None,
    x0: ArrayLike | None = None,
    name: str | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Find a low point of the sum over i of ``(a - x[i])^2 + b (x[i+1] - x[i]^2)^2``.

    Parameters
    ----------
    a, b : float
        Parameters; `b` is not negative.
    dim : int, optional
        Dimensions, from 2 on; those of `x0`, or else 2, by default.
    x0 : array [dim], optional
        Where to start; a standard normal point by default.
    name : str, optional
        Of the instance.
    **options
        `RunOptions`, see `nsa_cli.solve`.

    Returns
    -------
    Result
        Whose `solution`, float64[dim], is the point.

    Raises
    ------
    InputError
        If the data make no instance; names the key.
    """
    keys = {"problem": "rosenbrock", "a": a, "b": b, "dim": dim, "x0": x0, "name": name}
    return solve_keys(keys, (), options)
