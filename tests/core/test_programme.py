"""The adapter to HiGHS: programmes that grow and move, their values, and how they end."""

import math

import numpy as np
import pytest

from nsa_cli.core.clock import Clock
from nsa_cli.core.programme import Lines, Programme


def triangle():
    """The least x on the corners of a triangle that covers each side once: a half on each."""
    programme = Programme()
    programme.add_columns([1, 1, 1])
    programme.add_rows(1, math.inf, Lines.of([[0, 1], [1, 2], [0, 2]]))
    return programme


def test_values_and_duals_of_an_optimum():
    """Duals of ``>=`` are not negative, those of ``<=`` not positive."""
    programme = triangle()
    found = programme.solve()
    assert found.state == "optimal"
    np.testing.assert_allclose(found.columns, 0.5)
    np.testing.assert_allclose(found.duals, 0.5)
    programme.add_rows([-math.inf], [0.25], Lines.of([[2]], [[1]]))
    found = programme.solve()
    assert found.objective == pytest.approx(1.75)
    np.testing.assert_allclose(found.rows, [1.5, 1, 1, 0.25])
    np.testing.assert_allclose(found.duals, [0, 1, 1, -1], atol=1e-9)


def test_columns_and_costs_and_rows_change():
    programme = triangle()
    programme.add_columns([1], 0, 1, Lines.of([[0, 1, 2]]))
    assert programme.solve().objective == pytest.approx(1)
    programme.set_costs([3], 9)
    assert programme.solve().objective == pytest.approx(1.5)
    programme.delete_columns([3])
    programme.delete_rows([1, 2])
    assert programme.solve().objective == pytest.approx(1)


def test_an_infeasible_programme_has_a_ray():
    """Any multiple of it added to the duals raises their bound."""
    programme = triangle()
    programme.solve()
    programme.set_bounds([0, 1], 0, 0)
    assert programme.solve().state == "infeasible"
    np.testing.assert_allclose(programme.ray(), [1, 0, 0], atol=1e-9)
    programme.set_row_bounds([0], -math.inf, 1)
    assert programme.solve().state == "optimal"
    assert programme.ray() is None


def covering(rows=400, columns=600):
    rng = np.random.default_rng(0)
    programme = Programme()
    programme.add_columns(rng.random(columns) + 0.1)
    chosen = [rng.choice(columns, 20, replace=False) for _ in range(rows)]
    programme.add_rows(1, math.inf, Lines.of(chosen))
    return programme


def test_limits_end_a_solve_and_the_next_goes_on():
    programme = covering()
    assert programme.solve(Clock.of(0)).state == "unfinished"
    assert programme.solve(iterations=3).state == "unfinished"
    found = programme.solve()
    assert found.state == "optimal"


def test_the_same_calls_give_the_same_numbers():
    a, b = covering().solve(), covering().solve()
    np.testing.assert_array_equal(a.columns, b.columns)
    np.testing.assert_array_equal(a.duals, b.duals)


def test_a_basis_is_kept_for_later():
    programme = triangle()
    first = programme.solve()
    kept = programme.basis()
    programme.set_bounds([0], 1, 1)
    programme.solve()
    programme.set_bounds([0], 0, math.inf)
    programme.set_basis(kept)
    assert programme.solve(iterations=1).objective == pytest.approx(first.objective)


def test_nothing_is_printed(capfd):
    """The banner of HiGHS would be in the middle of an answer."""
    triangle().solve()
    assert capfd.readouterr() == ("", "")
