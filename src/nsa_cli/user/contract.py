"""The contract of a user's problem: all checks on small instances, and then on compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from nsa_cli.core.errors import NsaError
from nsa_cli.user.adapter import AdaptedProblem
from nsa_cli.user.calls import MistakeError, mistake
from nsa_cli.user.check import (
    FIRST,
    State,
    check_back,
    check_bound,
    check_changes,
    check_costs,
    check_feasible,
    check_features,
    check_moved,
    check_recombined,
    close,
    walk,
)
from nsa_cli.user.fused import compiled_costs
from nsa_cli.user.instance import UserInstance

#: Sizes of generated instances, and random moves on each.
SIZES, _MOVES = (2, 3, 4, 5, 8), 40

#: In the order in which they are made: each needs what those before have found right.
CHECKS: tuple[Callable[[State], None], ...] = (
    check_costs,
    check_feasible,
    check_moved,
    check_changes,
    check_back,
    check_features,
    check_recombined,
    check_bound,
)


def faults(
    problem: AdaptedProblem,
    given: Sequence[UserInstance] = (),
    *,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
) -> tuple[list[str], list[NsaError]]:
    """Check a problem on instances, or on random ones if none are given.

    Returns
    -------
    done : list of str
        What was checked, in words.
    found : list of NsaError
        Faults, the first of each check.
    """
    found: list[NsaError] = []
    instances: list[UserInstance] = list(given)
    for size in () if given else sizes:
        if (made := _caught(found, partial(_generated, problem, size, seed))) is None:
            return ["generate"], found
        instances.append(made)
    instances.sort(key=lambda i: i.size)
    done, broken = ["data", "start"], set[Any]()
    for instance in instances:
        _caught(found, partial(_started, instance))
        if found:
            return done, found
        states: list[State] | None = _caught(found, partial(_walked, instance, seed))
        if states is None:
            return [*done, "moves"], found
        for check in CHECKS:
            if check in broken:
                continue
            for state in states:
                if not _caught(found, partial(_passes, check, state)):
                    broken.add(check)
                    break
            if check is check_costs and broken:
                return [*done, "cost"], found
        if not states and instance is instances[-1]:
            found.append(MistakeError(f"{problem.model.spec}: no move is allowed, from whatever start"))
    done += ["moves", "cost", *(f for f in problem.model.functions if f not in ("cost", "start", "generate"))]
    if "check" in done and not found and any(_breaks_constraints(instance, seed) for instance in instances):
        done[done.index("check")] = "check (which refuses what moves lead to: let the cost have a penalty)"
    if not found:
        _caught(found, partial(_check_compiled, instances[-1]))
        done.append("compiled code")
    return done, found


def _generated(problem: AdaptedProblem, size: int, seed: int) -> UserInstance:
    """Draw an instance, twice: the same generator gives the same."""
    one, other = (problem.generate(size, np.random.default_rng(seed)) for _ in range(2))
    if one.record() != other.record():
        function: Any = problem.model.function("generate")
        what = f"{problem.model.cls.__name__}.generate"
        raise mistake(function, what, "the same data from the same rng", "other data; draw from rng alone")
    return one


def _started(instance: UserInstance) -> None:
    """Starts are solutions."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        instance.start(lambda n: rng.random(n))


def _breaks_constraints(instance: UserInstance, seed: int) -> bool:
    """Tell whether `check` refuses what some moves lead to: only a penalty keeps searches from there."""
    return any(instance.violation(state.moved()) is not None for state in _walked(instance, seed))


def _check_compiled(instance: UserInstance) -> None:
    """Compiled code says what Python says."""
    states = list(walk(instance, FIRST))
    said = compiled_costs(instance, [state.x for state in states])
    for state, cost in zip(states, said, strict=True):
        expected = state.scalars.cost(state.x)
        if not close(cost, expected):
            function = state.scalars.model.functions["cost"]
            raise state.wrong(function, f"{expected:g}, as in Python", f"{cost:g} in compiled code")


def _walked(instance: UserInstance, seed: int) -> list[State]:
    return list(walk(instance, _MOVES, seed))


def _passes(check: Callable[[State], None], state: State) -> bool:
    check(state)
    return True


def _caught(found: list[NsaError], work: Callable[[], Any]) -> Any:
    """Do something; put its error, if it has one, into a list, and give None."""
    try:
        return work()
    except NsaError as error:
        found.append(error)
        return None
