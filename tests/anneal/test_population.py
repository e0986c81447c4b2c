"""Populations: their phases, what they are when, and that threads and chunks change nothing."""

import numpy as np
import pytest

from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.anneal.population import CHAIN, RECOMBINATION, STARTS, Population
from nsa_cli.core.problem import CONSTRUCTION_SHARE, LEAST_POPULATION
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.large_step import large_step
from nsa_cli.problems.tsp.starts import greedy_edge

CITIES = 200
STEPS = 1_500


def instance_of(seed=0, size=CITIES):
    return TspInstance(coords=np.random.default_rng(seed).random((size, 2)))


def chains_of(instances, *, steps=STEPS, threads=1, rows=2):
    """Chains at greedy tours, `rows` of each instance."""
    each = [instance for instance in instances for _ in range(rows)]
    runs = large_step.runs(each, np.stack([greedy_edge(instance, None) for instance in each]))
    keys = np.arange(len(each)) * 17 + 5
    return LargeStepChains(runs, keys, threads=threads, rows=rows, steps=steps)


def temperatures(count=STEPS):
    return np.geomspace(1.0, 0.03, count)


def advance(chains, chunks):
    """Take the chains through all steps; the phases that were seen."""
    phases = []
    while chains.step < STEPS:
        phases.append(chains.phase)
        chains.advance(temperatures()[chains.step : chains.step + next(chunks)])
    return [phase for k, phase in enumerate(phases) if k == 0 or phase != phases[k - 1]]


def same(one, other):
    return np.array_equal(one.best, other.best) and np.array_equal(one.best_energy, other.best_energy)


def test_a_run_has_three_phases_and_its_answer_is_a_tour():
    instance = instance_of()
    chains = chains_of([instance])
    assert advance(chains, iter([1] * STEPS * 2)) == [STARTS, RECOMBINATION, CHAIN]
    for tour, energy in zip(chains.best, chains.best_energy, strict=True):
        assert sorted(tour.tolist()) == list(range(CITIES))
        assert instance.objective(tour) == pytest.approx(energy)


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_and_chunks_change_nothing(threads):
    instances = [instance_of(1), instance_of(2)]
    one, other = chains_of(instances), chains_of(instances, threads=threads)
    advance(one, iter([50] * STEPS))
    rng = np.random.default_rng(0)
    advance(other, iter(rng.integers(1, 200, STEPS).tolist()))
    assert same(one, other)


def test_batch_mates_change_nothing():
    alone, beside = chains_of([instance_of(3)]), chains_of([instance_of(3), instance_of(4)])
    for chains in (alone, beside):
        advance(chains, iter([100] * STEPS))
    assert np.array_equal(alone.best, beside.best[:2])


def test_few_steps_are_all_kicks():
    chains = chains_of([instance_of()], steps=30)
    assert chains.phase == CHAIN
    chains.advance(temperatures(30))
    assert chains.accepted.min() > 0


def test_steps_of_the_population_are_no_kicks():
    """They count as steps of the run: kicks that take as long."""
    chains = chains_of([instance_of()])
    while chains.phase != CHAIN:
        assert chains.accepted.max() == 0
        chains.advance(temperatures()[chains.step : chains.step + 1])
    assert 0.4 * STEPS < chains.step <= STEPS


def test_a_population_beats_a_chain_of_as_many_steps():
    """Over four instances, at equal steps."""
    instances = [instance_of(10 + seed, size=700) for seed in range(4)]
    with_population, without = chains_of(instances, rows=1), chains_of(instances, rows=1, steps=0)
    for chains in (with_population, without):
        advance(chains, iter([100] * STEPS))
    assert with_population.best_energy.sum() < without.best_energy.sum()


@pytest.mark.parametrize(("late", "phase"), [(-0.01, STARTS), (0.01, CHAIN)])
def test_by_time_the_pace_of_the_first_solutions_tells_whether_there_will_be_enough(late, phase):
    """Fifteen solutions by half of the run, or no more; what came before them does not count."""
    population = population_of()
    population.advance(1, 0.1, map)
    count = len(population._constructed)
    assert 0 < count < LEAST_POPULATION
    population.advance(1, 0.1 + (CONSTRUCTION_SHARE - 0.1) * count / LEAST_POPULATION + late, map)
    assert population.phase == phase


def test_by_time_phases_end_when_their_share_is_used(monkeypatch):
    monkeypatch.setattr("nsa_cli.anneal.population._MOST", 10_000)
    population, seen = population_of(), {}
    for used in np.linspace(0.0, 1.0, 101):
        population.advance(1, used, map)
        seen.setdefault(population.phase, used)
    assert seen[RECOMBINATION] == pytest.approx(0.5, abs=0.02)
    assert seen[CHAIN] <= 0.92


@pytest.mark.parametrize("better", [0, 3])
def test_it_ends_after_four_generations_without_a_better_best(better, monkeypatch):
    """Counted from the last one that had a better one."""
    seen = []

    def cross_over(data, state, population_, mating, children, energies, key, first, places):
        children[places], energies[places] = population_[mating[places]], np.inf
        if first not in seen:
            seen.append(first)
            energies[places[0]] = population.best_energy - 1.0 if len(seen) <= better else np.inf

    monkeypatch.setattr("nsa_cli.anneal.population.cross_over", cross_over)
    population = population_of()
    while population.phase != CHAIN:
        population.advance(1, 0.0 if len(population._constructed) < 20 else CONSTRUCTION_SHARE, map)
    assert len(seen) == better + 4


def population_of():
    (run,) = large_step.runs([instance_of()], greedy_edge(instance_of(), None)[None])
    return Population(run.recombination, run.data, np.int64(9), steps=None, chains=1, threads=1)
