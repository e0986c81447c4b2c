"""A user's functions in Python: one solution at a time, and chains that anneal without a compiler.

Draws, moves and acceptance are those of the kernels, so the two mean the same.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.draws import redrawn, step_uniforms
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.kernels import annealing
from nsa_cli.kernels.annealing import COLD, ChainArrays
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.kernels import rules
from nsa_cli.user.kernels.rules import ABOVE, TRIES, WEIGHT
from nsa_cli.user.moves import Normal, elements, insert, swap
from nsa_cli.user.solutions import Permutation
from nsa_cli.user.weights import first_weights, mean_size, ranking

#: What work arrays of whole numbers hold before a call.
_RUBBISH = cycle((1 << 40, 1 - (1 << 40)))

#: Steps of a chain before the next one's, and before a look at the clock, at most: their draws are made at
#: once.
_MOST = 4096

#: Seconds in which costs of lists and of arrays are compared.
_MOMENT = 0.005

#: Seconds of a search, and steps of one at least.
_SECONDS, _FEW = 2.0, 100

#: Seconds of steps that tell the pace.
_LOOK = 0.05

#: Random moves whose mean change of cost is the unit of temperatures.
_SAMPLE = 16


class _Choice(NamedTuple):
    """A choice of a type of moves.

    Attributes
    ----------
    place : int
        Among those of all types.
    every : sequence
        Candidates, as the user's functions get them: numbers from 0, or steps.
    blank : tuple of numbers
        What stands for this choice and the next ones before they are made.
    """

    place: int
    every: Sequence[Any]
    blank: tuple[Any, ...]


#: Count a proposal, and adapt the weight of violations, as kernels do.
_count: Callable[..., None] = cast(Any, annealing.count).py_func
_adapt: Callable[..., None] = cast(Any, rules.adapt).py_func


class Scalars:
    """Functions of a problem for one instance, in Python.

    Parameters
    ----------
    instance : UserInstance
    """

    def __init__(self, instance: UserInstance) -> None:
        self.instance, self.model, self.data = instance, instance.model, instance.given()
        self.choices = [list(self._choices(m)) for m in self.model.moves]
        pairs, apart = (elements, elements), {insert.allowed}
        if isinstance(self.model.kind, Permutation):
            apart.add(swap.allowed)
        #: Places of moves of two elements, of which any two will do that are not the same.
        self._pairs = [
            m.first if m.choices == pairs and apart >= {*m.allowed} else -1 for m in self.model.moves
        ]
        self.has_rules = self.model.function("violation") is not None

    def _choices(self, m: Any) -> Iterator[_Choice]:
        blank = tuple(math.nan if isinstance(choice, Normal) else -1 for choice in m.choices)
        for k, choice in enumerate(m.choices):
            count = int(self.instance.counts[m.first + k])
            every = choice.steps.tolist() if isinstance(choice, Normal) else range(count)
            yield _Choice(m.first + k, every, blank[k:])

    def _called(self, function: Callable[..., Any], *arguments: Any) -> Any:
        for name in self.model.scratch:  # so that nobody counts on what was there
            array = getattr(self.data, name)
            array.fill(np.nan if array.dtype.kind == "f" else next(_RUBBISH))
        return self.model.call(function, self.data, *arguments)

    def cost(self, x: Any) -> Any:
        """Evaluate a solution."""
        cost = self.model.functions["cost"]
        return self.model.number(self._called(cost, x), cost, finite=False)

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

    def proposed(self, x: Any, rng: np.random.Generator, kind: int | None = None) -> Any:
        """Draw a move; see `propose`."""
        draws = rng.random(self.model.choices)
        at = tuple((draws * self.instance.counts).astype(int).tolist())
        return self.model.call(self.propose, x, at, draws, kind)

    def propose(
        self, x: Any, at: tuple[int, ...], u: Sequence[float], kind: int | None = None
    ) -> tuple[int, tuple[Any, ...]] | None:
        """Give a move as the number of its type and what is chosen; None where there is no candidate.

        Parameters
        ----------
        x : array or list
        at : tuple of int
            A candidate for each choice of all types, by
        u : sequence of float
            a number in (0, 1) for each.
        kind : int, optional
            The type; by default of the first choice.
        """
        if kind is None:
            kind = at[0] if len(self.choices) > 1 else 0
        if (first := self._pairs[kind]) >= 0:
            i, j = pair = at[first : first + 2]
            if i != j:
                return kind, pair
        values: tuple[Any, ...] = ()
        data, tests = self.data, self.model.moves[kind].allowed
        for place, every, blank in self.choices[kind]:
            value = every[at[place]]
            for test in tests:
                if not test(data, x, values + blank, value):
                    value = self._allowed_one(x, kind, values, u[place])
                    break
            if value is None:
                return None
            values += (value,)
        return kind, values

    def _allowed_one(self, x: Any, kind: int, values: tuple[Any, ...], u: float) -> Any:
        """Draw an allowed candidate from a number in (0, 1); None where there is none."""
        every = self.choices[kind][len(values)].every
        for _ in range(TRIES):
            if self.is_allowed(x, kind, values, value := every[int(u * len(every))]):
                return value
            u = redrawn(u)
        allowed = [value for value in every if self.is_allowed(x, kind, values, value)]
        return allowed[int(u * len(allowed))] if allowed else None

    def apply(self, x: Any, move: tuple[int, tuple[Any, ...]]) -> None:
        """Make a move; `x` is changed."""
        apply = self.model.moves[move[0]].move.apply
        if (found := self._called(apply, x, move[1])) is not None:
            raise self.model.mistake(apply, "nothing, for it changes x", found)

    def delta(self, x: Any, move: tuple[int, tuple[Any, ...]]) -> Any:
        """Compute what a move adds to the cost."""
        if (delta := self.model.moves[move[0]].delta) is not None:
            return self.model.number(self._called(delta, x, move[1]), delta, finite=False)
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
                    found.append(self.model.number(self.model.call(cost, self.data, value), cost))
                    seconds[form] = min(seconds[form], time.perf_counter() - began)
                if found[0] != found[1]:
                    return False
        return seconds[0] < seconds[1] < math.inf

    def units(self, x: Any) -> tuple[float, float]:
        """Mean changes of cost and of violation by the first random moves from a solution."""
        rng, x, changes = np.random.default_rng(0), x.copy(), []
        broken = self.instance.breach
        for _ in range(_SAMPLE):
            if (move := self.proposed(x, rng)) is not None:
                change, before = self.delta(x, move), broken(x)
                self.apply(x, move)
                changes.append((change, broken(x) - before))
        found = np.array(changes or [(0.0, 0.0)], float)
        return mean_size(found[:, 0]), mean_size(found[:, 1])


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
        self.step, began = 0, time.monotonic()
        first = np.array(x, order="C")
        chains = list(zip(self._scalars, first, strict=True))
        energy = np.array(
            [float(s.model.number(s.cost(row), s.model.functions["cost"])) for s, row in chains]
        )
        breach = np.array([float(s.instance.breach(row)) for s, row in chains])
        quick = time.monotonic() - began < 4 * _MOMENT * len(chains)
        units, self.takes_lists = {}, {}
        for s, row in chains:
            if s not in units:
                units[s] = s.units(row) if unit is None or s.has_rules else (unit, 1.0)
                self.takes_lists[s] = quick and not s.has_rules and s.takes_lists(row)
        sizes = np.array([units[s] for s in self._scalars])
        self.scale = sizes[:, 0] if unit is None else np.full(len(sizes), unit)
        weights = first_weights(sizes[:, 0] / sizes[:, 1], first.shape[1])
        self._ranking = ranking(weights[:, WEIGHT])
        energy += weights[:, WEIGHT] * breach
        weights[:, ABOVE] = (self._ranking - weights[:, WEIGHT]) * breach
        self.state = ChainArrays(
            first,
            first.copy(),
            energy,
            energy + weights[:, ABOVE],
            np.zeros(len(keys), np.int64),
            keys,
            weights,
        )
        self.x, self.best, self.accepted = self.state.x, self.state.best, self.state.accepted
        self.energy, self.best_energy = self.state.energy, self.state.best_energy
        self.choices = instances[0].model.choices
        self.counting(False)

    @property
    def counted(self) -> int:
        return self.step

    def counting(self, on: bool = True) -> NDArray[np.float64]:
        """Count proposals from now on, or no longer; see `nsa_cli.anneal.chains.Counted`."""
        self._tally, self._origin = np.zeros((len(self.energy) if on else 0, 8)), self.energy.copy()
        return self._tally

    def advance(self, temperatures: NDArray[np.float64], used: float = 0.0) -> None:
        """Take all chains through ``len(temperatures)`` steps, at temperatures in normalised units."""
        last = self.step + len(temperatures)
        for row, s in enumerate(self._scalars):
            heats = np.maximum(temperatures * self.scale[row], COLD)
            u = step_uniforms(self.state.keys[row], self.step, last, self.choices + 1)
            at = (u[:, :-1] * s.instance.counts).astype(np.int64)
            if self.takes_lists[s]:
                with contextlib.suppress(Exception):  # what is wrong is so of an array, too
                    s.model.call(self._advance, row, s, heats, at, u, self.x[row].tolist())
                    continue
                self.takes_lists[s] = False
            s.model.call(self._advance, row, s, heats, at, u, self.x[row].copy())
        self.step = last

    def _advance(self, row: int, s: Scalars, heats: Any, candidates: Any, draws: Any, x: Any) -> None:
        """Take a chain at `x` through some steps, as `nsa_cli.kernels.annealing.advance` does."""
        cost, propose, number, data = s.model.functions["cost"], s.propose, s.model.number, s.data
        moves, broken = [(m.move.apply, m.delta) for m in s.model.moves], s.model.function("violation")
        current, best, accepted = self.energy[row].item(), self.best_energy[row].item(), 0
        now, was, log = None, None, math.log  # cost and violation of x, where they are known
        weights, ranking = self.state.surplus[row], self._ranking[row].item()
        above, more = weights[ABOVE].item(), 0.0
        best_x, is_list = None, isinstance(x, list)
        tally = self._tally[row].tolist() if len(self._tally) else None
        scale, origin = self.scale[row].item(), self._origin[row].item()
        columns = zip(*candidates.T.tolist(), strict=True), zip(*draws.T.tolist(), strict=True)
        for heat, at, u in zip(heats.tolist(), *columns, strict=True):
            if (move := propose(x, at, u)) is None:
                continue
            kind, values = move
            apply, delta = moves[kind]
            if delta is None or broken is not None:
                other = x.copy()
                apply(data, other, values)
            if delta is None:
                if now is None:
                    now = number(cost(data, x), cost)
                then = cost(data, other)
                if type(then) is not int and not (type(then) is float and then - then == 0.0):
                    then = number(then, cost)
                change = then - now
            else:
                change = delta(data, x, values)
                if type(change) is not int and not (type(change) is float and change - change == 0.0):
                    change = number(change, delta)
            if broken is not None:
                was = number(broken(data, x), broken) if was is None else was
                will = number(broken(data, other), broken)
                _adapt(weights, ranking, was > 0)
                weight = weights[WEIGHT].item()
                more = (ranking - weight) * (will - was)
                change += weight * (will - was)
            made = change <= 0 or log(u[-1]) < -change / heat
            if tally is not None:
                after = current + change if made else current
                _count(tally, change / scale, made, (after - origin) / scale)
            if not made:
                continue
            lower = current + change + (above + more) < best
            if delta is None or broken is not None:
                x = other
                now, was = then if delta is None else None, will if broken is not None else None
            else:
                apply(data, x, values)
                now = None
            current += change
            above += more
            accepted += 1
            if lower:
                best, best_x = current + above, x.copy()
        if is_list and number(cost(data, np.array(x, self.x.dtype)), cost) != number(cost(data, x), cost):
            raise ValueError("a list and an array have other costs")
        self.x[row] = x
        if best_x is not None:
            self.best[row] = best_x
        self.energy[row], self.best_energy[row] = current, best
        weights[ABOVE] = above
        self.accepted[row] += accepted
        if tally is not None:
            self._tally[row] = tally


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
