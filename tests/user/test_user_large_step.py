"""Large steps of problems in one file: kicks and descents by their own moves."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from tests.user_problems import MAXCUT, Jobs, Teams

import nsa_cli as nsa
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.problems import find_problem


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
