"""The large-step chain: valid tours, exact rejection, honest lengths, the same answer for the same seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nsa_cli as nsa
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.core.problem import CONSTRUCTION_SHARE, LEAST_POPULATION, LargeStepRun
from nsa_cli.kernels.draws import at_step
from nsa_cli.kernels.jit import uncached
from nsa_cli.kernels.large_steps import ACCEPTED, BEST, CURRENT, STEPS
from nsa_cli.kernels.steps import kick
from nsa_cli.problems.tsp import large_step
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels import local_search
from nsa_cli.problems.tsp.kernels.kicks import start_at
from nsa_cli.problems.tsp.kernels.links import follow_links
from nsa_cli.problems.tsp.kernels.metric import length as metric_length
from nsa_cli.problems.tsp.kernels.metric import tour_length
from nsa_cli.problems.tsp.kernels.partition import GAP, link_gaps, link_part, partition_tour
from nsa_cli.problems.tsp.kernels.spanning_tree import Graph, alpha_nearness, choose
from nsa_cli.problems.tsp.large_step import Setting, TspLargeStep, prepare
from nsa_cli.problems.tsp.neighbour_lists import kernel_metric, sites_of
from nsa_cli.problems.tsp.starts import greedy_edge as greedy
from nsa_cli.solver.search import Beginning, large_steps


def random_cities(size: int, seed: int = 0) -> TspInstance:
    return TspInstance(coords=np.random.default_rng(seed).random((size, 2)))


def ready(instance: TspInstance) -> Setting:
    return prepare(instance, greedy(instance))


def one_chain(setting: Setting, order: np.ndarray, seed: int) -> tuple[LargeStepChains, Any, Any]:
    """Put a chain at a tour of the sites; with its state and its tally."""
    state = start_at(setting.tours, order)
    run = LargeStepRun(setting.tours, state, state.chain.order.copy, state.best.copy)
    chains = LargeStepChains([run], np.array([seed], dtype=np.int64))
    return chains, state, chains._tallies[0]


def solved(instance: TspInstance, **settings: Any) -> nsa.Result:
    """Solve by large steps alone, where there is room for them."""
    return nsa.solve(instance, "tsp", **{"bound": False, "device": "cpu", "seed": 1, **settings})


def awkward() -> dict[str, TspInstance]:
    """Inputs that break what takes general position for granted."""
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), -1).reshape(-1, 2)
    coords = {
        "identical": np.full((30, 2), 2.5),
        "three places": rng.integers(0, 3, (50, 1)) * np.ones(2),
        "many on each place": np.repeat(rng.random((20, 2)), 15, axis=0),
        "collinear": np.stack([rng.random(60), np.zeros(60)], axis=1),
        "grid": grid,
        "far clusters": np.concatenate([rng.random((30, 2)), rng.random((30, 2)) + 1e8]),
        "far from the origin": rng.random((60, 2)) + 1e8,
        "huge": rng.random((40, 2)) * 1e150,
        "tiny": rng.random((40, 2)) * 1e-300,
        "one axis longer": rng.random((60, 2)) * [1e9, 1.0],
    }
    half = np.triu(rng.integers(0, 50, (40, 40)), 1)
    matrices = {"no metric at all": half, "zeros": 0 * half, "negative": np.triu(half - 25, 1)}
    made = {kind: TspInstance(coords=points) for kind, points in coords.items()}
    explicit = {"edge_weight_type": "EXPLICIT"}
    return made | {kind: TspInstance(matrix=m + m.T, **explicit) for kind, m in matrices.items()}


@pytest.mark.parametrize(("kind", "instance"), awkward().items())
def test_awkward_instances(kind: str, instance: TspInstance) -> None:
    """Degenerate and badly scaled inputs give a tour that is no longer than the start."""
    start = np.random.default_rng(1).permutation(instance.size)
    for first in (None, start):
        result = solved(instance, time_limit=0.2, init=first)
        assert instance.violation(result.raw) is None
        assert result.objective <= instance.objective(start)


def test_lengths_beyond_all_numbers() -> None:
    """Where every distance overflows, any tour will do, and the search does not go astray."""
    instance = TspInstance(coords=np.random.default_rng(3).random((40, 2)) * 1e300)
    assert instance.violation(greedy(instance)) is None
    with pytest.raises(nsa.UsageError, match="too few"):
        solved(instance, method="large-step", steps=10)


@given(
    size=st.integers(13, 60),
    seed=st.integers(0, 2**63 - 1),
    levels=st.sampled_from([2, 5, 1000]),
    depth=st.integers(0, 8),
)
@settings(max_examples=40, deadline=None)
def test_chains_keep_permutations_and_count_right(size: int, seed: int, levels: int, depth: int) -> None:
    """At any moment tours are permutations, positions their inverse, and lengths those of the tours."""
    coords = np.random.default_rng(seed).integers(0, levels, (size, 2)).astype(float)
    instance = TspInstance(coords=coords)
    if len(sites_of(instance).numbers) < 13:
        return
    setting = ready(instance)
    setting = setting._replace(tours=setting.tours._replace(depth=depth))
    chains, state, tally = one_chain(setting, setting.sites.order(greedy(instance)), seed)
    for _ in range(5):
        chains.advance(np.full(20, 0.5))
        order, metric = state.chain.order, setting.tours.cities.metric
        everything = np.arange(len(order))
        assert np.array_equal(np.sort(order), everything)
        assert np.array_equal(order[state.chain.position], everything)
        assert state.chain.around.tolist() == [order[-1], *order, order[0]]
        assert np.array_equal(np.sort(state.best), everything)
        assert not state.chain.waiting.any()
        current, best = tally.energies[CURRENT], tally.energies[BEST]
        assert current == pytest.approx(tour_length(metric, order), rel=1e-12)
        assert best == pytest.approx(tour_length(metric, state.best), rel=1e-12)
        assert best <= current + setting.tours.tolerance
    assert tally.counts[STEPS] == chains.step == 100


def test_rolling_back_restores_the_tour_exactly() -> None:
    """After any number of moves the log brings back every position."""
    setting = ready(random_cities(300))
    state = start_at(setting.tours, np.random.default_rng(0).permutation(300))
    chain = state.chain
    before = chain.order.copy(), chain.position.copy()
    gained = sum(local_search.improve_city(setting.tours.cities, chain, city, 6) for city in range(40))
    moved = tour_length(setting.tours.cities.metric, chain.order)
    assert chain.counts[local_search.SEGMENTS] > 20
    assert moved == pytest.approx(tour_length(setting.tours.cities.metric, before[0]) - gained)
    local_search.roll_back(chain, 0)
    assert np.array_equal(chain.order, before[0])
    assert np.array_equal(chain.position, before[1])


def test_a_logged_descent_stops_before_its_log_overflows() -> None:
    """From a random tour the log of a whole descent does not fit; the search ends, and is undone exactly."""
    setting = ready(random_cities(3000))
    state = start_at(setting.tours, np.random.default_rng(0).permutation(3000))
    before = state.chain.order.copy()
    assert uncached(local_search.descend_logged)(setting.tours.cities, state.chain, 6) > 0.0
    assert state.chain.counts[local_search.QUEUED] == 0
    local_search.roll_back(state.chain, 0)
    assert np.array_equal(state.chain.order, before)


def test_local_search_ends_where_no_two_exchange_helps() -> None:
    """The descent leaves no improving 2-opt move over candidate edges."""
    instance = random_cities(200)
    setting, first = ready(instance), greedy(instance)
    chains, state, tally = one_chain(setting, setting.sites.order(first), 1)
    assert chains.step == 0  # there is an answer before the first step
    chains.advance(np.empty(0))
    assert state.chain.counts[local_search.QUEUED] == 0
    again = sum(local_search.improve_city(setting.tours.cities, state.chain, city, 6) for city in range(200))
    assert again == pytest.approx(0.0, abs=0.02 * tally.energies[BEST])
    assert tally.energies[BEST] < 0.9 * instance.objective(first)


@pytest.mark.parametrize("size", [40, 400])
def test_the_same_seed_gives_the_same_tour_in_any_chunks(size: int) -> None:
    """Chunks, threads and looking on change nothing; another seed does."""
    instance = random_cities(size)
    setting = ready(instance)
    ends = []
    for chunk in (1, 7, 500):
        chains, state, tally = one_chain(setting, setting.sites.order(greedy(instance)), 9)
        for k in range(0, 500, chunk):
            chains.advance(np.exp(-3.5 * np.arange(k, min(k + chunk, 500)) / 500))
        ends.append((state.chain.order.tolist(), tally.energies.tolist(), tally.counts.tolist()))
    assert ends[0] == ends[1] == ends[2]
    assert tally.counts[ACCEPTED] > 0
    assert tally.counts[ACCEPTED] < 500 or size < 100  # few cities: each kick comes back to the optimum
    options = {"method": "large-step", "seed": 5, "steps": 300, "chains": 3}
    solve = [solved(instance, threads=k, **options).solution.tolist() for k in (1, 2, 3)]
    assert solve[0] == solve[1] == solve[2]


def test_chains_of_one_start_go_down_together() -> None:
    """Who starts alike descends once; then each goes its own way, as if it had descended alone."""
    instance = random_cities(200)
    tour, other = greedy(instance), np.random.default_rng(2).permutation(200)
    keys, temperatures = np.arange(3) + 77, np.full(50, 0.3)

    def ends(rows: list[int]) -> list[list[int]]:
        first = np.stack([(tour, other, tour)[k] for k in rows])
        chains = LargeStepChains(TspLargeStep().runs([instance] * len(rows), first), keys[rows])
        while chains.step == 0:
            chains.advance(temperatures)
        return chains.x.tolist()

    # The first tour of a batch chooses the candidates: it comes first wherever answers are compared.
    together = ends([0, 1, 2])
    assert together[0] == ends([0])[0]
    assert together[2] == ends([0, 2])[1]
    assert together[0] != together[2]


def test_many_cities_descend_bit_by_bit() -> None:
    """Between two looks at the clock a descent goes on for some cities only, and no step is done."""
    instance = random_cities(5000)
    runs = TspLargeStep().runs([instance] * 2, np.stack([greedy(instance)] * 2))
    chains, rounds = LargeStepChains(runs, np.arange(2)), 0
    lengths = [chains.energy[0]]
    while chains.step == 0:
        chains.advance(np.zeros(1))
        rounds += chains.step == 0
        lengths.append(chains.energy[0])
    assert rounds > 1
    assert lengths == sorted(lengths, reverse=True)
    assert chains.best_energy[0] == pytest.approx(instance.objective(chains.best[0]))


def test_kicks_are_double_bridges_and_cut_what_is_far_by_alpha() -> None:
    """Four edges go and no segment is turned round; of three edges at random the worst is cut."""
    size, bad = 200, 20
    cities = np.arange(size)
    near = np.stack([(cities + 1) % size, (cities - 1) % size], axis=1).astype(np.uint32)
    alpha = np.zeros((size, 2))
    alpha[::bad, 0] = alpha[1::bad, 1] = 1.0
    tours = ready(random_cities(size)).tours
    known = tours.cities._replace(neighbours=near.ravel(), distances=np.ones(2 * size), width=2)
    run = uncached(lambda data, state, step: kick(data, state, at_step(np.int64(5), step)))
    for values, low, high in ((alpha, 0.11, 0.18), (np.zeros((size, 2)), 0.03, 0.07)):
        data, cut = tours._replace(cities=known._replace(alpha=values.ravel()), longest=60), []
        for step in range(500):
            state = start_at(data, cities)
            assert run(data, state, step)
            order = state.chain.order.astype(np.int64)
            assert sorted(order) == list(range(size))
            (broken,) = np.nonzero((np.roll(order, -1) - order) % size != 1)
            assert len(broken) == 4
            cut.extend(order[broken] % bad == 0)
        assert low < np.mean(cut) < high


def test_reaches_what_is_known_on_the_papers_instances(shared: Any) -> None:
    """A few hundred kicks a city come within a tenth of a per cent of the references."""
    references = np.load(shared / "data/reference/tsp100_opt.npy")[:12]
    coords = np.random.RandomState(1234).uniform(size=(10_000, 100, 2))[:12]
    found = [solved(TspInstance(coords=c), method="large-step", steps=1000).objective for c in coords]
    assert (np.array(found) / references).mean() < 1.0005


@pytest.mark.parametrize(
    ("stretched", "populated", "close", "width"),
    [(1.0, False, False, 5), (1.0, True, False, 6), (0.01, False, True, 8), (0.01, True, True, 8)],
)
def test_where_cities_lie_close_together_there_are_more_candidates(
    stretched: float, populated: bool, close: bool, width: int
) -> None:
    """As in a narrow strip, where the nearest are all on one side."""
    instance = TspInstance(coords=np.random.default_rng(1).random((400, 2)) * (1.0, stretched))
    setting = prepare(instance, greedy(instance), populated=populated)
    assert (setting.close, setting.tours.cities.width) == (close, width)


def test_where_cities_lie_close_together_a_population_is_tried_in_less_time() -> None:
    """And it is not elsewhere: by the time that a construction takes as a rule."""
    usual = LEAST_POPULATION * large_step.construction_kicks(400) / CONSTRUCTION_SHARE
    for stretched, share, there in (
        (1.0, 0.99, False),
        (1.0, 1.01, True),
        (0.01, 0.41, True),
        (0.01, 0.39, False),
    ):
        instance = TspInstance(coords=np.random.default_rng(1).random((400, 2)) * (1.0, stretched))
        (run,) = TspLargeStep().runs([instance], greedy(instance)[None], share * usual)
        assert (run.recombination is not None) == there


def test_alpha_is_what_a_tree_grows_by() -> None:
    """Alpha of tree edges is 0, of others what the spanning tree would gain; lists keep the lowest."""
    # A square with sides 1, 2, 3, 4: the tree leaves out 4, whose path has 3 as its longest edge.
    graph = Graph(
        np.array([0, 2, 4, 6, 8]),
        np.array([1, 3, 0, 2, 1, 3, 2, 0]),
        np.array([1.0, 4.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]),
    )
    alpha = alpha_nearness(graph, 1, 0.0, 0.0)
    assert alpha.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    neighbours, distances, kept = choose(graph, alpha, 2)
    assert neighbours.tolist() == [1, 3, 0, 2, 1, 3, 2, 0]
    assert distances.tolist() == [1.0, 4.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]
    assert kept.tolist() == alpha.tolist()
    neighbours, distances, kept = choose(graph, alpha, 1)
    assert neighbours.tolist() == [1, 0, 1, 2]
    assert distances.tolist() == [1.0, 1.0, 2.0, 3.0]
    assert kept.tolist() == [0.0] * 4


# --- chains in parts ---------------------------------------------------------------------------------


@pytest.fixture
def small_parts() -> Iterator[None]:
    """Parts of some fifty cities, so that few cities have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_step, "PART_SIZE", 50)
        yield


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
        some = large_step.cities_of(found, part)
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
    whole = local_search.Cities(metric, near, distances, -distances, width, 0.0)
    for part in range(4):
        some = large_step.cities_of(found, part)
        found_lists = large_step.restrict(whole, found, part, some, parted)[1:4]
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
    assert isinstance(run.partition, large_step.TourPartition)
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
    parts = [large_step.part_count(size) for size in (200, 7999, 8000, 10_000, 20_000, 85_900)]
    assert parts == [1, 1, 4, 4, 4, 16]
    assert (steps.budget(few).chains, steps.budget(many).chains) == (2, 1)
    assert steps.budget(many).steps == 2 * steps.budget(few).steps
    assert [steps.chains(random_cities(100), 0.01, threads) for threads in (1, 2, 3)] == [1, 2, 3]
    assert (steps.chains(few, 10.0, 2), steps.chains(many, 10.0, 2), steps.chains(many, 10.0, 8)) == (2, 1, 2)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("threads", "seconds", "parted"), [(1, 1.0, False), (2, 1.0, True), (1, None, True)])
def test_one_thread_against_the_clock_stays_whole(threads: int, seconds: float | None, parted: bool) -> None:
    """Where time ends a run, threads may decide; where steps do, they may not."""
    instance = random_cities(200)
    steps, left = (5, math.inf) if seconds is None else (None, seconds)
    begin = Beginning([instance], greedy(instance)[None], np.array([3]), 1, steps, left)
    chains = large_steps(TspLargeStep(), threads).start(begin)
    assert bool(chains._partitioned) == parted
