"""Goals end a run when the answer is good enough, at steps that depend on nothing else."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.anneal.loop import GoalWatch, NoImprovement, Stagnation, TargetEnergy

from helpers import random_instances


def state(*best, steps=0, seconds=0.0):
    count = len(best)
    return Stagnation(np.array(best, dtype=float), np.full(count, steps), np.full(count, seconds))


def test_an_energy_is_reached_by_each_instance_on_its_own():
    """Up to rounding errors of a running sum; minus infinity never is."""
    goal = TargetEnergy(np.array([10.0, 10.0, 10.0, -np.inf]), "target", lambda i, x: True)
    assert goal(state(10.1, 10.0, 10.0 + 1e-10, -1e300)).tolist() == [False, True, True, False]


def test_stale_steps_and_seconds_count():
    """Either is enough where both are asked for."""
    assert NoImprovement(steps=5)(state(1.0, steps=5)).tolist() == [True]
    assert NoImprovement(steps=5)(state(1.0, steps=4, seconds=99.0)).tolist() == [False]
    assert NoImprovement(seconds=2.0)(state(1.0, steps=9, seconds=2.5)).tolist() == [True]
    assert NoImprovement()(state(1.0, steps=9, seconds=9.0)).tolist() == [False]


def test_a_watch_keeps_the_answers_of_instances_that_reached_a_goal():
    """The first goal counts, later improvements do not; the run ends with the last instance."""
    target = TargetEnergy(np.array([5.0, 5.0]), "target", lambda i, x: x[0] <= 5.0)
    watch = GoalWatch((target, NoImprovement(steps=10)), chains=2)
    accepted = np.array([1, 2, 3, 4])

    def look(step, *energies):
        best = np.array(energies)
        return watch.look(
            SimpleNamespace(step=step, counted=step, best=best[:, None], best_energy=best, accepted=accepted)
        )

    assert not look(0, 9.0, 8.0, 7.0, 7.0)
    assert not look(4, 9.0, 5.0, 7.0, 7.0)
    assert look(12, 1.0, 1.0, 7.0, 7.0)
    first, second = watch.reached[0], watch.reached[1]
    assert (first.reason, first.step, first.best.ravel().tolist()) == ("target", 4, [9.0, 5.0])
    assert (second.reason, second.step) == ("no_improvement", 12)
    assert second.accepted.tolist() == [3, 4]


def test_what_only_seems_to_be_reached_is_not():
    """Energies may have drifted; the best solutions of the chains decide, any of them."""
    goal = TargetEnergy(np.array([10.0]), "target", lambda i, x: x[0] <= 10.0)
    for best, ended in ((10.0 + 1e-9, False), (10.0, True)):
        watch = GoalWatch((goal,), chains=2)
        rows = np.array([[10.5], [best]])
        chains = SimpleNamespace(
            step=0, counted=0, best=rows, best_energy=np.full(2, 10.0), accepted=np.zeros(2)
        )
        assert watch.look(chains) is ended


def test_looks_grow_apart():
    """Often at first, and never more than some hundreds in all."""
    watch, steps = GoalWatch((), 1), [0]
    while steps[-1] < 10**8:
        watch.look(SimpleNamespace(step=steps[-1], best_energy=np.zeros(1)))
        steps.append(watch.due)
    assert steps[1] <= 64
    assert len(steps) < 300
    assert max(b / a for a, b in itertools.pairwise(steps[40:])) < 1.07


@pytest.mark.parametrize("goal", [{"target": 4.5}, {"gap": 0.2}, {"no_improvement": 40}])
def test_each_instance_of_a_batch_ends_at_its_own_goal(goal):
    """Reason, steps and solution are those that the instance has alone."""
    problem = nsa.find_problem("tsp")
    tasks = [nsa.Task(problem, instance) for instance in random_instances(problem, 20, 3)]
    options = {"seed": 3, "steps": 400, "init": "random", "policy": "uniform", "chains": 2, **goal}
    together = nsa.solve_many(tasks, **options)
    alone = [nsa.solve(task, **options) for task in tasks]
    assert {r.stop_reason for r in together} & {"target", "gap", "no_improvement"}
    assert len({r.steps for r in together}) > 1
    for mine, other in zip(together, alone, strict=True):
        assert (mine.stop_reason, mine.steps, mine.accepted) == (
            other.stop_reason,
            other.steps,
            other.accepted,
        )
        assert mine.solution.tolist() == other.solution.tolist()


def test_a_bound_that_is_reached_ends_the_search():
    """First fit is optimal by L2: no step is made, and the status says why."""
    record = {"weights": [6, 6, 6, 4, 4, 4], "capacity": 10}
    instance = nsa.find_problem("bin").from_record(record)
    result = nsa.solve(instance, steps=10_000, seed=1)
    assert (result.status, result.stop_reason, result.steps) == ("optimal", "optimal", 0)
    later = nsa.solve(instance, steps=10_000, seed=1, init="singletons")
    assert (later.status, later.stop_reason, later.objective) == ("optimal", "optimal", 3)
    assert 0 < later.steps < 10_000
    unbounded = nsa.solve(instance, steps=100, seed=1, bound=False)
    assert (unbounded.status, unbounded.stop_reason, unbounded.bound) == ("feasible", "steps", None)
