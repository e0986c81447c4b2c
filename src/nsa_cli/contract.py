"""The contract of problems of one's own: all checks on small instances, and then on compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nsa_cli.core.errors import NsaError, UncompiledError, UsageError
from nsa_cli.problems import as_problem
from nsa_cli.user.adapter import AdaptedProblem
from nsa_cli.user.calls import MistakeError
from nsa_cli.user.check import CHECKS, FIRST, State, check_compiled, check_costs, walk
from nsa_cli.user.fused import compiled_costs
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.problem import UserProblem

#: Sizes of generated instances, and random moves on each.
SIZES, _MOVES = (2, 3, 4, 5, 8), 40


def check_problem(problem: UserProblem | type[UserProblem] | Any, size: int = 8, seed: int = 0) -> None:
    """Check that the functions of a problem of one's own go together, on small random instances.

    Parameters
    ----------
    problem : UserProblem, its class, or what `find_problem` gives
    size : int
        A size beside the usual ones.
    seed : int

    Raises
    ------
    MistakeError
        For the first check that fails; names the function.
    UsageError
        If `problem` is none, or lacks a function.
    """
    for fault in faults(own_problem(problem), sizes=sorted({*SIZES, size}), seed=seed)[1]:
        raise fault


def own_problem(problem: Any) -> AdaptedProblem:
    """Insist on a problem of one's own.

    Raises
    ------
    UsageError
        If it is another one.
    """
    adapted = as_problem(problem)
    if not isinstance(adapted, AdaptedProblem):
        raise UsageError(f"{adapted.name}: is checked by its tests; give FILE.py:CLASS, a UserProblem")
    return adapted


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
        What was checked, in words, if there is no fault.
    found : list of NsaError
        Faults, the first of each check, on the smallest instance that has some.
    """
    done = ["data", "start", "moves", "cost"]
    done += [name for name in problem.model.functions if name not in ("cost", "start", "generate")]
    try:
        instances = list(given) or [_generated(problem, size, seed) for size in sizes]
        instances.sort(key=lambda i: i.size)
        for instance in instances:
            _check_starts(instance)
            states = list(walk(instance, _MOVES, seed))
            if found := _faults_of(states):
                return [], found
            if "check" in done and any(instance.violation(state.moved()) is not None for state in states):
                mend = "check (which refuses what moves lead to: measure that by violation)"
                done[done.index("check")] = mend
        if not states:
            raise MistakeError(f"{problem.model.spec}: no move is allowed, from whatever start")
        try:
            _check_compiled(instances[-1])
        except UncompiledError as error:
            return [*done, f"Python alone ({error.message or 'as it says'})"], []
    except NsaError as error:
        return [], [error]
    return [*done, "compiled code"], []


def _faults_of(states: Sequence[State]) -> list[NsaError]:
    """Give the first fault that each check finds; of a wrong cost, that alone."""
    found: list[NsaError] = []
    for check in CHECKS:
        try:
            for state in states:
                check(state)
        except NsaError as error:
            found.append(error)
            if check is check_costs:
                break
    return found


def _generated(problem: AdaptedProblem, size: int, seed: int) -> UserInstance:
    """Draw an instance, twice: the same generator gives the same."""
    one, other = (problem.generate(size, np.random.default_rng(seed)) for _ in range(2))
    if one.record() != other.record():
        function = problem.model.functions["generate"]
        expected, got = "the same data from the same rng", "other data; draw from rng alone"
        raise problem.model.mistake(function, expected, got)
    return one


def _check_starts(instance: UserInstance) -> None:
    """Starts are solutions."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        instance.start(lambda n: rng.random(n))


def _check_compiled(instance: UserInstance) -> None:
    """Compiled code says what Python says."""
    xs = [state.x for state in walk(instance, FIRST)]
    for x, said in zip(xs, compiled_costs(instance, xs), strict=True):
        check_compiled(instance, x, float(said))
