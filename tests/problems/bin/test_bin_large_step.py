"""The repack walk: packings that hold, never more bins, the same answer whatever the chunks and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import nsa_cli as nsa
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.problems.bin import problem
from nsa_cli.problems.bin.heuristics import first_fit_decreasing, singletons
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.kernels.large_step import BINS, LOOSE
from nsa_cli.problems.bin.large_step import BinLargeStep


def no_draws(_: int) -> NDArray[np.float64]:
    raise AssertionError("these starts draw nothing")


def chains_at(
    instance: BinInstance, *starts: NDArray[Any], seed: int = 1, threads: int = 1, rest: bool = True
) -> LargeStepChains:
    keys = stream_keys(seed, np.arange(len(starts)))
    runs = BinLargeStep().runs([instance] * len(starts), np.stack(starts))
    if not rest:
        runs = [walk._replace(data=walk.data._replace(least=0)) for walk in runs]
    return LargeStepChains(runs, keys, threads=threads)


def triplets(bins: int, seed: int) -> BinInstance:
    """Three items a bin that fill it exactly, as Falkenauer (1996) drew them."""
    rng = np.random.default_rng(seed)
    large = rng.integers(380, 491, bins)
    middle = np.array([rng.integers(250, (1000 - a) // 2 + 1) for a in large])
    weights = np.concatenate([large, middle, 1000 - large - middle])
    return BinInstance(weights=rng.permutation(weights), capacity=1000)


def assert_sound(chains: LargeStepChains, instance: BinInstance) -> None:
    """What the arrays of a chain say is what its packing is."""
    for row, packing in enumerate(walk.state for walk in chains._runs):
        bin_of, bins = chains.x[row], int(packing.counts[BINS])
        assert instance.violation(bin_of) is None
        assert chains.energy[row] == chains.best_energy[row] == instance.objective(bin_of) == bins
        loads = np.zeros(bins, dtype=np.int64)
        np.add.at(loads, bin_of, instance.exact.units)
        assert packing.load[:bins].tolist() == loads.tolist()
        assert packing.size[:bins].tolist() == np.bincount(bin_of).tolist()
        loose = packing.loose[: packing.counts[LOOSE]].tolist()
        assert sorted(loose) == np.flatnonzero(loads < instance.exact.capacity).tolist()
        assert packing.place[loose].tolist() == list(range(len(loose)))


AWKWARD = {
    "no weight": ([0] * 9, 5),
    "no weight and no capacity": ([0] * 9, 0),
    "as heavy as the capacity": ([7] * 9, 7),
    "all equal": ([3] * 20, 10),
    "one bin": ([1, 2, 3, 1], 100),
    "two bins": ([5, 5, 5, 5], 10),
    "decimals": ([0.1] * 30, 1),
    "some of no weight": ([0, 6, 0, 4, 5, 5, 0, 10] * 3, 10),
    "near the limit": ([2**57, 2**57 - 1, 2**56, 2**56 + 1] * 4, 2**58),
    "no common unit": ([1e300, 1e-300, 5e299, 3e299, 1.0, 2e299] * 2, 1.2e300),
    "many a bin": ([1, 2, 3] * 200, 300),
    "too many a bin": ([1] * 900 + [7] * 100, 800),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("start", [singletons, first_fit_decreasing])
def test_awkward_items_stay_packed(name: str, start: Any) -> None:
    """Empty, full, equal, huge and unscalable weights; never more bins than at the start."""
    weights, capacity = AWKWARD[name]
    instance = BinInstance(weights=np.array(weights), capacity=capacity)
    first = start(instance, no_draws)
    chains = chains_at(instance, first, first)
    chains.advance(np.full(2_000, 1e-3))
    assert_sound(chains, instance)
    assert chains.energy.max() <= instance.objective(first)
    assert chains.step == 2_000


@given(
    weights=st.lists(st.integers(0, 30), min_size=3, max_size=60),
    scale=st.sampled_from([1, 0.1, 1 / 3, 10**15]),
    start=st.sampled_from([singletons, first_fit_decreasing]),
    temperature=st.sampled_from([0.0, 1e-3, 1.0]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=80, deadline=None)
def test_any_packing_stays_one_and_needs_no_more_bins(
    weights: list[int], scale: float, start: Any, temperature: float, seed: int
) -> None:
    """Whatever the weights, also where chains climb at random."""
    instance = BinInstance(weights=np.array(weights) * scale, capacity=(30 + seed % 40) * scale)
    first = start(instance, no_draws)
    chains = chains_at(instance, first, seed=seed, rest=False)
    for _ in range(5):
        before = chains.energy[0]
        chains.advance(np.full(40, temperature))
        assert_sound(chains, instance)
        assert chains.energy[0] <= before


def test_starts_may_use_any_bin_numbers() -> None:
    """Gaps between them close up."""
    instance = BinInstance(weights=np.array([4, 4, 4, 5, 6, 6]), capacity=10)
    chains = chains_at(instance, np.array([5, 5, 2, 2, 0, 4]))
    assert chains.energy.tolist() == [4]
    assert_sound(chains, instance)
    assert [sorted(b) for b in instance.bins(chains.x[0])] == [[0, 1], [2, 3], [4], [5]]
    chains.advance(np.full(200, 1e-3))
    assert chains.energy.tolist() == [3]  # 4 + 6, 4 + 6, 4 + 5


def test_chunks_and_threads_change_nothing() -> None:
    """Streams are those of a chain and its steps."""
    instance = problem.generate(80, np.random.default_rng(4))
    first = first_fit_decreasing(instance, no_draws)
    temperatures = np.geomspace(1e-2, 1e-4, 3_000)
    found = []
    for chunk, threads in ((3_000, 1), (3_000, 2), (7, 1), (500, 3)):
        chains = chains_at(instance, first, first, first, threads=threads, rest=False)
        for begin in range(0, 3_000, chunk):
            chains.advance(temperatures[begin : begin + chunk])
        assert chains.accepted.min() > 0
        found.append((chains.x.tolist(), chains.accepted.tolist()))
    assert all(other == found[0] for other in found)
    assert found[0][0][0] != found[0][0][1]  # chains of one start go their own ways
    chains = chains_at(instance, first, first, first, seed=2, rest=False)
    chains.advance(temperatures)
    assert chains.x.tolist() != found[0][0]


def test_uniform_items_reach_their_bound() -> None:
    """As OR-Library's u120: weights 20 to 100, capacity 150; first fit needs a bin more than the bound."""
    drawn = (np.random.default_rng(seed).integers(20, 101, 120) for seed in range(100))
    instances = [BinInstance(weights=weights, capacity=150) for weights in drawn]
    worse = [
        instance
        for instance in instances
        if instance.objective(first_fit_decreasing(instance, no_draws)) > problem.bound(instance).value
    ][:3]
    assert len(worse) == 3
    for instance in worse:
        least = problem.bound(instance).value
        result = nsa.solve(instance, seed=1, bound=False, target=least)
        assert (result.stop_reason, result.method) == ("target", "large-step")
        assert result.objective == least == instance.objective(result.raw)


def test_triplets_are_packed_without_a_gap() -> None:
    """First fit needs several bins more than the third of the items that fills them exactly."""
    instance = triplets(40, seed=3)
    assert instance.objective(first_fit_decreasing(instance, no_draws)) > 44
    (result,) = nsa.solve_many([nsa.Task(problem, instance)], seed=1)
    assert (result.objective, result.status) == (40, "optimal")
    assert instance.violation(result.raw) is None


def test_many_items_take_memory_in_proportion() -> None:
    """Arrays of a chain hold a few numbers an item."""
    instance = problem.generate(20_000, np.random.default_rng(1))
    chains = chains_at(instance, np.arange(20_000))
    arrays = chains._runs[0].state
    assert sum(array.nbytes for array in arrays) < 100 * 20_000
    chains.advance(np.full(40_000, 1e-5))
    assert chains.energy[0] < 15_000
    assert_sound(chains, instance)


def test_few_items_are_left_to_annealing() -> None:
    """Two items have nothing to repack."""
    chains = BinLargeStep()
    assert not chains.fits(BinInstance(weights=np.array([1, 2]), capacity=2))
    assert chains.fits(BinInstance(weights=np.array([1, 2, 1]), capacity=2))
