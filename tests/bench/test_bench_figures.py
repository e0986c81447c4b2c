"""Means, errors and gaps against values worked out by hand; the paper's figures as data."""

import numpy as np
import pytest
from scipy.special import stdtrit

import nsa_cli as nsa
from nsa_cli.bench import statistics
from nsa_cli.bench.suites import find_contribution, load_figures
from nsa_cli.problems import builtin_names
from nsa_cli.problems.contribution import BenchContribution


def test_half_widths():
    """Of two values t is tan(0.475 pi) = 12.7062, their deviation the root of 2; of many, t is 1.96."""
    assert statistics.half_width(np.array([0.0, 2.0])) == pytest.approx(np.tan(0.475 * np.pi))
    values = np.tile([-1.0, 1.0], 5000)
    assert statistics.half_width(values) == pytest.approx(1.96 / 100, rel=1e-3)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 10, 99, 1000])
def test_students_quantiles_are_scipys(degrees):
    """Of an even and of an odd number of degrees, from the middle outwards."""
    for probability in (0.5, 0.6, 0.975, 0.9995):
        expected = pytest.approx(stdtrit(degrees, probability), abs=1e-12, rel=1e-11)
        assert statistics.student_quantile(probability, degrees) == expected


def test_nothing_is_made_up_where_nothing_can_be_estimated():
    """One value has no error, a missing one makes what is estimated unknown."""
    for values in (np.array([3.0]), np.array([1.0, np.nan])):
        assert statistics.half_width(values) is None
    assert statistics.spread(np.array([3.0])) is None
    assert statistics.spread(np.array([1.0, 2.0, 3.0])) == 1.0
    assert statistics.known(np.nan) is None


def test_gaps():
    """Positive where worse, whatever the sense and the sign; rounding is none, and none is relative to 0."""
    pairs = ((11.0, 10.0), (5.0, 10.0), (7.0, 7.0))
    assert [statistics.relative(*pair, "min") for pair in pairs] == pytest.approx([0.1, -0.5, 0.0])
    assert [statistics.relative(*pair, "max") for pair in pairs] == pytest.approx([-0.1, 0.5, 0.0])
    assert statistics.relative(-9.0, -10.0, "min") == pytest.approx(0.1)
    assert statistics.relative(0.1 + 0.2, 0.3, "min") == statistics.relative(0.0, 0.0, "min") == 0
    assert np.isnan(statistics.relative(1.0, 0.0, "min"))


def test_means_by_key():
    """Of equal keys, in their order."""
    means = statistics.means_by(np.array([2, 1, 2]), np.array([1.0, 5.0, 3.0]))
    assert means.tolist() == [5.0, 2.0]


@pytest.mark.parametrize(
    ("problem", "cell", "value", "gap"),
    [
        ("knapsack", ("SA", 200, 10, "sampled"), 50.89, 11.73),
        ("knapsack", ("Bello AS", 100, None, ""), 40.50, None),
        ("knapsack", ("ES", 50, 10, "sampled"), 19.95, 0.84),  # of two tables, the spread and the gap
        ("knapsack", ("ES", 200, 10, "sampled"), 56.58, None),  # another table has a misprint
        ("bin", ("OR-Tools SCIP", 100, None, ""), 53.91, 1.89),
        ("bin", ("ES", 2000, 10, "sampled"), 1028.67, None),  # the same
        ("bin", ("PPO", 1000, 5, "sampled"), 522.30, None),
        ("tsp", ("SA", 500, 10, "sampled"), 20.22, 22.25),
        ("tsp", ("PPO", 100, 10, "sampled"), 7.874, 1.42),  # the same
        ("tsp", ("GAT", 100, None, "sampled"), 7.94, 2.26),
    ],
)
def test_figures_are_those_of_the_paper(problem, cell, value, gap):
    """Typed by hand from the tables, each cell once."""
    found = load_figures(nsa.find_problem(problem))[cell]
    assert (found.value, found.gap_percent) == (value, gap)


@pytest.mark.parametrize(("problem", "count"), [("knapsack", 6 * 2 * 5), ("bin", 6 * 2 * 5), ("tsp", 8 * 5)])
def test_the_appendix_is_whole(problem, count):
    """Five rollouts for both methods, each with its spread; all sizes can be asked for."""
    found = load_figures(nsa.find_problem(problem)).values()
    assert sum(figure.spread is not None for figure in found) == count
    assert {figure.size for figure in found} == set(nsa.find_problem(problem).paper_sizes)


@pytest.mark.parametrize("problem", builtin_names())
def test_contributions_name_solvers_that_the_paper_has(problem):
    """A name that no table has would silently have no figure."""
    found = nsa.find_problem(problem)
    contribution, solvers = find_contribution(found), {f.solver for f in load_figures(found).values()}
    named = [*contribution.heuristics.values(), *contribution.peers.values()]
    assert {x.paper for x in named if x.paper} <= solvers
    assert all(start > end > 0 for start, end in contribution.temperatures.values())


def test_a_problem_of_ones_own_contributes_nothing():
    """A class in a file has no package to look into."""
    problem = nsa.find_problem("examples/maxcut.py:MaxCut")
    assert find_contribution(problem) == BenchContribution()
    assert load_figures(problem) == {}
