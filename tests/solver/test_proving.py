"""Proofs beside chains and after them: limits, gaps, interrupts, better tours, equal answers."""

from __future__ import annotations

import time

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.solver import proving


def a_task(size, seed=11):
    return nsa.generate("tsp", size, seed=seed)[0]


def test_a_run_with_a_limit_ends_with_the_proof():
    began = time.monotonic()
    result = nsa.solve(a_task(50), seed=1, time_limit=30)
    assert result.stop_reason == "optimal"
    assert result.bound.exact
    assert time.monotonic() - began < 15


def test_a_limit_holds_where_the_proof_takes_longer():
    began = time.monotonic()
    result = nsa.solve(a_task(400), seed=1, time_limit=2)
    assert result.stop_reason == "time_limit"
    assert time.monotonic() - began < 2.6


def test_a_run_ends_where_the_proof_is_near_enough():
    result = nsa.solve(a_task(200), seed=1, time_limit=30, gap="0.5%")
    assert result.stop_reason in ("gap", "optimal")
    assert result.gap <= 0.005


def test_the_same_seed_gives_the_same_answer_whatever_the_threads():
    one, two = (nsa.solve(a_task(120), seed=3, threads=threads) for threads in (1, 2))
    assert one.objective == two.objective
    assert (one.raw == two.raw).all()
    assert one.bound.value == two.bound.value


@pytest.mark.parametrize("more", [{}, {"time_limit": 20}], ids=["after", "beside"])
def test_a_better_tour_of_the_proof_is_the_answer(monkeypatch, more):
    """Chains that begin at a poor tour and find nothing leave the work to the proof."""
    task = a_task(30)
    best = nsa.solve(task, seed=1)
    assert best.status == "optimal"
    monkeypatch.setattr(proving, "_best_of", lambda task, solutions: np.arange(30))
    if more:
        monkeypatch.setattr(proving.Beside, "_look", _starting_anywhere(proving.Beside._look))
    result = nsa.solve(task, seed=1, **more)
    assert result.objective == best.objective
    assert result.status == "optimal"


def _starting_anywhere(look):
    def wrong(self, chains):
        class Wrong:
            best = np.arange(30)[None]
            best_energy = np.array([1e6])

        look(self, Wrong)

    return wrong


def test_an_interrupt_ends_a_proof():
    """Whoever asks for the end gets the answer so far, soon."""
    began = time.monotonic()
    from nsa_cli.solver.settings import Settings
    from nsa_cli.solver.solve import solve_each

    settings = Settings(seed=1, prove=True)
    asked = lambda: time.monotonic() > began + 2.0  # noqa: E731
    ((_, result),) = solve_each([a_task(700)], settings, asked=asked)
    assert result.status in ("feasible", "interrupted")
    assert time.monotonic() - began < 8


def test_paths_fixed_edges_and_directed_lengths_are_proved():
    rng = np.random.default_rng(0)
    coords = rng.random((30, 2)).tolist()
    lengths = rng.integers(1, 100, (25, 25)).tolist()
    for record in (
        {"coords": coords, "open": True},
        {"coords": coords, "open": True, "from": 1, "to": 5},
        {"coords": coords, "fixed_edges": [[1, 2], [7, 9]]},
        {"matrix": lengths, "asymmetric": True},
        {"matrix": lengths, "asymmetric": True, "open": True},
    ):
        result = nsa.solve(record, problem="tsp", seed=1)
        assert result.status == "optimal", record.keys()
