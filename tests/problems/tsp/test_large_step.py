"""The large-step chain: valid tours, exact rejection, honest lengths, the same answer for the same seed."""

from __future__ import annotations

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
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.kicks import start_at
from nsa_cli.problems.tsp.kernels.local_search import (
    QUEUED,
    SEGMENTS,
    descend_logged,
    improve_city,
    roll_back,
)
from nsa_cli.problems.tsp.kernels.metric import tour_length
from nsa_cli.problems.tsp.kernels.spanning_tree import Graph, alpha_nearness, choose
from nsa_cli.problems.tsp.large_step import Setting, TspLargeStep, construction_kicks, prepare
from nsa_cli.problems.tsp.neighbour_lists import sites_of
from nsa_cli.problems.tsp.starts import greedy_edge as greedy


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


@pytest.mark.parametrize("kind", METRICS)
def test_every_metric(kind: str) -> None:
    """All metrics run to a tour at least as short as that of greedy edges; sizes just above exact."""
    rng = np.random.default_rng(4)
    for size in (13, 14, 80):
        instance = TspInstance(
            edge_weight_type=kind, coords=rng.uniform(-80, 80, (size, METRICS[kind].axes)).round(2)
        )
        result = solved(instance, method="large-step", steps=400)
        assert instance.violation(result.raw) is None
        assert result.objective <= instance.objective(greedy(instance))


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
    gained = sum(improve_city(setting.tours.cities, chain, city, 6) for city in range(40))
    moved = tour_length(setting.tours.cities.metric, chain.order)
    assert chain.counts[SEGMENTS] > 20
    assert moved == pytest.approx(tour_length(setting.tours.cities.metric, before[0]) - gained)
    roll_back(chain, 0)
    assert np.array_equal(chain.order, before[0])
    assert np.array_equal(chain.position, before[1])


def test_a_logged_descent_stops_before_its_log_overflows() -> None:
    """From a random tour the log of a whole descent does not fit; the search ends, and is undone exactly."""
    setting = ready(random_cities(3000))
    state = start_at(setting.tours, np.random.default_rng(0).permutation(3000))
    before = state.chain.order.copy()
    assert uncached(descend_logged)(setting.tours.cities, state.chain, 6) > 0.0
    assert state.chain.counts[QUEUED] == 0
    roll_back(state.chain, 0)
    assert np.array_equal(state.chain.order, before)


def test_local_search_ends_where_no_two_exchange_helps() -> None:
    """The descent leaves no improving 2-opt move over candidate edges."""
    instance = random_cities(200)
    setting, first = ready(instance), greedy(instance)
    chains, state, tally = one_chain(setting, setting.sites.order(first), 1)
    assert chains.step == 0  # there is an answer before the first step
    chains.advance(np.empty(0))
    assert state.chain.counts[QUEUED] == 0
    again = sum(improve_city(setting.tours.cities, state.chain, city, 6) for city in range(200))
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
    usual = LEAST_POPULATION * construction_kicks(400) / CONSTRUCTION_SHARE
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
