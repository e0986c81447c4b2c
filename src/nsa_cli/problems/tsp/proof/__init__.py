"""Proofs of optimality of tours: a linear programme with cuts, and branch and bound.

A tour gives each edge 1 or 0, so that each city has two edges (Dantzig, Fulkerson and Johnson 1954). Without
whole numbers that is a linear programme, whose optimum is a bound; inequalities that all tours obey and its
solution does not (`cuts`) raise it. HiGHS solves it on few edges (`relaxation`). What is told of it is
computed from its dual values, rounded to whole numbers, over all edges (`lengths`): any such values give a
valid bound. Edges whose reduced cost alone would lift the bound to the best tour's length are in no better
tour, and drop out; what then is open, is decided by cases: an edge is in the tour or is not (`search`).
A `certificate` has the values of all cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nsa_cli.core.clock import Clock
from nsa_cli.core.exact import Exact
from nsa_cli.core.extras import is_installed
from nsa_cli.core.instance import Solution

if TYPE_CHECKING:
    from nsa_cli.problems.tsp.instance import TspInstance
    from nsa_cli.problems.tsp.proof.search import Proof

#: Cities from and up to which there are proofs: fewer have one tour, and of more a bound takes minutes.
_FEWEST, _MOST = 4, 10_000


def proof_of(instance: TspInstance, tour: Solution, clock: Clock, effort: float = math.inf) -> Proof | None:
    """Prepare a proof; None where there is no solver, kernels lack lengths, or the tour is none.

    Parameters
    ----------
    instance : TspInstance
        As searches see it.
    tour : int64[N]
    clock : Clock
    effort : float
        In rows and columns of programmes that are solved.
    """
    if not _FEWEST <= instance.size <= _MOST or not is_installed("highspy"):
        return None
    if instance.violation(tour) is not None:
        return None
    from nsa_cli.problems.tsp.proof.lengths import whole_edges
    from nsa_cli.problems.tsp.proof.search import Proof

    edges = whole_edges(instance)
    return None if edges is None else Proof(edges, tour, clock, effort)


def recompute(instance: TspInstance, witness: Mapping[str, Any]) -> Exact:
    """Compute the optimum from the certificate of a proof.

    Raises
    ------
    DataError
        If it proves nothing about this instance.
    """
    from nsa_cli.problems.tsp.proof.certificate import check

    return check(instance, witness)
