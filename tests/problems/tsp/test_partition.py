"""Chains in parts: one valid tour at any moment, exact lengths, the same answer whoever does the work."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nsa_cli as nsa
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.kernels.jit import uncached
from nsa_cli.problems.tsp import large_step
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.links import follow_links
from nsa_cli.problems.tsp.kernels.local_search import Cities
from nsa_cli.problems.tsp.kernels.metric import length as metric_length
from nsa_cli.problems.tsp.kernels.partition import GAP, link_gaps, link_part, partition_tour
from nsa_cli.problems.tsp.large_step import TourPartition, TspLargeStep, cities_of, part_count, restrict
from nsa_cli.problems.tsp.neighbour_lists import kernel_metric
from nsa_cli.problems.tsp.starts import greedy_edge as greedy
from nsa_cli.solver.search import Beginning, LargeStepSearch


@pytest.fixture
def small_parts() -> Iterator[None]:
    """Parts of some fifty cities, so that few cities have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_step, "PART_SIZE", 50)
        yield


def random_cities(size: int, seed: int = 0) -> TspInstance:
    return TspInstance(coords=np.random.default_rng(seed).random((size, 2)))


def chains_of(instance: TspInstance, key: int = 7, threads: int = 1) -> LargeStepChains:
    """Put one chain at the greedy tour; where it can, it goes in parts."""
    runs = TspLargeStep().runs([instance], greedy(instance)[None])
    return LargeStepChains(runs, np.array([key]), threads=threads)


def check(chains: LargeStepChains, instance: TspInstance) -> None:
    """Tours are tours, and as long as is said."""
    for tours, lengths in ((chains.x, chains.energy), (chains.best, chains.best_energy)):
        assert instance.violation(tours[0]) is None
        assert lengths[0] == pytest.approx(instance.objective(tours[0]), rel=1e-12)
    assert chains.best_energy[0] <= chains.energy[0] * (1 + 1e-12)


def candidates(size: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw candidates, nearest first."""
    rng = np.random.default_rng(seed)
    near = np.array([rng.permutation(np.delete(np.arange(size), k))[:width] for k in range(size)])
    return near.astype(np.uint32).ravel(), np.sort(rng.random((size, width))).ravel()


@given(size=st.integers(8, 80), count=st.sampled_from([2, 4]), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_parts_make_the_tour_again_and_do_not_cross(size: int, count: int, seed: int) -> None:
    """Every city is in one part; cut and joined, a tour is what it was; arcs of parts are nested or apart."""
    rng = np.random.default_rng(seed)
    tour = rng.permutation(size).astype(np.uint32)
    near, _ = candidates(size, 5, seed)
    found = partition_tour(tour, near, 5, rng.random(size), rng.random(count - 1))
    assert sorted(found.cities.tolist()) == list(range(size))
    sizes = np.diff(found.bounds)
    assert sizes.min() >= 1
    links = np.full((size, 2), -1)
    for part in range(count):
        some = cities_of(found, part)
        assert some[some != GAP].tolist() == found.cities[slice(*found.bounds[part : part + 2])].tolist()
        link_part(np.arange(len(some), dtype=np.uint32), some, links)
    link_gaps(found, links)
    again = np.empty(size, np.uint32)
    assert follow_links(links, again, 0)
    edges = {frozenset(pair) for pair in zip(tour.tolist(), np.roll(tour, 1).tolist(), strict=True)}
    assert {frozenset(p) for p in zip(again.tolist(), np.roll(again, 1).tolist(), strict=True)} == edges
    part_of = np.searchsorted(found.bounds, found.place[tour], side="right")
    for one in range(1, count + 1):  # within no arc between two segments is a part that is elsewhere, too
        own = np.flatnonzero(part_of == one)
        arcs = [set(part_of[a + 1 : b]) for a, b in itertools.pairwise(own)]
        arcs.append({*part_of[own[-1] + 1 :], *part_of[: own[0]]})
        assert sum(map(len, arcs)) == len(set().union(*arcs))


def test_cities_beside_each_other_are_not_parted() -> None:
    """A tour that goes there and comes back beside its way is cut across, not along."""
    size = 100
    beside = np.arange(size, dtype=np.uint32)[::-1].copy()
    for draw in (0.1, 0.37, 0.8):
        found = partition_tour(np.arange(size, dtype=np.uint32), beside, 1, np.ones(size), np.array([draw]))
        part = np.searchsorted(found.bounds, found.place, side="right")
        assert (part == part[beside]).all()
        assert 30 <= found.bounds[1] <= 70


def test_cuts_go_where_little_was_parted_before() -> None:
    """An arc ends where the weights are low."""
    size = 100
    around = np.stack([(np.arange(size) + k) % size for k in (1, -1, 2, -2)], axis=1).astype(np.uint32)
    for low in (10, 35, 60, 85):
        weights = np.ones(size)
        weights[low : low + 5] = 0.01
        found = partition_tour(np.arange(size, dtype=np.uint32), around.ravel(), 4, weights, np.array([0.37]))
        part = np.searchsorted(found.bounds, found.place, side="right")
        assert len(set(part[low : low + 5])) == 2


def test_candidates_outside_of_a_part_are_no_number_away() -> None:
    """Those inside come first, in their order; a city that lost some is marked."""
    size, width = 40, 5
    near, distances = candidates(size, width, 3)
    tour = np.random.default_rng(1).permutation(size).astype(np.uint32)
    found = partition_tour(tour, near, width, np.ones(size), np.array([0.2, 0.7, 0.4]))
    parted = np.full(size, 9, np.uint8)
    metric = kernel_metric(random_cities(size), np.arange(size))
    whole = Cities(metric, near, distances, -distances, width, 0.0)
    for part in range(4):
        some = cities_of(found, part)
        found_lists = restrict(whole, found, part, some, parted)[1:4]
        kept, lengths, alpha = (a.reshape(-1, width) for a in found_lists)
        for k, city in enumerate(some):
            wanted = []
            if city != GAP:
                pairs = zip(near.reshape(-1, width)[city], distances.reshape(-1, width)[city], strict=True)
                wanted = [(other, far) for other, far in pairs if other in some]
                assert parted[city] == (len(wanted) < width)
            assert [(some[a], b) for a, b in zip(kept[k], lengths[k], strict=True)][: len(wanted)] == wanted
            assert np.isnan(lengths[k, len(wanted) :]).all()
            assert (alpha[k, : len(wanted)] == -lengths[k, : len(wanted)]).all()


@pytest.mark.parametrize("kind", METRICS)
def test_no_edge_of_any_metric_leads_to_a_gap(kind: str) -> None:
    """What is no number stays none, whatever it is rounded to."""
    rng = np.random.default_rng(4)
    # GEO has formulas only above two thousand cities.
    instance = TspInstance(edge_weight_type=kind, coords=rng.uniform(-80, 80, (2001, METRICS[kind].axes)))
    metric = kernel_metric(instance, np.arange(instance.size))
    data = metric.data.copy().reshape(instance.size, -1)
    data[5] = np.nan
    gapped, length = metric._replace(data=data.ravel()), uncached(metric_length)
    assert np.isnan(length(gapped, 5, 6))
    assert np.isnan(length(gapped, 6, 5))
    assert length(gapped, 6, 7) == instance.edges(np.array([6]), np.array([7]))[0]


@pytest.mark.parametrize("kind", [*METRICS, "EXPLICIT"])
@pytest.mark.usefixtures("small_parts")
def test_every_metric_in_parts(kind: str) -> None:
    """Tours stay tours and lengths exact; matrices, as those of few cities on the globe, stay whole."""
    rng = np.random.default_rng(4)
    if kind == "EXPLICIT":
        matrix = np.triu(rng.integers(1, 1000, (200, 200)), 1)
        instance = TspInstance(edge_weight_type=kind, matrix=matrix + matrix.T)
    else:
        coords = rng.uniform(-80, 80, (200, METRICS[kind].axes)).round(2)
        instance = TspInstance(edge_weight_type=kind, coords=coords)
    (run,) = TspLargeStep().runs([instance], greedy(instance)[None])
    assert (run.partition is None) == (kind in ("GEO", "EXPLICIT"))
    chains = chains_of(instance)
    for steps in (1, 30, 150, 400):
        chains.advance(np.full(steps, 0.3))
        check(chains, instance)
    assert chains.energy[0] < instance.objective(greedy(instance))


def test_many_cities_on_the_globe_go_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where their lengths come from formulas."""
    monkeypatch.setattr(large_step, "PART_SIZE", 500)
    coords = np.random.default_rng(4).uniform(-80, 80, (2100, 2)).round(2)
    instance = TspInstance(edge_weight_type="GEO", coords=coords)
    chains = chains_of(instance)
    for _ in range(4):
        chains.advance(np.full(500, 0.3))
    check(chains, instance)
    assert chains.step > 1050  # more than a round


@given(
    size=st.integers(20, 150),
    part=st.integers(4, 40),
    seed=st.integers(0, 2**63 - 1),
    levels=st.sampled_from([4, 40, 10_000]),
    chunks=st.lists(st.integers(1, 90), min_size=1, max_size=6),
)
@settings(max_examples=40, deadline=None)
def test_a_tour_at_any_moment(size: int, part: int, seed: int, levels: int, chunks: list[int]) -> None:
    """Wherever a run is interrupted, current and best are tours of their lengths; looking changes nothing."""
    coords = np.random.default_rng(seed).integers(0, levels, (size, 2)).astype(float)
    instance = TspInstance(coords=coords)
    if len(np.unique(coords, axis=0)) < 13:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_step, "PART_SIZE", part)
        watched, alone = chains_of(instance, seed), chains_of(instance, seed)
        for chunk in chunks:
            before = watched.best_energy[0]
            watched.advance(np.full(chunk, 0.5))
            check(watched, instance)
            assert watched.best_energy[0] <= before * (1 + 1e-12)
        alone.advance(np.full(sum(chunks), 0.5))
    assert alone.x.tolist() == watched.x.tolist()
    assert alone.best.tolist() == watched.best.tolist()
    assert alone.accepted.tolist() == watched.accepted.tolist()


@pytest.mark.usefixtures("small_parts")
def test_gaps_stay_where_they_are() -> None:
    """However much a part is changed, each gap is between the same two cities."""
    instance = random_cities(400)
    (run,) = TspLargeStep().runs([instance], greedy(instance)[None])
    chains = LargeStepChains([run], np.array([3]))
    chains.advance(np.full(150, 0.5))
    assert isinstance(run.partition, TourPartition)
    seen = 0
    for some, state in run.partition._parts.values():
        order, size = state.chain.order, len(some)
        for gap in np.flatnonzero(some == GAP):
            at = int(np.flatnonzero(order == gap)[0])
            assert {order[at - 1], order[(at + 1) % size]} == {(gap - 1) % size, (gap + 1) % size}
            seen += 1
    assert seen >= len(run.partition._parts) == 8


@pytest.mark.usefixtures("small_parts")
def test_the_same_answer_in_any_chunks_by_any_threads() -> None:
    """Temperatures that differ from step to step go to the same parts' steps; another seed goes elsewhere."""
    instance, steps = random_cities(300), 700
    temperatures = np.exp(-3.5 * np.arange(steps) / steps)
    ends = []
    for chunk, threads in ((steps, 1), (1, 2), (7, 3), (64, 2)):
        chains = chains_of(instance, threads=threads)
        for k in range(0, steps, chunk):
            chains.advance(temperatures[k : k + chunk])
        assert chains.step == steps
        ends.append((chains.x.tolist(), chains.best.tolist(), chains.best_energy.tolist()))
    assert all(end == ends[0] for end in ends)
    early = [chains_of(instance, key=key) for key in (7, 8)]  # late, both are at the optimum
    for chains in early:
        chains.advance(temperatures[:100])
    assert early[0].accepted.tolist() != early[1].accepted.tolist() or (early[0].x != early[1].x).any()


def test_parts_do_about_as_well_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """At equal steps a tenth of a per cent or so is lost at borders, no more."""
    instance, options = random_cities(2000), {"steps": 10_000, "chains": 1, "seed": 1, "bound": False}
    whole = nsa.solve(instance, method="large-step", **options).objective
    monkeypatch.setattr(large_step, "PART_SIZE", 500)
    assert nsa.solve(instance, method="large-step", **options).objective < 1.005 * whole


def test_many_cities_are_one_chain_in_parts() -> None:
    """It does the work of the two chains it stands for; a matrix is not cut."""
    steps = TspLargeStep()
    few, many = random_cities(5000), random_cities(20_000)
    assert [part_count(n) for n in (200, 7999, 8000, 10_000, 20_000, 85_900)] == [1, 1, 4, 4, 4, 16]
    assert (steps.budget(few).chains, steps.budget(many).chains) == (2, 1)
    assert steps.budget(many).steps == 2 * steps.budget(few).steps
    assert [steps.chains(random_cities(100), 0.01, threads) for threads in (1, 2, 3)] == [1, 2, 3]
    assert (steps.chains(few, 10.0, 2), steps.chains(many, 10.0, 2), steps.chains(many, 10.0, 8)) == (
        2,
        1,
        2,
    )


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("threads", "seconds", "parted"), [(1, 1.0, False), (2, 1.0, True), (1, None, True)])
def test_one_thread_against_the_clock_stays_whole(threads: int, seconds: float | None, parted: bool) -> None:
    """Where time ends a run, threads may decide; where steps do, they may not."""
    instance = random_cities(200)
    search = LargeStepSearch(
        large_step=TspLargeStep(), threads=threads, seconds=seconds, acceptance="metropolis"
    )
    chains = search.start(
        Beginning([instance], greedy(instance)[None], np.array([3]), seconds=seconds or math.inf)
    )
    assert bool(chains._partitioned) == parted
