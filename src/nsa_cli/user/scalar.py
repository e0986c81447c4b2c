"""A user's functions called in Python, one solution at a time, with what they give checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.user.calls import call, mistake, number_of
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.model import MoveModel
from nsa_cli.user.moves import Normal

#: What work arrays of whole numbers hold before a call.
_RUBBISH = cycle((1 << 40, 1 - (1 << 40)))

#: Draws of a candidate before all are looked at.
_TRIES = 8

#: Seconds of one start by `descent`: there is one for each chain.
_SECONDS = 0.04


class PlainMove(NamedTuple):
    """A move.

    Attributes
    ----------
    kind : int
        Number of its type.
    chosen : tuple of int
        Numbers of the candidates.
    """

    kind: int
    chosen: tuple[int, ...]


class Scalars:
    """Functions of a problem for one instance, in Python.

    Parameters
    ----------
    instance : UserInstance
    """

    def __init__(self, instance: UserInstance) -> None:
        self.instance, self.model = instance, instance.model
        self.data = instance.given()

    def _named(self, function: Callable[..., Any], *arguments: Any) -> Any:
        for name in self.model.scratch:  # so that nobody counts on what was there
            array = getattr(self.data, name)
            array.fill(np.nan if array.dtype.kind == "f" else next(_RUBBISH))
        return call(function, self.model.name_of(function), self.data, *arguments)

    def cost(self, x: Any) -> float:
        """Evaluate a solution."""
        cost = self.model.functions["cost"]
        return number_of(self._named(cost, x), cost, self.model.name_of(cost))

    def values(self, m: MoveModel, chosen: tuple[int, ...]) -> tuple[Any, ...]:
        """Give candidates as the user's functions get them; choices not made yet are -1, or NaN of steps."""
        made = zip(m.choices, chosen, strict=False)
        found = [float(choice.steps[c]) if isinstance(choice, Normal) else c for choice, c in made]
        rest = [np.nan if isinstance(choice, Normal) else -1 for choice in m.choices[len(chosen) :]]
        return (*found, *rest)

    def count(self, m: MoveModel, k: int) -> int:
        """Count the candidates of a choice."""
        return int(self.instance.counts[m.first + k])

    def is_allowed(self, x: Any, m: MoveModel, chosen: tuple[int, ...], candidate: int) -> bool:
        """Tell whether a candidate may be chosen after some others."""
        value = self.values(m, (*chosen, candidate))[len(chosen)]
        return all(self._named(f, x, self.values(m, chosen), value) for f in m.allowed)

    def features(self, x: Any, m: MoveModel, chosen: tuple[int, ...], candidate: int, heat: float) -> Any:
        """Give the features of a candidate."""
        assert m.features is not None
        value = self.values(m, (*chosen, candidate))[len(chosen)]
        return self._named(m.features, x, self.values(m, chosen), value, heat)

    def random_move(self, x: Any, rng: np.random.Generator, kind: int | None = None) -> PlainMove | None:
        """Draw a move; None where a choice has no candidate."""
        kind = int(rng.integers(len(self.model.moves))) if kind is None else kind
        m = self.model.moves[kind]
        chosen: tuple[int, ...] = ()
        for k in range(len(m.choices)):
            tried = (int(c) for c in rng.integers(self.count(m, k), size=_TRIES))
            found = next((c for c in tried if self.is_allowed(x, m, chosen, c)), None)
            if found is None:
                every = [c for c in range(self.count(m, k)) if self.is_allowed(x, m, chosen, c)]
                if not every:
                    return None
                found = every[int(rng.integers(len(every)))]
            chosen = (*chosen, found)
        return PlainMove(kind, chosen)

    def apply(self, x: Any, move: PlainMove) -> None:
        """Make a move; `x` is changed."""
        m = self.model.moves[move.kind]
        found = self._named(m.move.apply, x, self.values(m, move.chosen))
        if found is not None:
            what = f"{self.model.cls.__name__}: the move {m.move.name}"
            raise mistake(m.move.apply, what, "nothing, for it changes x", found)

    def delta(self, x: Any, move: PlainMove) -> float:
        """Compute what a move adds to the cost."""
        m = self.model.moves[move.kind]
        if m.delta is not None:
            found = self._named(m.delta, x, self.values(m, move.chosen))
            return number_of(found, m.delta, self.model.name_of(m.delta))
        moved = x.copy()
        self.apply(moved, move)
        return self.cost(moved) - self.cost(x)


def descent(instance: UserInstance, draws: Draws) -> Solution:
    """Improve a random solution by random moves, for a moment, where there is no time to compile."""
    x = instance.start(draws)
    rng = np.random.default_rng(int(draws(1)[0] * 2**53))
    scalars, end = Scalars(instance), time.monotonic() + _SECONDS
    while time.monotonic() < end:
        move = scalars.random_move(x, rng)
        if move is not None and scalars.delta(x, move) < 0:
            scalars.apply(x, move)
    return x
