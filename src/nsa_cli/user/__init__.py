"""Problems written by users: one class in one file, of functions that say everything for one solution.

`examples/qap.py` is one. What a problem's file needs is imported from here.
"""

from nsa_cli.user.moves import (
    MoveType,
    elements,
    flip,
    gaussian,
    insert,
    move,
    normal,
    reassign,
    reverse,
    swap,
)
from nsa_cli.user.problem import UserProblem
from nsa_cli.user.solutions import assignment, permutation, reals, subset

__all__ = [
    "MoveType",
    "UserProblem",
    "assignment",
    "elements",
    "flip",
    "gaussian",
    "insert",
    "move",
    "normal",
    "permutation",
    "reals",
    "reassign",
    "reverse",
    "subset",
    "swap",
]
