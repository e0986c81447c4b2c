"""Training on problems of one's own: temperatures, dead ends, and names."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.core.errors import UsageError
from nsa_cli.problems import as_problem
from nsa_cli.train.config import EsConfig, PpoConfig, TrainOptions, choose_config
from nsa_cli.train.es import train_es
from nsa_cli.train.loop import Training
from nsa_cli.train.ppo import train_ppo

from user_problems import Jobs, Teams

TINY = {"size": 6, "steps": 10, "problems": 4, "epochs": 2, "validate_every": 1}
SMALL = {**TINY, "validation_problems": 4, "validation_size": 6, "unit": None, "t_start": 0.5, "t_end": 0.05}


def training(problem, tmp_path, config):
    return Training(problem, config, 0, tmp_path / "p.json", threads=1)


@pytest.mark.parametrize("cls", [Teams, pytest.param(Jobs, marks=pytest.mark.slow)])
def test_policies_of_own_problems_are_trained_by_evolution_strategies(cls, tmp_path):
    """Of one type of moves and of three; by kernels, and the policy serves a solve. PPO is refused."""
    problem = as_problem(cls)
    task = nsa.Task(problem, problem.generate(8, np.random.default_rng(1)))
    run = training(problem, tmp_path, EsConfig(**SMALL, population=4))
    train_es(run)
    found = nsa.solve(task, policy=str(run.out), steps=50, chains=2, seed=1)
    assert (found.backend, found.policy) == ("numba", "p")
    assert task.instance.violation(found.solution) is None
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(UsageError, match=r"its policies are trained by es|use method='es'"):
        train_ppo(training(problem, tmp_path, PpoConfig(**SMALL)))


def test_temperatures_come_from_the_moves(tmp_path):
    """Whatever the unit of the data; given ones stay."""
    found = []
    for factor in (1, 1000):
        config = choose_config("none", TrainOptions(size=6), None)
        assert (config.t_start, config.t_end, config.unit) == (None, None, None)
        run = training(as_problem(_of(factor)), tmp_path, config)
        run.find_temperatures()
        found.append((run.config.t_start, run.config.t_end))
    assert found[0] == pytest.approx(found[1], rel=0.02)
    assert 1 > found[0][0] > found[0][1] > 0
    kept = training(as_problem(Teams), tmp_path, dataclasses.replace(config, t_start=3.0, t_end=2.0))
    kept.find_temperatures()
    assert (kept.config.t_start, kept.config.t_end) == (3.0, 2.0)


def _of(factor):
    """Teams whose costs are so many times as high."""

    def generate(size, rng):
        return {"costs": factor * rng.random((size, size)), "fixed": np.zeros(size, int), "factor": 1.0}

    return type("Scaled", (Teams,), {"generate": generate})


def test_a_training_that_learns_nothing_is_ended(tmp_path):
    """With a word on what to try: here all that is proposed leads to the one best solution."""
    problem = as_problem(Teams)
    config = EsConfig(**{**SMALL, "size": 2, "steps": 60, "epochs": 40, "t_end": 0.4}, population=2)
    config = dataclasses.replace(config, sigma=1e-9)
    run = training(problem, tmp_path, config)
    with pytest.raises(UsageError, match=r"for 10 epochs the gradient was exactly 0.*try larger instances"):
        train_es(run)
