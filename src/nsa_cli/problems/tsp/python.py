"""The travelling salesperson problem as a function of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from numpy.typing import ArrayLike

from nsa_cli.api import RunOptions, solve_keys, with_options
from nsa_cli.report.result import Result


@with_options(RunOptions)
def tsp(
    coords: ArrayLike | None = None,
    *,
    matrix: ArrayLike | None = None,
    edge_weight_type: str | None = None,
    no_edge: float | None = None,
    depot: int | str | None = None,
    open_path: bool = False,
    from_city: int | str | None = None,
    to_city: int | str | None = None,
    fixed_edges: Sequence[tuple[int | str, int | str]] | None = None,
    names: Sequence[str] | None = None,
    name: str | None = None,
    best_known: float | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Find a short tour through all cities.

    Parameters
    ----------
    coords : array [N, 2] or [N, 3], optional
        Places of the cities.
    matrix : array [N, N], optional
        Lengths instead, from row to column; infinity where there is no edge.
    no_edge : float, optional
        The length by which `matrix` says so, too, such as -1 or 9999.
    edge_weight_type : str, optional
        TSPLIB's name of the metric of `coords`, as ``EUC_2D``; real Euclidean lengths by default.
    depot : int or str, optional
        Where the tour begins: a city's number from 0, or its name; the first one by default.
    open_path : bool
        Whether the tour need not return to its start.
    from_city, to_city : int or str, optional
        Ends of an open path; one of them is enough. Cities are numbers from 0, or `names`.
    fixed_edges : sequence of pairs, optional
        Cities that must follow each other.
    names : sequence of N str, optional
    name : str, optional
        Of the instance.
    best_known : float, optional
        Length that the result's gap refers to; the bound by default.
    **options
        `RunOptions`, see `nsa_cli.solve`.

    Returns
    -------
    Result
        Whose `solution`, int64[N], is the cities in their order.

    Raises
    ------
    InputError
        If the data make no instance; names the key.

    Examples
    --------
    >>> import nsa_cli as nsa
    >>> nsa.tsp([[0, 0], [3, 4], [0, 4], [3, 0]]).objective
    14.0
    """
    keys = {"problem": "tsp", "coords": coords, "matrix": matrix, "edge_weight_type": edge_weight_type}
    keys |= {
        "no_edge": no_edge,
        "depot": depot,
        "open": open_path or None,
        "from": from_city,
        "to": to_city,
        "fixed_edges": fixed_edges,
    }
    keys |= {"names": names, "name": name, "best_known": best_known}
    return solve_keys(keys, ("coords", "matrix"), options)
