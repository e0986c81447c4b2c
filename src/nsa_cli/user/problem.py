"""Base class of a problem written by a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from nsa_cli.user.moves import MoveType
from nsa_cli.user.solutions import Count, SolutionKind


class UserProblem:
    """Base class of a problem in a file, which is named as ``FILE.py:CLASS``.

    A class of attributes and functions. The functions take no ``self``: each is for one solution `x` of one
    instance, whose data are ``data.KEY``: numbers, or NumPy arrays of int64 or float64, not to be changed.
    Those of the second list are plain loops over numbers, which make no arrays: Numba compiles them, with the
    functions of the same folder that they call. Room for intermediate results is ``data.scratch``.

    Attributes
    ----------
    name, summary : str
    sense : {'min', 'max'}
        With ``max`` the reported objective is the cost with its sign turned.
    keys : tuple of str
        Keys of an instance's data in JSON: numbers, or lists of them nested to any depth.
    solution : SolutionKind
        ``permutation("flow")``, or `routes`, `subset`, `assignment`, `reals`.
    moves : tuple of MoveType
        Ready-made ones (`swap`, `insert`, `reverse`, `flip`, `reassign`, `gaussian`, `relocate`, `two_opt`),
        or of one's own (`move`). Of several types each is proposed as often.
    feature_names : tuple of str
        What a learnt policy sees of each candidate; `features` gives one number for each.
    scratch : dict, int, str or callable, optional
        Work arrays, which functions may write to: ``{"load": ("vehicles", int)}`` gives an array
        ``data.load`` of int64, as long as `solution` would count ``"vehicles"``; of float64 with ``float``.
        ``scratch = "vehicles"`` is short for one of float64 that is called ``data.scratch``. What is in them
        when a function is called is undefined.
    compiled : bool
        False where functions are to run in Python: a simulator, say. What Numba cannot compile does so in
        any case.
    generate : function, for training and for ``nsa generate``
        ``generate(size, rng)`` draws the data of a random instance, as a dict.
    start : function, optional
        ``start(data, draws)`` makes a first solution, an array or a list; ``draws(n)`` gives n uniform
        numbers of this chain's own. By default a random solution.
    check : function, optional
        ``check(data, x)`` gives the reason why an answer is infeasible, or None. The search does not know it.
    bound : function, optional
        ``bound(data)`` gives a bound of the objective from below (with ``max``: from above), or None.

    cost : function, required
        ``cost(data, x)``, which is minimised.
    violation : function, optional
        ``violation(data, x)``: how much `x` breaks rules, 0 if it does not. The search adds it to the cost
        with a weight that it adapts, and takes the best solution that breaks none.
    delta : function, optional
        ``delta(data, x, move)``: what the move would add to the cost, where it can be had cheaper than by two
        costs. Of several types of moves that choose different things: ``delta_NAME``. So for the next two.
    allowed : function, optional
        ``allowed(data, x, chosen, candidate)``: whether a candidate leads to feasible solutions; `chosen` has
        the choices of the move made before, and -1 for others. By default all do.
    features : function, for policies
        ``features(data, x, chosen, candidate, temperature)`` gives a tuple of numbers; ``data.scale`` is the
        mean change of cost of a random move, in whose units costs look alike for instances of any size.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    sense: ClassVar[Literal["min", "max"]] = "min"
    keys: ClassVar[tuple[str, ...]]
    solution: ClassVar[SolutionKind]
    moves: ClassVar[tuple[MoveType, ...]]
    feature_names: ClassVar[tuple[str, ...]] = ()
    scratch: ClassVar[Mapping[str, tuple[Count, type]] | Count | None] = None
    compiled: ClassVar[bool] = True
    generate: ClassVar[Callable[..., Any] | None] = None
    start: ClassVar[Callable[..., Any] | None] = None
    check: ClassVar[Callable[..., Any] | None] = None
    bound: ClassVar[Callable[..., Any] | None] = None
    cost: ClassVar[Callable[..., Any]]
    violation: ClassVar[Callable[..., Any] | None] = None
    delta: ClassVar[Callable[..., Any] | None] = None
    allowed: ClassVar[Callable[..., Any] | None] = None
    features: ClassVar[Callable[..., Any] | None] = None
