"""A user's functions called in Python, one solution at a time, with what they give checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.user.calls import call, kind_of, mistake
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.model import MoveModel
from nsa_cli.user.moves import LEVELS, Normal


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
    scale : float
        As ``data.scale``.
    """

    #: Draws of a candidate before all are looked at.
    _tries = 8

    def __init__(self, instance: UserInstance, scale: float = 1.0) -> None:
        self.instance, self.model = instance, instance.model
        self.data = instance.given(scale)

    def _named(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.model.scratch is not None:
            self.data.scratch.fill(np.nan)  # so that nobody counts on what was there
        return call(function, f"{self.model.cls.__name__}.{function.__name__}", self.data, *arguments)

    def number(self, function: Callable[..., Any], *arguments: Any) -> float:
        """Call a function that gives a number."""
        found = self._named(function, *arguments)
        value = found.item() if isinstance(found, np.generic) else found
        if isinstance(value, bool) or not isinstance(value, int | float):
            what = f"{self.model.cls.__name__}.{function.__name__}"
            raise mistake(function, what, "a number", kind_of(found))
        return value

    def cost(self, x: Any) -> float:
        """Evaluate a solution."""
        return self.number(self.model.functions["cost"], x)

    def values(self, m: MoveModel, chosen: tuple[int, ...]) -> tuple[Any, ...]:
        """Give candidates as the user's functions get them; choices not made yet are -1, or NaN of steps."""
        found: list[Any] = []
        for k, choice in enumerate(m.choices):
            if k >= len(chosen):
                found.append(np.nan if isinstance(choice, Normal) else -1)
            else:
                found.append(float(choice.steps[chosen[k]]) if isinstance(choice, Normal) else chosen[k])
        return tuple(found)

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
            tried = (int(c) for c in rng.integers(self.count(m, k), size=self._tries))
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

    def recombine(self, x: Any, other: Any) -> None:
        """Recombine a solution with another; `x` is changed."""
        function = self.model.functions["recombine"]
        if (found := self._named(function, x, other)) is not None:
            raise mistake(
                function, f"{self.model.cls.__name__}.recombine", "nothing, for it changes x", found
            )

    def delta(self, x: Any, move: PlainMove) -> float:
        """Compute what a move adds to the cost."""
        m = self.model.moves[move.kind]
        if m.delta is not None:
            return self.number(m.delta, x, self.values(m, move.chosen))
        moved = x.copy()
        self.apply(moved, move)
        return self.cost(moved) - self.cost(x)

    def reverse(self, x: Any, move: PlainMove) -> PlainMove:
        """Give the move that undoes one, before that is made."""
        m = self.model.moves[move.kind]
        if m.move.mirrored:
            return move._replace(chosen=(*move.chosen[:-1], LEVELS - 1 - move.chosen[-1]))
        assert m.move.reverse is not None
        found = self._named(m.move.reverse, x, self.values(m, move.chosen))
        if not isinstance(found, tuple) or len(found) != len(move.chosen):
            what = f"{self.model.cls.__name__}: reverse of {m.move.name}"
            raise mistake(m.move.reverse, what, f"a tuple of {len(move.chosen)} choices", found)
        return move._replace(chosen=tuple(int(c) for c in found))
