"""The work of a step is counted in lines, the same each time."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.user_problems import MAXCUT

import nsa_cli as nsa
from nsa_cli.problems import find_problem
from nsa_cli.user import UserProblem, permutation, swap
from nsa_cli.user.adapter import AdaptedProblem
from nsa_cli.user.effort import nanoseconds
from nsa_cli.user.model import Model


class Order(UserProblem):
    """A cost that goes once through the order."""

    name = "order"
    keys = ("weights",)
    solution = permutation("weights")
    moves = (swap,)

    def cost(data: Any, x: Any) -> Any:
        total = 0
        for i in range(len(x)):
            total += i * data.weights[x[i]]
        return total


class Pairs(Order):
    """One that goes through all pairs."""

    def cost(data: Any, x: Any) -> Any:
        total = 0
        for i in range(len(x)):
            for j in range(len(x)):
                total += i * data.weights[x[j]]
        return total


class Endless(Order):
    """One that takes too long to count, and then fails."""

    def cost(data: Any, x: Any) -> Any:
        total = 0
        for _ in range(10**9):
            total += data.weights[x[0]]
        return total / 0


def instance(cls: type[UserProblem], size: int) -> Any:
    problem = AdaptedProblem(Model(cls, cls.__name__))
    return problem.from_record({"weights": np.arange(size).tolist()})


def test_lines_tell_costs_apart() -> None:
    """Ten times the elements are ten times the lines, or a hundred times."""
    once, pairs = ([nanoseconds(instance(cls, n)) - 100 for n in (30, 300)] for cls in (Order, Pairs))
    assert once[1] / once[0] == pytest.approx(10, rel=0.3)
    assert pairs[1] / pairs[0] == pytest.approx(100, rel=0.3)


def test_counting_ends_and_leaves_no_trace() -> None:
    """A tracer that was there before, a debugger's, is there after it."""
    before = sys.gettrace()
    assert nanoseconds(instance(Endless, 5)) == pytest.approx(150_100, rel=0.01)
    assert sys.gettrace() is before


def test_a_default_run_is_the_same_each_time() -> None:
    """Its number of steps is told, and gives the same answer."""
    task = nsa.Task(problem := find_problem(MAXCUT), problem.generate(12, np.random.default_rng(1)))
    budget = problem.neighbourhoods[0].budget(task.instance)
    assert budget == problem.neighbourhoods[0].budget(problem.generate(12, np.random.default_rng(1)))
    assert 0.5e9 < budget.steps * budget.chains * nanoseconds(task.instance) < 2.1e9
