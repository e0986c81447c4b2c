"""Large steps of problems in one file: kicks and descents by their own moves."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from tests.user_problems import MAXCUT, QAP, Jobs, Teams

import nsa_cli as nsa
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.core.errors import NsaError
from nsa_cli.problems import as_problem, find_problem
from nsa_cli.user import UserProblem, permutation, swap
from nsa_cli.contract import faults


def chains_of(problem: Any, instance: Any, count: int, seed: int = 1, threads: int = 1) -> LargeStepChains:
    rng = np.random.default_rng(0)
    x = np.stack([problem.start()(instance, rng.random) for _ in range(count)])
    runs = problem.large_step().runs([instance] * count, x)
    return LargeStepChains(runs, stream_keys(seed, np.arange(count)), threads=threads)


@pytest.fixture(
    scope="module", params=[MAXCUT, *(f"{inspect.getsourcefile(c)}:{c.__name__}" for c in (Teams, Jobs))]
)
def problem(request: Any) -> Any:
    """One choice a move; two of different kinds, some forbidden; three types of moves without `delta`."""
    return find_problem(request.param)


def test_energies_are_those_of_the_solutions(problem: Any) -> None:
    """Over kicks, descents and what is undone; and the best is never lost."""
    instance = problem.generate(24, np.random.default_rng(1))
    sign = 1 if problem.sense == "min" else -1
    chains = chains_of(problem, instance, 3)
    best = chains.best_energy.copy()
    for temperature in (0.0, 0.3, 10.0):
        chains.advance(np.full(60, temperature))
        for rows, energies in ((chains.x, chains.energy), (chains.best, chains.best_energy)):
            assert [sign * instance.objective(x) for x in rows] == pytest.approx(energies.tolist())
        assert (chains.best_energy <= best).all()
        assert (chains.best_energy <= chains.energy + 1e-9).all()
        best = chains.best_energy.copy()
    assert chains.step == 180


def test_chunks_and_threads_change_nothing(problem: Any) -> None:
    """Streams are those of a chain and its steps; forbidden candidates are never touched."""
    instance = problem.generate(16, np.random.default_rng(2))
    temperatures = np.geomspace(0.3, 0.03, 90)
    found = []
    for chunk, threads in ((90, 1), (7, 2)):
        chains = chains_of(problem, instance, 2, threads=threads)
        first = chains._runs[0].state.before.copy()
        for begin in range(0, 90, chunk):
            chains.advance(temperatures[begin : begin + chunk])
        found.append((chains.x.tolist(), chains.accepted.tolist()))
        if hasattr(instance.data, "fixed"):
            fixed = instance.data.fixed == 1
            assert (chains.x[0][fixed] == first[fixed]).all()
    assert found[0] == found[1]


def test_a_small_cut_is_solved() -> None:
    """Against every colouring; and only where large steps are asked for."""
    problem = find_problem(MAXCUT)
    instance = problem.generate(12, np.random.default_rng(3))
    every = (np.arange(2**11)[:, None] >> np.arange(12)) & 1 > 0
    result = nsa.solve(nsa.Task(problem, instance), seed=1, method="large-step", steps=200, threads=1)
    assert (result.method, result.objective) == ("large-step", max(map(instance.objective, every)))
    assert nsa.solve(nsa.Task(problem, instance), seed=1, steps=10).method == "anneal"


def test_a_population_comes_first_where_solutions_recombine() -> None:
    """By steps the same whatever the chunks and threads; energies are those of the solutions."""
    problem = find_problem(QAP)
    instance, steps = problem.generate(14, np.random.default_rng(4)), 600
    rng, heats, found = np.random.default_rng(0), np.geomspace(0.3, 0.03, 600), []
    x = np.stack([problem.start()(instance, rng.random) for _ in range(2)])
    for chunk, threads in ((steps, 1), (7, 2), (50, 2)):
        runs = problem.large_step().runs([instance] * 2, x)
        chains = LargeStepChains(runs, stream_keys(1, np.arange(2)), threads=threads, rows=2, steps=steps)
        phases, start = {chains.phase}, float(chains.best_energy.min())
        for begin in range(0, steps, chunk):
            chains.advance(heats[begin : begin + chunk])
            phases.add(chains.phase)
        assert [instance.objective(b) for b in chains.best] == pytest.approx(chains.best_energy.tolist())
        assert chains.best_energy.min() < start
        assert chunk == steps or phases >= {"starts", "recombination"}
        found.append((chains.best.tolist(), chains.x.tolist(), chains.accepted.tolist()))
    assert found[0] == found[1] == found[2]


def test_a_child_that_is_worse_is_given_up() -> None:
    """Whatever a function does to a solution, no member of the population gets worse."""
    problem = as_problem(Reversed)
    instance = problem.generate(12, np.random.default_rng(5))
    result = nsa.solve(nsa.Task(problem, instance), method="large-step", steps=300, seed=1, chains=2)
    assert result.objective == sum(k * w for k, w in enumerate(sorted(instance.data.weights)[::-1]))


class Reversed(UserProblem):
    """Heavy things first; recombined, a solution is turned round, which is the worst that can be done."""

    name = "reversed"
    keys = ("weights",)
    solution = permutation("weights")
    moves = (swap,)

    def generate(size, rng):
        return {"weights": rng.integers(1, 100, size)}

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            total += i * data.weights[x[i]]
        return total

    def recombine(data, x, other):
        for i in range(len(x) // 2):
            x[i], x[len(x) - 1 - i] = x[len(x) - 1 - i], x[i]


def _copies(data: Any, x: Any, other: Any) -> None:
    x[0] = other[1]


def _robs(data: Any, x: Any, other: Any) -> None:
    other[0], other[1] = other[1], other[0]


def _gives(data: Any, x: Any, other: Any) -> Any:
    return x[0]


def _grows(data: Any, x: Any, other: Any) -> None:
    x[3 * len(x)] = 0


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (_copies, "expected a solution, got one of which"),
        (_robs, "expected the other solution as it was"),
        (_gives, "expected nothing, for it changes x, got"),
        (_grows, "fails: IndexError"),
    ],
)
def test_a_wrong_recombine_is_named(function: Any, why: str) -> None:
    """Before a search as by its check, with the line of the function."""
    problem = as_problem(type("Wrong", (Reversed,), {"recombine": function}))
    instance = problem.generate(8, np.random.default_rng(5))
    place = f"{__file__}:{function.__code__.co_firstlineno}: Wrong.recombine" if "fails" not in why else ""
    with pytest.raises(NsaError) as raised:
        nsa.solve(nsa.Task(problem, instance), method="large-step", steps=10, seed=1)
    assert place in str(raised.value)
    assert why in str(raised.value)
    assert any(why in str(fault) for fault in faults(problem)[1])
