"""Neighbourhoods of all problems: found by name, the same object each time, the paper's first."""

import numpy as np
import pytest

from nsa_cli.core.errors import UsageError
from nsa_cli.problems import builtin_names, find_problem

CASES = [(name, n.name) for name in builtin_names() for n in find_problem(name).neighbourhoods]


@pytest.mark.parametrize(("name", "neighbourhood"), CASES)
def test_a_name_finds_the_same_object_each_time(name, neighbourhood):
    """Instances share a batch by it."""
    problem = find_problem(name)
    found = problem.neighbourhood(neighbourhood)
    assert found is problem.neighbourhood(neighbourhood)
    assert found.name == neighbourhood


@pytest.mark.parametrize("name", builtin_names())
def test_the_papers_is_first_and_the_default_is_one_of_them(name):
    """Uniform proposals take the one, `solve` the other."""
    problem = find_problem(name)
    assert problem.neighbourhoods[0].name == "paper"
    assert problem.neighbourhood() in problem.neighbourhoods


@pytest.mark.parametrize(("name", "neighbourhood"), CASES)
def test_a_budget_fits_every_size(name, neighbourhood):
    """Temperatures fall, and there is a chain; the smallest instances may have nothing to do."""
    problem = find_problem(name)
    for size in (2, 3, 10, 1_000):
        instance = problem.generate(size, np.random.default_rng(0))
        budget = problem.neighbourhood(neighbourhood).budget(instance)
        assert budget.steps >= 0
        assert budget.chains >= 1
        assert budget.t_start >= budget.t_end > 0


@pytest.mark.parametrize("name", builtin_names())
def test_an_unknown_name_is_answered_with_the_known_ones(name):
    """In one line that names the option."""
    with pytest.raises(UsageError, match=r"^neighbourhood: there is no 'foo'; there (is|are) paper"):
        find_problem(name).neighbourhood("foo")
