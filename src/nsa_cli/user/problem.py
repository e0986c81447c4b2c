"""Base class of a problem written by a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from nsa_cli.user.moves import MoveType
from nsa_cli.user.solutions import Count, SolutionKind


class UserProblem:
    """Base class of a problem in a file, which is named as ``FILE.py:CLASS``.

    Everything is an attribute or a function of the class; the first five are required. The functions take no
    ``self``. Each is for one solution `x` of one instance, whose data are ``data.KEY``: numbers, or NumPy
    arrays of int64 or float64, which no function may change. Names that begin with ``_`` are yours. Any other
    unknown function is refused, so that a misspelt one is not overlooked.

    Numba compiles the functions that the search calls (`cost` to `features` in the list), with the functions
    of the same folder that they call. What it cannot compile runs in Python.

    Attributes
    ----------
    name : str
        What results call the problem.
    keys : tuple of str
        Keys of an instance's data in JSON: numbers, or lists of them nested to any depth. ``()`` for a
        problem without data.
    solution : SolutionKind
        ``permutation("flow")``, or `routes`, `subset`, `assignment`, `reals`.
    moves : tuple of MoveType
        Ready-made ones, or your own (`move`). Each is proposed equally often.
    cost : function
        ``cost(data, x)``, which the search minimises.

    violation : function or None
        ``violation(data, x)``: how much `x` breaks rules, 0 if it breaks none. The search adds it to the cost
        with a weight that it adapts, and takes the best solution that breaks none.
    delta : function or None
        ``delta(data, x, move)``: what the move adds to the cost, if this takes less work than a new cost. If
        moves choose different things, each has its own, ``delta_NAME``; likewise `allowed` and `features`.
    allowed : function or None
        ``allowed(data, x, chosen, candidate)``: whether a move may choose the candidate. `chosen` has the
        choices of the move made before, and -1 for the others. A chain stays at a solution without an
        allowed move.
    features : function or None
        ``features(data, x, chosen, candidate, temperature)`` gives a policy a number for each of
        `feature_names`. ``data.scale`` is the mean change of cost of a random move.
    feature_names : tuple of str
        What a policy sees of each candidate.

    start : function or None
        ``start(data, draws)`` makes a first solution, an array or a list. ``draws(n)`` gives n uniform
        numbers of this chain's own. By default a random solution.
    check : function or None
        ``check(data, x)`` gives the reason why an answer is infeasible, or None. The search does not know it.
    bound : function or None
        ``bound(data)`` gives a number that no objective can beat, or None.
    generate : function or None
        ``generate(size, rng)`` draws the data of a random instance, as a dict; `rng` is a generator of NumPy.
        Trainings, ``nsa generate`` and ``nsa check-problem`` without files need it.
    scratch : dict or int or str or function
        Work arrays, which functions may write to: ``{"load": ("vehicles", int)}`` gives an array
        ``data.load`` of int64, as long as `solution` would count ``"vehicles"``; of float64 with ``float``.
        ``scratch = "vehicles"`` is short for one of float64 that is called ``data.scratch``. Their contents
        are undefined when a function is called.
    sense : {'min', 'max'}
        With ``max`` the reported objective is the cost with its sign turned.
    compiled : bool
        False if all functions are to run in Python: a simulator, say.
    summary : str
        A line for lists of problems.
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
