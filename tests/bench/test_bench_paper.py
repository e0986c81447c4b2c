"""The paper's figures as data: typed from the tables, misprints marked."""

import pytest

import nsa_cli as nsa
from nsa_cli.bench.paper import MISPRINT, Cell, best_figures, find_contribution, load_figures, published
from nsa_cli.problems import builtin_names
from nsa_cli.problems.contribution import BenchContribution

WITH_FIGURES = ("bin", "knapsack", "tsp")


def figures(problem):
    return load_figures(nsa.find_problem(problem))


@pytest.mark.parametrize(
    ("problem", "table", "cell", "value", "gap"),
    [
        ("knapsack", "knapsack-results", Cell("SA", 200, 10, "sampled"), 50.89, 11.73),
        ("knapsack", "knapsack-results", Cell("Bello AS", 100), 40.50, None),
        ("knapsack", "knapsack-results", Cell("Greedy", 2000), 576.89, 0.06),
        ("knapsack", "knapsack-full-es", Cell("ES", 1000, 2, "sampled"), 276.48, None),
        ("knapsack", "knapsack-full-ppo", Cell("PPO", 200, 1, "greedy"), 48.58, None),
        ("bin", "binpacking-results", Cell("OR-Tools SCIP", 100), 53.91, 1.89),
        ("bin", "binpacking-full-es", Cell("ES", 2000, 1, "greedy"), 1017.88, None),
        ("bin", "binpacking-full-ppo", Cell("PPO", 1000, 5, "sampled"), 522.30, None),
        ("tsp", "tsp", Cell("SA", 500, 10, "sampled"), 20.22, 22.25),
        ("tsp", "tsp-full-ppo", Cell("PPO", 500, 5, "sampled"), 17.79, None),
        ("tsp", "TSP-full", Cell("GAT", 100, None, "sampled"), 7.94, 2.26),
        ("tsp", "TSP-full", Cell("Costa {2000}", 50), 5.70, 0.12),
        ("tsp", "generalisation-results", Cell("ES", 50, 10, "sampled"), None, 2.32),
    ],
)
def test_figures_are_those_of_the_paper(problem, table, cell, value, gap):
    """Typed by hand from the tables."""
    (found,) = [f for f in figures(problem) if f.table == table and f.cell == cell]
    assert (found.value, found.gap_percent) == (value, gap)


@pytest.mark.parametrize(("problem", "count"), [("knapsack", 6 * 2 * 5), ("bin", 6 * 2 * 5), ("tsp", 8 * 5)])
def test_the_appendix_is_whole(problem, count):
    """Five rollouts for both methods, each with its spread."""
    assert sum(f.spread is not None for f in figures(problem)) == count


@pytest.mark.parametrize("problem", WITH_FIGURES)
def test_no_cell_is_twice_in_a_table(problem):
    """A figure has one place."""
    places = [(f.table, f.cell) for f in figures(problem)]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("problem", WITH_FIGURES)
def test_sizes_are_those_of_the_test_sets(problem):
    """No figure is of a size that cannot be asked for."""
    assert {f.size for f in figures(problem)} == set(nsa.find_problem(problem).paper_sizes)


@pytest.mark.parametrize(
    ("problem", "table", "solver", "sizes"),
    [
        ("knapsack", "knapsack-results", "ES", {200}),
        ("bin", "binpacking-results", "PPO", {200, 500, 1000, 2000}),
        ("bin", "binpacking-results", "ES", {500, 1000, 2000}),
        ("bin", "binpacking-results", "FFD", {2000}),
        ("tsp", "tsp", "PPO", {20, 50, 100}),
        ("tsp", "TSP-full", "PPO", {20, 50, 100}),
        ("tsp", "generalisation-results", "PPO", {20, 50, 100}),
    ],
)
def test_misprints_are_marked(problem, table, solver, sizes):
    """Those and no others of the row."""
    rows = [f for f in figures(problem) if (f.table, f.solver) == (table, solver)]
    assert {f.size for f in rows if f.note.startswith(MISPRINT)} == sizes


@pytest.mark.parametrize(
    ("problem", "solver", "sizes"), [("bin", "FFD", {500, 1000}), ("knapsack", "OR-Tools", None)]
)
def test_what_else_is_known_of_a_figure_is_noted(problem, solver, sizes):
    """First fit decreasing differs a little, OR-Tools cut its values."""
    found = [f for f in figures(problem) if f.solver == solver and f.value and (not sizes or f.size in sizes)]
    assert found
    assert all(f.note for f in found)


@pytest.mark.parametrize(
    ("problem", "cell", "value"),
    [
        ("knapsack", Cell("ES", 200, 10, "sampled"), 56.58),
        ("bin", Cell("PPO", 200, 10, "sampled"), 105.86),
        ("bin", Cell("ES", 2000, 10, "sampled"), 1028.67),
        ("tsp", Cell("PPO", 100, 10, "sampled"), 7.874),
    ],
)
def test_a_misprint_gives_way(problem, cell, value):
    """Where another table has the right figure, that one stands beside ours."""
    found = best_figures(figures(problem))[cell]
    assert found.value == value
    assert not found.note.startswith(MISPRINT)


def test_a_gap_comes_from_the_table_with_the_same_value():
    """The appendix has the spread, the main table the gap."""
    found = best_figures(figures("knapsack"))[Cell("ES", 50, 10, "sampled")]
    assert (found.spread, found.gap_percent) == (0.0, 0.84)


def test_published_are_those_asked_for_and_not_measured():
    """Other sizes, other steps, and what a row of ours stands beside are left out."""
    best = best_figures(figures("bin"))
    shown = {f.cell for f in published(best, 50, [10], [Cell("FFD", 50)])}
    assert Cell("OR-Tools SCIP", 50) in shown
    assert Cell("PPO", 50, 10, "sampled") in shown
    assert {c.size for c in shown} == {50}
    assert {c.steps for c in shown} == {None, 10}
    assert Cell("FFD", 50) not in shown


@pytest.mark.parametrize("problem", builtin_names())
def test_contributions_name_solvers_that_the_paper_has(problem):
    """A name that no table has would silently have no figure."""
    contribution, solvers = find_contribution(nsa.find_problem(problem)), {f.solver for f in figures(problem)}
    named = [*contribution.heuristics.values(), *contribution.peers.values()]
    assert {x.paper for x in named if x.paper} <= solvers
    assert all(start > end > 0 for start, end in contribution.temperatures.values())


def test_a_problem_of_ones_own_contributes_nothing():
    """A class in a file has no package to look into."""
    problem = nsa.find_problem("examples/maxcut.py:MaxCut")
    assert find_contribution(problem) == BenchContribution()
    assert load_figures(problem) == ()
