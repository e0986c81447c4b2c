"""The engine: what it keeps, what it does not depend on, and what it samples."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

import nsa_cli as nsa
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.loop import run_chains
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.clock import Clock
from nsa_cli.core.draws import stream_keys
from nsa_cli.core.operations import DiscreteOperations
from nsa_cli.core.record import Record, Source
from nsa_cli.policy.gaussian import ConstantGaussianPolicy, GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy

from helpers import random_instances, starts_of


def make_policy(operations, kind):
    """A uniform policy, or a random network with opinions strong enough to matter."""
    discrete = isinstance(operations, DiscreteOperations)
    if kind == "uniform":
        return UniformSlotPolicy() if discrete else ConstantGaussianPolicy()
    torch.manual_seed(3)
    policy = SlotPolicy(operations.feature_sets["paper"].slots) if discrete else GaussianPolicy()
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.5)
    return policy


def run(problem, instances, kind="uniform", steps=300, rows=slice(None), chunk=50, **options):
    operations = problem.neighbourhood("paper").operations()
    batch = operations.pack(instances[rows])
    keys = torch.from_numpy(stream_keys(5, np.arange(len(instances))[rows]))
    x = starts_of(problem, instances, "paper")[rows]
    schedule = Schedule(steps, 0.5, 0.05)
    chains = TorchChains(operations, batch, make_policy(operations, kind), x, keys)
    end = run_chains(chains, schedule, chunk=chunk, **options)
    return operations, batch, chains.state, end.reason


@pytest.mark.parametrize("kind", ["uniform", "learnt"])
def test_the_best_cost_is_the_cost_of_the_best(problem, kind):
    """``cost(best) == best_energy`` and ``cost(x) == energy``, and the best is never worse than the start."""
    instances = random_instances(problem, 2 if problem.name == "rosenbrock" else 15, 8)
    operations, batch, state, reason = run(problem, instances, kind)
    torch.testing.assert_close(operations.cost(batch, state.best), state.best_energy, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(operations.cost(batch, state.x), state.energy, rtol=1e-9, atol=1e-9)
    assert (state.best_energy <= operations.cost(batch, starts_of(problem, instances, "paper"))).all()
    assert (state.accepted > 0).all()
    assert reason == "steps"
    assert state.step == 300


def test_integer_data_give_energies_without_any_rounding():
    """A long chain over whole numbers is exact to the last digit."""
    problem = nsa.find_problem("tsp")
    rng = np.random.default_rng(0)
    data = {"coords": (rng.random((30, 2)) * 1e6).round().tolist(), "edge_weight_type": "EUC_2D"}
    instance = problem.from_record(data)
    operations, batch, state, _ = run(problem, [instance] * 4, steps=2000)
    assert torch.equal(operations.cost(batch, state.best), state.best_energy)
    assert state.best_energy.tolist() == [instance.objective(x) for x in state.best.numpy()]


@pytest.mark.parametrize("kind", ["uniform", "learnt"])
@pytest.mark.parametrize("chunk", [1, 7, None])
def test_chunks_change_nothing(problem, kind, chunk):
    """Where the engine pauses to look at its rules is invisible in the result."""
    instances = random_instances(problem, 2 if problem.name == "rosenbrock" else 12, 3)
    reference = run(problem, instances, kind)[2]
    other = run(problem, instances, kind, chunk=chunk)[2]
    assert torch.equal(reference.x, other.x)
    assert torch.equal(reference.best_energy, other.best_energy)


@pytest.mark.parametrize("kind", ["uniform", "learnt"])
@pytest.mark.parametrize("size", [2, 5, 33])
def test_batch_mates_change_nothing(problem, kind, size):
    """A chain alone, first of five and last of seven walks the same way, bit for bit."""
    if problem.name == "rosenbrock" and kind == "learnt" and size != 2:
        pytest.skip("the paper's network is for two dimensions")
    instances = random_instances(problem, size, 7)
    many = run(problem, instances, kind, steps=300)[2]
    for k in (0, 3, 6):
        alone = run(problem, instances, kind, rows=slice(k, k + 1))[2]
        assert torch.equal(many.x[k], alone.x[0])
        assert torch.equal(many.energy[k], alone.energy[0])


def test_threads_change_nothing(problem):
    """One thread and two give the same chains."""
    instances = random_instances(problem, 2 if problem.name == "rosenbrock" else 40, 300)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = run(problem, instances, "learnt", steps=40)[2]
        torch.set_num_threads(2)
        two = run(problem, instances, "learnt", steps=40)[2]
    finally:
        torch.set_num_threads(before)
    assert torch.equal(one.x, two.x)
    assert torch.equal(one.best_energy, two.best_energy)


def test_the_clock_ends_the_run_and_gives_its_reason(problem):
    """What was found until then is kept."""
    instances = random_instances(problem, 6, 2)
    seen = []
    clock = Clock(asked=lambda: bool(seen) and seen[-1].step >= 100)
    state, reason = run(problem, instances, clock=clock, on_progress=seen.append)[2:]
    assert reason == "interrupted"
    assert state.step == 100
    assert [p.step for p in seen] == [0, 50, 100]


def test_no_steps_give_the_start(problem):
    """A run of length 0 is no error."""
    instances = random_instances(problem, 6, 2)
    state = run(problem, instances, steps=0)[2]
    assert torch.equal(state.best, starts_of(problem, instances, "paper"))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_chains_without_a_move_stay_where_they_are(size):
    """Up to three cities there is only one tour."""
    problem = nsa.find_problem("tsp")
    instances = random_instances(problem, size, 2)
    state = run(problem, instances, steps=20)[2]
    assert (state.accepted == 0).all()
    assert torch.equal(state.x, starts_of(problem, instances, "paper"))


# --- Boltzmann: at a fixed temperature, and by proposals that are as likely back as there, a state is visited
# in proportion to exp(-E / T). States are enumerated; each chain gives one sample, its last state.

CHAINS = 4000


def record(problem, **data):
    return Record(data, Source("x", "", "")).build(nsa.find_problem(problem).from_record)


def all_tours(instance):
    """Each cyclic order once: it starts at city 0 and has its smaller neighbour second."""
    rest = permutations(range(1, instance.size))
    return [np.array([0, *order]) for order in rest if order[0] < order[-1]]


def cycle(tour):
    start = int(np.argmin(tour))
    forward = np.roll(tour, -start)
    return tuple(forward if forward[1] < forward[-1] else np.roll(forward[::-1], 1))


def test_states_are_visited_as_boltzmann_says():
    """Chi-square of the last states of many chains against the enumerated distribution."""
    instance, heat = record("tsp", coords=[[0, 0], [3, 1], [4, 4], [1, 5], [2, 2]]), 1.2
    states = all_tours(instance)
    weights = np.array([math.exp(-instance.objective(s) / heat) for s in states])
    expected = dict(zip(map(cycle, states), CHAINS * weights / weights.sum(), strict=True))
    visited = Counter(cycle(x) for x in last_states(nsa.find_problem("tsp"), instance, heat))
    assert set(visited) <= set(expected)
    assert p_value(visited, expected) > 1e-3


def last_states(problem, instance, heat, steps=200):
    operations = problem.neighbourhood("paper").operations()
    batch = operations.pack([instance] * CHAINS, unit=2.5)
    schedule = Schedule(steps, heat / float(batch.scale[0]), kind="constant")
    keys = torch.from_numpy(stream_keys(11, np.arange(CHAINS)))
    x = starts_of(problem, [instance] * CHAINS, "paper")
    policy = make_policy(operations, "uniform")
    chains = TorchChains(operations, batch, policy, x, keys)
    run_chains(chains, schedule)
    return chains.x


def p_value(visited, expected):
    """Compare counts, states seldom expected pooled into one."""
    common = [s for s, n in expected.items() if n >= 8]
    observed = [visited[s] for s in common]
    wanted = [expected[s] for s in common]
    if (rest := CHAINS - sum(wanted)) > 8:
        observed.append(CHAINS - sum(observed))
        wanted.append(rest)
    wanted = np.array(wanted) * sum(observed) / sum(wanted)
    return chisquare(observed, wanted).pvalue


def test_a_density_is_sampled_too():
    """Rosenbrock with b = 1: the first coordinate's marginal against its density, exactly known.

    With E = (a - x)^2 + b (y - x^2)^2 the inner integral over y is the same for every x, so x is normal
    around a with variance T / 2.
    """
    instance = record("rosenbrock", a=0.5, b=1.0)
    heat = 0.6
    last = last_states(nsa.find_problem("rosenbrock"), instance, heat, steps=700)
    from scipy.stats import kstest, norm

    x, y = last.T
    assert kstest(x, norm(0.5, math.sqrt(heat / 2)).cdf).pvalue > 1e-3
    assert kstest(y - x**2, norm(0, math.sqrt(heat / 2)).cdf).pvalue > 1e-3
