"""A user's functions in Python: one solution at a time, and chains that anneal without a compiler.

Draws, moves and acceptance are those of the kernels, so the two mean the same.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.draws import step_uniforms
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.kernels.annealing import COLD, ChainArrays
from nsa_cli.user.calls import failure, mistake, number_of, quiet
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.moves import Normal, reassign, swap

#: Steps of a chain before the next one's, and before a look at the clock, at most: their draws are made at
#: once.
_MOST = 4096

#: Seconds in which costs of lists and of arrays are compared.
_MOMENT = 0.005

#: Seconds of a search, and steps of one at least.
_SECONDS, _FEW = 2.0, 100

#: Seconds of steps that tell the pace.
_LOOK = 0.05

#: Random moves whose mean change of cost is the unit of temperatures, and one at which all are made.
_SAMPLE, _HOT = 16, 1e300


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
    """A choice of a type of moves.

    Attributes
    ----------
    place : int
        Among those of all types.
    number : int
        Of candidates.
    steps : sequence of float, optional
        Which these are, if not numbers from 0.
    blank : tuple of numbers
        What stands for this choice and the next ones before they are made.
    tests : tuple of callable
        Which candidates have to pass.
    """

    place: int
    number: int
    steps: Sequence[float] | None
    blank: tuple[Any, ...]
    tests: tuple[Callable[..., Any], ...]


#: Tests of ready-made moves, which every first choice passes.
_OF_SECONDS = (swap.allowed, reassign.allowed)


def _pair(choices: list[_Choice]) -> tuple[int, int] | None:
    if len(choices) != 2 or choices[0].tests or choices[1].tests != (swap.allowed,):
        return None
    same = choices[0].number == choices[1].number and choices[0].steps is choices[1].steps is None
    return choices[0][:2] if same else None


class Scalars:
    """Functions of a problem for one instance, in Python.

    Parameters
    ----------
    instance : UserInstance
    """

    def __init__(self, instance: UserInstance) -> None:
        self.instance, self.model, self.data = instance, instance.model, instance.given()
        self.choices = [list(self._choices(m)) for m in self.model.moves]
        #: Of moves of two different elements, which are proposed the quickest way, place and number.
        self._pairs = [_pair(choices) for choices in self.choices]

    def _choices(self, m: Any) -> Iterator[_Choice]:
        steps = [choice.steps.tolist() if isinstance(choice, Normal) else None for choice in m.choices]
        blank = tuple(-1 if one is None else math.nan for one in steps)
        for k, place in enumerate(range(m.first, m.first + len(steps))):
            tests = tuple(test for test in m.allowed if k > 0 or test not in _OF_SECONDS)
            yield _Choice(place, int(self.instance.counts[place]), steps[k], blank[k:], tests)

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
        value = found.item() if isinstance(found, np.generic) else found
        if (type(value) is float or type(value) is int) and value - value == 0:
            return value
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
        features: Any = self.model.moves[kind].features
        return self._called(features, x, self.given(kind, values), value, heat)

    def propose(self, x: Any, u: Sequence[float], kind: int | None = None) -> tuple[int, Any] | None:
        """Draw a move by a number in (0, 1) for each choice of all types; None where one has no candidate.

        It is a `PlainMove` as a plain tuple, which is made in a quarter of the time.
        """
        if kind is None:
            kind = int(u[0] * len(self.choices)) if len(self.choices) > 1 else 0
        if (pair := self._pairs[kind]) is not None:
            place, count = pair
            first, c = int(u[place] * count), int(share := u[place + 1] * count)
            if c == first:
                c = int((share - c) * (count - 1))
                c += c >= first
            return (kind, (first, c)) if count > 1 else None
        values: tuple[Any, ...] = ()
        data = self.data
        for place, count, steps, blank, tests in self.choices[kind]:
            c = int(share := u[place] * count)
            value = c if steps is None else steps[c]
            for test in tests:
                if not test(data, x, values + blank, value):
                    break
            else:
                values += (value,)
                continue
            every = range(count) if steps is None else steps
            allowed = [other for other in every if self.is_allowed(x, kind, values, other)]
            if not allowed:
                return None
            values += (allowed[int((share - c) * len(allowed))],)
        return kind, values

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

    def takes_lists(self, x: Any) -> bool:
        """Tell whether the cost takes a list as well as an array, and is faster on it, as loops are."""
        cost, end, seconds = self.model.functions["cost"], time.monotonic() + _MOMENT, [math.inf, math.inf]
        with contextlib.suppress(Exception):
            while time.monotonic() < end:
                found = []
                for form, value in enumerate((x.tolist(), x)):
                    began = time.perf_counter()
                    found.append(self.number(self.guarded(cost, self.data, value), cost))
                    seconds[form] = min(seconds[form], time.perf_counter() - began)
                if found[0] != found[1]:
                    return False
        return seconds[0] < seconds[1] < math.inf


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

    Attributes
    ----------
    seconds : float
        After which a call ends with fewer steps than it was to take.
    """

    phase = doing = ""
    most = 1 << 40

    def __init__(
        self,
        instances: Sequence[UserInstance],
        x: NDArray[Any],
        keys: NDArray[np.int64],
        unit: float | None = None,
    ) -> None:
        made = {id(instance): Scalars(instance) for instance in instances}
        self._scalars = [made[id(instance)] for instance in instances]
        self.step, self._part, self.seconds, began = 0, 1, math.inf, time.monotonic()
        first = np.array(x, order="C")
        chains = list(zip(self._scalars, first, strict=True))
        energy = np.array([float(s.number(s.cost(row), s.model.functions["cost"])) for s, row in chains])
        quick = time.monotonic() - began < 4 * _MOMENT * len(chains)
        scales = {id(s): unit or unit_at(s.instance, row) for s, row in chains}
        self.scale = np.array([scales[id(s)] for s in self._scalars])
        self.takes_lists = {id(s): quick and s.takes_lists(row) for s, row in chains}
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
        """Advance; energy changes of the proposals, float64[K, B], 0 where there is none.

        There are fewer of them, and steps, where these take longer than `seconds`.
        """
        found, now = [np.zeros((0, len(self._scalars)))], time.monotonic()
        end = now + self.seconds
        while len(temperatures) and (len(found) == 1 or now < end):
            found.append(self._changes(temperatures[: self._part]))
            temperatures, began, now = temperatures[self._part :], now, time.monotonic()
            self._part = min(2 * self._part, _MOST) if now - began < _LOOK / 2 else max(self._part // 2, 1)
        return np.concatenate(found)

    def _changes(self, temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros((len(temperatures), len(self._scalars)))
        last = self.step + len(temperatures)
        for row, s in enumerate(self._scalars):
            heats = np.maximum(temperatures * self.scale[row], COLD).tolist()
            draws = step_uniforms(self.state.keys[row], self.step, last, self.choices + 1).tolist()
            if self.takes_lists[id(s)]:
                with contextlib.suppress(Exception):  # what is wrong is so of an array, too
                    found[:, row] = s.guarded(self._advance, row, s, heats, draws, self.x[row].tolist())
                    continue
                self.takes_lists[id(s)] = False
            found[:, row] = s.guarded(self._advance, row, s, heats, draws, self.x[row].copy())
        self.step = last
        return found

    def _advance(self, row: int, s: Scalars, heats: list[float], draws: list[list[float]], x: Any) -> Any:
        """Take a chain at `x` through some steps, as `nsa_cli.kernels.annealing.advance` does."""
        cost, propose, number, data = s.model.functions["cost"], s.propose, s.number, s.data
        moves = [(m.move.apply, m.delta) for m in s.model.moves]
        current, best, accepted = self.energy[row].item(), self.best_energy[row].item(), 0
        found, now, log = [0.0] * len(heats), None, math.log  # the cost of x, where it is known
        best_x, is_list = None, isinstance(x, list)
        for k, heat in enumerate(heats):
            u = draws[k]
            if (move := propose(x, u)) is None:
                continue
            kind, values = move
            apply, delta = moves[kind]
            if delta is None:
                if now is None:
                    now = number(cost(data, x), cost)
                other = x.copy()
                apply(data, other, values)
                then = cost(data, other)
                if type(then) is not int and not (type(then) is float and then - then == 0.0):
                    then = number(then, cost)
                change = then - now
            else:
                change = delta(data, x, values)
                if type(change) is not int and not (type(change) is float and change - change == 0.0):
                    change = number(change, delta)
            found[k] = change
            if change > 0 and not log(u[-1]) < -change / heat:
                continue
            if delta is None:
                x, now = other, then
            else:
                apply(data, x, values)
                now = None
            current += change
            accepted += 1
            if current < best:
                best, best_x = current, x.copy()
        if is_list and number(cost(data, np.array(x, self.x.dtype)), cost) != number(cost(data, x), cost):
            raise ValueError("a list and an array have other costs")
        self.x[row] = x
        if best_x is not None:
            self.best[row] = best_x
        self.energy[row], self.best_energy[row] = current, best
        self.accepted[row] += accepted
        return found


def unit_at(instance: UserInstance, x: Any) -> float:
    """Mean change of cost by some random moves from a solution."""
    chains = PlainChains([instance], x[None], np.zeros(1, np.int64), 1.0)
    changes = np.abs(chains.changes(np.full(_SAMPLE, _HOT)))
    return float(changes[changes > 0].mean()) if changes.any() else 1.0


def budget_in_python(instance: UserInstance, seconds: float | None) -> Budget:
    """Choose the steps of one chain that fit into some seconds, by its pace in a moment.

    A few steps descend: to choose temperatures would take as many.
    """
    began = time.monotonic()
    chains = PlainChains([instance], instance.typical[None], np.zeros(1, np.int64), 1.0)
    pace, steps, end = 1 / (time.monotonic() - began), 1, began + _LOOK
    while time.monotonic() < end:
        began = time.monotonic()
        chains.advance(np.ones(steps))
        pace = max(pace, steps / (time.monotonic() - began))  # other threads may have been at work
        steps = max(int(pace * _LOOK / 8), 1)
    steps = int(pace * (_SECONDS if seconds is None else seconds))
    if steps < _FEW:
        return Budget(steps if seconds is not None else _FEW, COLD, COLD)
    return Budget(steps, 1.0, 0.01, auto=True)
