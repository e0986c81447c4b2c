"""A user's functions in Python: one solution at a time, and chains that anneal without a compiler.

Draws, moves and acceptance are those of the kernels, so the two mean the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.draws import step_uniforms
from nsa_cli.kernels.annealing import COLD, ChainArrays
from nsa_cli.user.calls import failure, mistake, number_of, quiet
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.moves import Normal

#: Steps of a chunk: the draws of all of them are made at once.
_MOST = 4096

#: Random moves whose mean change of cost is the unit of temperatures.
_SAMPLE = 16


class PlainMove(NamedTuple):
    """A move.

    Attributes
    ----------
    kind : int
        Number of its type.
    values : tuple of numbers
        What was chosen, as the user's functions get it.
    """

    kind: int
    values: tuple[Any, ...]


class _Choice(NamedTuple):
    """A choice of a type of moves: its place among those of all, candidates, steps, and what is not made."""

    place: int
    count: int
    steps: Sequence[float] | None
    blank: tuple[Any, ...]


class Scalars:
    """Functions of a problem for one instance, in Python.

    Parameters
    ----------
    instance : UserInstance
    """

    def __init__(self, instance: UserInstance) -> None:
        self.instance, self.model, self.data = instance, instance.model, instance.given()
        self.choices = [list(self._choices(m)) for m in self.model.moves]

    def _choices(self, m: Any) -> Iterator[_Choice]:
        steps = [choice.steps.tolist() if isinstance(choice, Normal) else None for choice in m.choices]
        blank = tuple(-1 if one is None else math.nan for one in steps)
        for k, place in enumerate(range(m.first, m.first + len(steps))):
            yield _Choice(place, int(self.instance.counts[place]), steps[k], blank[k:])

    def guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the user's functions; a mistake in one is named with its line."""
        try:
            with quiet():
                return function(*arguments)
        except (Exception, SystemExit) as error:
            raise failure(error, self.model.codes) from error

    def _called(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.model.scratch is not None:
            self.data.scratch.fill(np.nan)  # so that nobody counts on what was there
        return self.guarded(function, self.data, *arguments)

    def number(self, found: Any, function: Callable[..., Any]) -> Any:
        """Insist on a finite number."""
        if isinstance(found, np.generic):
            found = found.item()
        if type(found) in (int, float) and found - found == 0:
            return found
        name = self.model.name_of(function)
        number_of(found, function, name)
        raise mistake(function, name, "a finite number, large for what is not allowed", f"{found}")

    def cost(self, x: Any) -> Any:
        """Evaluate a solution."""
        cost = self.model.functions["cost"]
        return number_of(self._called(cost, x), cost, self.model.name_of(cost))

    def value(self, kind: int, k: int, c: int) -> Any:
        """Give candidate c of a choice as the user's functions get it."""
        steps = self.choices[kind][k].steps
        return c if steps is None else steps[c]

    def given(self, kind: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Add to what is chosen what is not yet: -1, or NaN of steps."""
        return values + self.choices[kind][len(values)].blank

    def is_allowed(self, x: Any, kind: int, values: tuple[Any, ...], value: Any) -> bool:
        """Tell whether something may be chosen after something else."""
        given = self.given(kind, values)
        return all(test(self.data, x, given, value) for test in self.model.moves[kind].allowed)

    def features(self, x: Any, kind: int, values: tuple[Any, ...], value: Any, heat: float) -> Any:
        """Give the features of a candidate."""
        return self._called(self.model.moves[kind].features, x, self.given(kind, values), value, heat)

    def propose(self, x: Any, u: Sequence[float], kind: int | None = None) -> PlainMove | None:
        """Draw a move by a number in (0, 1) for each choice of all types; None where one has no candidate."""
        if kind is None:
            kind = int(u[0] * len(self.choices)) if len(self.choices) > 1 else 0
        values: tuple[Any, ...] = ()
        tests, data = self.model.moves[kind].allowed, self.data
        for place, count, steps, blank in self.choices[kind]:
            c = int(share := u[place] * count)
            value = c if steps is None else steps[c]
            given = values + blank
            for test in tests:
                if not test(data, x, given, value):
                    break
            else:
                values += (value,)
                continue
            every = range(count) if steps is None else steps
            allowed = [other for other in every if self.is_allowed(x, kind, values, other)]
            if not allowed:
                return None
            values += (allowed[int((share - c) * len(allowed))],)
        return PlainMove(kind, values)

    def apply(self, x: Any, move: PlainMove) -> None:
        """Make a move; `x` is changed."""
        m = self.model.moves[move.kind]
        found = self._called(m.move.apply, x, move.values)
        if found is not None:
            what = f"{self.model.cls.__name__}: the move {m.move.name}"
            raise mistake(m.move.apply, what, "nothing, for it changes x", found)

    def delta(self, x: Any, move: PlainMove) -> Any:
        """Compute what a move adds to the cost."""
        m = self.model.moves[move.kind]
        if m.delta is not None:
            return number_of(self._called(m.delta, x, move.values), m.delta, self.model.name_of(m.delta))
        moved = x.copy()
        self.apply(moved, move)
        return self.cost(moved) - self.cost(x)

    def scale(self, x: Any) -> float:
        """Mean change of cost by the first random moves from a solution."""
        rng, x, changes = np.random.default_rng(0), x.copy(), []
        for _ in range(_SAMPLE):
            move = self.guarded(self.propose, x, rng.random(self.model.choices))
            if move is not None:
                changes.append(abs(self.delta(x, move)))
                self.apply(x, move)
        return float(np.mean([change for change in changes if change] or [1.0]))


class PlainChains:
    """Chains in Python; see `nsa_cli.anneal.chains.Chains`, and `nsa_cli.anneal.fused.FusedChains`.

    Parameters
    ----------
    instances : sequence of UserInstance
        One a chain.
    x : [B, N]
        First solutions.
    keys : int64[B]
        Random streams.
    unit : float, optional
        Of temperatures; by default the mean change of a random move.
    """

    phase = doing = ""
    most = _MOST

    def __init__(
        self,
        instances: Sequence[UserInstance],
        x: NDArray[Any],
        keys: NDArray[np.int64],
        unit: float | None = None,
    ) -> None:
        made = {id(instance): Scalars(instance) for instance in instances}
        self._scalars = [made[id(instance)] for instance in instances]
        first, self.step = np.array(x, order="C"), 0
        energy = np.array([float(s.cost(row)) for s, row in zip(self._scalars, first, strict=True)])
        scales = {id(s): unit or s.scale(row) for s, row in zip(self._scalars, first, strict=True)}
        self.scale = np.array([scales[id(s)] for s in self._scalars])
        self.state = ChainArrays(
            first, first.copy(), energy, energy.copy(), np.zeros(len(keys), np.int64), keys
        )
        self.x, self.best, self.accepted = self.state.x, self.state.best, self.state.accepted
        self.energy, self.best_energy = self.state.energy, self.state.best_energy
        self.choices = instances[0].model.choices

    @property
    def counted(self) -> int:
        return self.step

    def advance(self, temperatures: NDArray[np.float64], used: float = 0.0) -> None:
        """Take all chains through ``len(temperatures)`` steps, at temperatures in normalised units."""
        self.changes(temperatures)

    def changes(self, temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Advance; energy changes of the proposals, float64[K, B], 0 where there is none."""
        found = np.zeros((len(temperatures), len(self._scalars)))
        for row, scalars in enumerate(self._scalars):
            heats = np.maximum(temperatures * self.scale[row], COLD).tolist()
            draws = step_uniforms(self.state.keys[row], self.step, len(heats), self.choices + 1).tolist()
            scalars.guarded(self._advance, row, scalars, heats, draws, found[:, row])
        self.step += len(temperatures)
        return found

    def _advance(
        self, row: int, scalars: Scalars, heats: list[float], draws: list[list[float]], found: Any
    ) -> None:
        """Take a chain through some steps, as `nsa_cli.kernels.annealing.advance` does."""
        x, best_x, moves, data = self.x[row], self.best[row], scalars.model.moves, scalars.data
        cost, propose, number = scalars.model.functions["cost"], scalars.propose, scalars.number
        current, best = self.energy[row].item(), self.best_energy[row].item()
        now, before = None, x.copy()  # the cost of x, where it is known
        for k, (u, heat) in enumerate(zip(draws, heats, strict=True)):
            if (move := propose(x, u)) is None:
                continue
            m = moves[move.kind]
            if m.delta is None:
                now = number(cost(data, x), cost) if now is None else now
                before[:] = x
                m.move.apply(data, x, move.values)
                then = number(cost(data, x), cost)
                change = then - now
            else:
                change = number(m.delta(data, x, move.values), m.delta)
            found[k] = change
            if change > 0 and not math.log(u[-1]) < -change / heat:
                if m.delta is None:
                    x[:] = before
                continue
            if m.delta is None:
                now = then
            else:
                m.move.apply(data, x, move.values)
                now = None
            current += change
            self.energy[row] = current
            self.accepted[row] += 1
            if current < best:
                self.best_energy[row] = best = current
                best_x[:] = x
