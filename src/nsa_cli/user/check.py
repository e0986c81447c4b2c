"""Checks of a user's functions in one state of a random walk, in plain Python.

Each names the case in which something is wrong, and the line to mend.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.core.errors import shown
from nsa_cli.user.calls import MistakeError
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.model import FINITE, MoveModel
from nsa_cli.user.scalar import Scalars

#: Moves from a solution that are looked at, in every run.
FIRST = 8

#: Seconds in which a case is sought that explains a sum.
_LONGEST = 1.0

#: Candidates whose features are looked at, at most.
_CANDIDATES = 20

#: Relative rounding errors of sums of float64; far below what a wrong formula gives.
_ROUNDING = 1e-7

#: A temperature to show.
_HEAT = 0.3


class State(NamedTuple):
    """A solution on a random walk, and a move from there.

    Attributes
    ----------
    scalars : Scalars
    x : array[N]
    move : tuple
        Number of its type, and what was chosen.
    """

    scalars: Scalars
    x: Any
    move: tuple[int, tuple[Any, ...]]

    @property
    def instance(self) -> UserInstance:
        """The instance."""
        return self.scalars.instance

    @property
    def type(self) -> MoveModel:
        """The type of the move."""
        return self.scalars.model.moves[self.move[0]]

    def moved(self) -> Any:
        """Make the move on a copy."""
        x = self.x.copy()
        self.scalars.apply(x, self.move)
        return x

    def wrong(self, function: Any, expected: str, got: str, mend: str = "") -> MistakeError:
        """Make the error of a function in this case."""
        x = shown(self.x.tolist(), 60)
        made = ", ".join(f"{value:g}" for value in self.move[1])
        case = f"size {self.instance.size}, x = {x}, {self.type.move.name} ({made})"
        return self.instance.model.mistake(function, expected, f"{got}, at {case}{mend}")


def walk(instance: UserInstance, count: int, seed: int = 0, x: Any = None) -> Iterator[State]:
    """Give random moves from `x`, or from a start, each made before the next; fewer where there is none."""
    rng, scalars = np.random.default_rng(seed), Scalars(instance)
    x = instance.start(lambda n: rng.random(n)) if x is None else x
    for turn in range(count):
        move = scalars.proposed(x, rng, turn % len(instance.model.moves))
        if move is not None:
            state = State(scalars, x.copy(), move)
            yield state
            x = state.moved()


def check_changes(state: State) -> None:
    """`delta` is the difference of costs, by whatever `apply` does."""
    s, m = state.scalars, state.type
    if m.delta is None:
        return
    x = state.x.copy()
    said = s.delta(x, state.move)
    _untouched(state, m.delta, x)
    before, after = s.cost(state.x), s.cost(state.moved())
    if not close(said, after - before, before, after):
        costs = f"{after - before:g} (from {before:g} to {after:g})"
        mend = "; mend delta, or leave it out"
        raise state.wrong(m.delta, f"the change of cost by the move, {costs}", f"{said:g}", mend)


def check_feasible(state: State) -> None:
    """`check` gives a reason, or None."""
    state.instance.violation(state.x)


def check_moved(state: State) -> None:
    """Moves lead to solutions; feasible they need not be, as the cost may have a penalty."""
    if (why := state.instance.fault(state.moved())) is not None:
        mend = "; mend the move, or forbid it in allowed"
        raise state.wrong(
            state.type.move.apply, "a solution after an allowed move", f"one of which {why}", mend
        )


def check_costs(state: State) -> None:
    """Costs are finite numbers, the same each time, and leave the solution alone."""
    x, cost = state.x.copy(), state.scalars.model.functions["cost"]
    first = state.scalars.cost(x)
    _untouched(state, cost, x)
    if not np.isfinite(first):
        raise state.wrong(cost, FINITE, f"{first}")
    if first != (again := state.scalars.cost(x)):
        raise state.wrong(cost, "the same number each time", f"{first}, then {again}")


def check_features(state: State) -> None:
    """Features are as many finite numbers as there are names for."""
    s, m, (kind, values) = state.scalars, state.type, state.move
    if m.features is None:
        return
    names = s.model.cls.feature_names
    for k in range(len(values)):
        for c, value in enumerate(s.choices[kind][k].every[:_CANDIDATES]):
            if not s.model.call(s.is_allowed, state.x, kind, values[:k], value):
                continue
            x = state.x.copy()
            found = s.features(x, kind, values[:k], value, _HEAT)
            _untouched(state, m.features, x)
            name = list(m.move.choices)[k]
            if not isinstance(found, tuple) or len(found) != len(names):
                expected = f"a tuple of {len(names)} numbers ({', '.join(names)})"
                raise state.wrong(m.features, expected, f"{shown(found)} of {name} {c}")
            for feature, value in zip(names, found, strict=True):
                if not np.isreal(value) or not np.isfinite(value):
                    raise state.wrong(m.features, f"a finite {feature}", f"{value} of {name} {c}")


def check_bound(state: State) -> None:
    """No solution beats the bound."""
    model, value = state.scalars.model, state.instance.bound()
    if value is None or state.instance.violation(state.x) is not None:
        return
    objective = state.instance.objective(state.x)
    if objective < value if model.cls.sense == "min" else objective > value:
        way = "at most" if model.cls.sense == "min" else "at least"
        expected = f"{way} the objective of any solution"
        raise state.wrong(model.functions["bound"], expected, f"{value:g} where one has {objective:g}")


def _untouched(state: State, function: Any, x: Any) -> None:
    if not np.array_equal(x, state.x):
        raise state.wrong(function, "x as it was", "a change of x")


def close(said: float, expected: float, *sizes: float) -> bool:
    """Tell whether two changes are the same up to rounding errors of numbers of some sizes."""
    return abs(said - expected) <= _ROUNDING * max(map(abs, (said, expected, *sizes)))


#: In the order in which they are made: each needs what those before have found right.
CHECKS = (check_costs, check_feasible, check_moved, check_changes, check_features, check_bound)


def look_around(
    instance: UserInstance, seconds: float, xs: Sequence[Any] = (None,), turns: int | None = None
) -> None:
    """Check random moves: what a search would do with a wrong change is plausible nonsense.

    Parameters
    ----------
    instance : UserInstance
    seconds : float
        At most.
    xs : sequence of solution
        From each in turn; from a start by default.
    turns : int, optional
        So many, at most.

    Raises
    ------
    MistakeError
        If a cost or a change is wrong, or a move leads to no solution.
    """
    end = time.monotonic() + seconds
    for seed in itertools.count() if turns is None else range(turns):
        for x in xs:
            for state in walk(instance, FIRST, seed, x):
                for check in CHECKS[:4]:
                    check(state)
                if time.monotonic() > end:
                    return


def check_compiled(instance: UserInstance, x: Any, said: float) -> None:
    """Compiled code says what Python says."""
    scalars, cost = Scalars(instance), instance.model.functions["cost"]
    if not close(said, expected := scalars.cost(x)):
        case = f"size {instance.size}, x = {shown(x.tolist(), 60)}"
        got = f"{said:g} in compiled code, where whole numbers have 64 bits, at {case}"
        raise instance.model.mistake(cost, f"{expected:g}, as in Python", got)


def check_sum(instance: UserInstance, x: Any, said: float, cost: float, first: float = 0.0) -> None:
    """Refuse changes that do not add up to the cost of a solution, after they began at another one.

    Raises
    ------
    MistakeError
        Names a case nearby in which a function is wrong, if one is found.
    """
    if not close(said, cost, first):
        look_around(instance, _LONGEST, [x])
        function = instance.model.moves[0].delta or instance.model.functions["cost"]
        expected = f"changes that add up to the cost, {cost:g}"
        raise instance.model.mistake(function, expected, f"{said:g}")
