"""Problems written by users: one class in one file, of functions that say everything for one solution.

`examples/qap.py` is one. What a problem's file needs is imported from here.
"""

from nsa_cli.user.moves import (
    MoveType,
    elements,
    flip,
    gap,
    gaussian,
    insert,
    move,
    normal,
    reassign,
    relocate,
    reverse,
    swap,
    two_opt,
    vehicle_at,
)
from nsa_cli.user.problem import UserProblem
from nsa_cli.user.solutions import assignment, permutation, reals, route, routes, subset

__all__ = [
    "MoveType",
    "UserProblem",
    "assignment",
    "elements",
    "flip",
    "gap",
    "gaussian",
    "insert",
    "move",
    "normal",
    "permutation",
    "reals",
    "reassign",
    "relocate",
    "reverse",
    "route",
    "routes",
    "subset",
    "swap",
    "two_opt",
    "vehicle_at",
]
