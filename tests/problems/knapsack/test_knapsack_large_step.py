"""Large steps on selections: they hold, are never worse than the start, and come near the optimum."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nsa_cli as nsa
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.core.clock import Clock
from nsa_cli.core.draws import stream_keys
from nsa_cli.problems.knapsack import problem
from nsa_cli.problems.knapsack.heuristics import empty, greedy
from nsa_cli.problems.knapsack.instance import KnapsackInstance
from nsa_cli.problems.knapsack.kernels.large_step import ASTRAY, FREE, VALUE
from nsa_cli.problems.knapsack.large_step import KnapsackLargeStep


def no_draws(_: int) -> Any:
    raise AssertionError("these starts draw nothing")


def items(values: Any, weights: Any, capacity: Any) -> KnapsackInstance:
    return KnapsackInstance(values=np.array(values), weights=np.array(weights), capacity=capacity)


def chains_at(instance: KnapsackInstance, *starts: Any, seed: int = 1, threads: int = 1) -> LargeStepChains:
    runs = KnapsackLargeStep().runs([instance] * len(starts), np.stack(starts))
    return LargeStepChains(runs, stream_keys(seed, np.arange(len(starts))), threads=threads)


def assert_sound(chains: LargeStepChains, instance: KnapsackInstance) -> None:
    """What a chain says of its selection is true."""
    best = chains.best
    for row, run in enumerate(chains._runs):
        data, state = run.data, run.state
        for x, energy in ((chains.x, chains.energy), (best, chains.best_energy)):
            assert instance.violation(x[row]) is None
            worth = float(instance.objective(x[row]))
            if x is not best:  # a last swap may have made this better
                assert -energy[row] == pytest.approx(worth, rel=1e-12)
            assert -energy[row] <= worth * (1 + 1e-12)
        inside = state.inside
        assert state.counts[FREE] == instance.exact.capacity - instance.exact.units[chains.x[row]].sum()
        assert state.counts[VALUE] >= data.values[inside].sum()
        astray = np.flatnonzero(inside != data.home)
        astray = astray[astray >= data.window]
        assert sorted(state.astray[: state.counts[ASTRAY]]) == astray.tolist()
        assert (state.place >= 0).sum() == len(astray)


def hard(kind: str, size: int, largest: int, seed: int) -> KnapsackInstance:
    """Correlated classes as Pisinger (2005, "Where are the hard knapsack problems?") defines them."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, largest + 1, size)
    values = {
        "strongly": weights + largest // 10,
        "inverse strongly": weights - largest // 10,
        "multiple strongly": weights + np.where(weights % 6 == 0, 3, 2) * (largest // 10),
        "subset sum": weights,
    }.get(kind)
    if values is None:  # spanner: multiples of two strongly correlated items
        base = -(-2 * rng.integers(1, largest + 1, 2) // 10)
        which, times = rng.integers(0, 2, size), rng.integers(1, 11, size)
        values, weights = times * (base + largest // 50)[which], times * base[which]
    elif kind == "inverse strongly":
        values, weights = weights, weights + largest // 10
    return items(values, weights, int(weights.sum()) // 2)


HARD = ("strongly", "inverse strongly", "multiple strongly", "subset sum", "spanner")


def greedy_with_swaps(instance: KnapsackInstance) -> int:
    """Swap one in for one out as long as that is worth anything, the best first."""
    values, weights = instance.values, instance.weights
    chosen = greedy(instance, no_draws)
    while True:
        free = instance.capacity - weights[chosen].sum()
        gains = values[None, :] - values[:, None]
        fits = (weights[None, :] - weights[:, None] <= free) & chosen[:, None] & ~chosen[None, :]
        gains = np.where(fits, gains, 0)
        out, into = np.unravel_index(gains.argmax(), gains.shape)
        if gains[out, into] <= 0:
            return int(values[chosen].sum())
        chosen[out], chosen[into] = False, True


AWKWARD = {
    "no capacity": ([3, 4, 5, 6], [1, 2, 3, 4], 0),
    "nothing fits": ([3, 4, 5], [10, 11, 12], 5),
    "everything fits": ([3, 4, 5, 1] * 20, [1, 2, 3, 4] * 20, 1000),
    "no value": ([0] * 5, [1] * 5, 3),
    "no weight": ([1, 0, 3, 4], [0, 0, 0, 0], 0),
    "one of use": ([1, 2, 3], [9, 9, 1], 5),
    "two of use": ([5, 4, 3], [3, 4, 10], 5),
    "all equal": ([2] * 60, [3] * 60, 50),
    "decimals": ([0.1, 0.2, 0.3] * 20, [0.1] * 60, 1),
    "large values": ([1e300, 2e300, 5e299] * 20, [1.0, 2.5, 0.4] * 20, 7.7),
    "small values": ([1e-250, 2e-250, 5e-261] * 20, [1.0, 2.5, 0.4] * 20, 7.7),
    "no common unit": ([1, 2, 3, 4, 5, 6] * 8, [1e300, 1e-300, 5e299, 3e299, 1.0, 2e299] * 8, 1.2e300),
    "near the limit": ([2**50 + k for k in range(40)], [2**54 - 3 * k for k in range(40)], 2**57),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("start", [greedy, empty])
def test_awkward_items_stay_a_selection(name: str, start: Any) -> None:
    """Nothing, everything, equal, huge, tiny and unscalable numbers; never worse than the start."""
    instance = items(*AWKWARD[name])
    first = start(instance, no_draws)
    chains = chains_at(instance, first, first)
    chains.advance(np.geomspace(1.0, 1e-3, 2_000))
    assert_sound(chains, instance)
    assert min(map(instance.objective, chains.best)) >= instance.objective(first)
    assert chains.step == 2_000


@given(
    pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), min_size=3, max_size=11),
    share=st.floats(0.05, 1.0),
    scale=st.sampled_from([1, 0.1, 1 / 3, 2.0**40]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_few_items_are_solved(pairs: Any, share: float, scale: float, seed: int) -> None:
    """Every selection of a few items is near; the best of all is met."""
    values, weights = np.array(pairs).T
    instance = items(values * scale, weights * scale, share * float(weights.sum()) * scale)
    every = np.array(list(product([False, True], repeat=len(pairs))))
    worth = [instance.objective(x) for x in every if instance.violation(x) is None]
    chains = chains_at(instance, empty(instance, no_draws), seed=seed)
    chains.advance(np.full(3_000, 0.5))
    assert_sound(chains, instance)
    assert -chains.best_energy[0] == pytest.approx(float(max(worth)), rel=1e-12)


@pytest.mark.parametrize("kind", HARD)
def test_hard_items_beat_greedy_with_swaps(kind: str) -> None:
    """And are within a thousandth of a per cent of a bound, or of the optimum."""
    for size, seed in ((60, 1), (400, 2)):
        instance = hard(kind, size, 10**7, seed)
        result = nsa.solve(instance, seed=3, bound=False, method="large-step", steps=100_000)
        assert result.method == "large-step"
        assert result.objective >= greedy_with_swaps(instance)
        bound = problem.bound(instance, Clock.of(0.3))
        best = bound.value if bound.exact else instance.objective(bound.solution)
        assert result.objective >= best * (1 - 1e-5)


@pytest.mark.parametrize("size", [50, 200])
def test_paper_items_come_within_five_thousandths_of_a_per_cent(size: int) -> None:
    """Annealing alone, with the steps of a millisecond for 50 items."""
    instances = problem.paper_set(size, 200)
    runs = KnapsackLargeStep().runs(instances, np.stack([greedy(i, no_draws) for i in instances]))
    chains = LargeStepChains(runs, stream_keys(0, np.arange(200) << 32))
    chains.advance(np.geomspace(0.3, 0.003, 5_000))
    optima = np.array([problem.bound(i).value for i in instances])
    assert (1 + chains.best_energy / optima).mean() < 5e-5


@pytest.mark.parametrize("kind", ["subset sum", "spanner"])
def test_no_swap_is_left_of_many_items(kind: str) -> None:
    """However few the steps: one in for one out gains nothing any more."""
    instance = hard(kind, 2_000, 10**7, 5)
    first = empty(instance, no_draws)
    for start in (first, greedy(instance, no_draws)):
        chains = chains_at(instance, start)
        chains.advance(np.full(500, 0.1))
        chosen = chains.best[0]
        free = instance.capacity - instance.weights[chosen].sum()
        gains = instance.values[None, :] - instance.values[:, None]
        fits = instance.weights[None, :] - instance.weights[:, None] <= free
        assert not (fits & (gains > 0) & chosen[:, None] & ~chosen[None, :]).any()
    assert instance.objective(chosen) >= greedy_with_swaps(instance)


def test_chunks_and_threads_change_nothing() -> None:
    """Streams are those of a chain and its steps."""
    instance = hard("strongly", 200, 1000, 4)
    first = greedy(instance, no_draws)
    temperatures = np.geomspace(0.3, 0.003, 3_000)
    found = []
    for chunk, threads in ((3_000, 1), (7, 1), (500, 3)):
        chains = chains_at(instance, first, first, first, threads=threads)
        for begin in range(0, 3_000, chunk):
            chains.advance(temperatures[begin : begin + chunk])
        assert_sound(chains, instance)
        assert chains.accepted.min() > 0
        found.append((chains.x.tolist(), chains.accepted.tolist()))
    assert all(other == found[0] for other in found)
    assert found[0][0][0] != found[0][0][1]  # chains of one start go their own ways


def test_an_interrupted_bound_does_not_hide_what_annealing_found() -> None:
    """Of the programme's answer and the chains', the better one counts."""
    instance = hard("strongly", 5_000, 10**7, 3)
    result = nsa.solve(instance, seed=1, time_limit=1.0)
    assert result.bound is not None
    assert not result.bound.exact
    assert result.objective > instance.objective(result.bound.solution)
    assert (result.found_by, result.method) == ("annealing", "large-step")


def test_few_items_are_left_to_annealing() -> None:
    """Two items have nothing to exchange; values of next to nothing have no unit."""
    assert not KnapsackLargeStep().fits(items([1, 2], [1, 2], 2))
    assert KnapsackLargeStep().fits(items([1, 2, 1], [1, 2, 1], 2))
    assert not KnapsackLargeStep().fits(items([1e-310, 2e-310, 1e-310], [1, 2, 1], 2))
