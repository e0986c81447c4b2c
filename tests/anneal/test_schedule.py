"""Temperatures: over steps and time, adapted to a pilot's energies, and as policies see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nsa_cli as nsa
from nsa_cli.anneal.loop import run_chains
from nsa_cli.anneal.schedule import (
    KINDS,
    AdaptiveSchedule,
    Schedule,
    TemperatureHold,
    TimedSchedule,
    path_through,
)
from nsa_cli.core.errors import UsageError

FALLING = np.geomspace(10.0, 0.01, 64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [1, 2, 3, 1000])
def test_the_first_temperature_is_t_start_and_the_last_t_end(kind, steps):
    """Of K steps the first sees T0 and the last TK; a constant schedule stays at T0."""
    temperatures = Schedule(steps, 0.7, 0.01, kind).temperatures(0, steps)
    assert len(temperatures) == steps
    assert temperatures[0] == 0.7
    if steps > 1:
        assert temperatures[-1] == (0.7 if kind == "constant" else 0.01)


def test_geometric_falls_by_one_factor_and_linear_by_one_difference():
    """Neighbouring temperatures have a constant ratio, or a constant difference."""
    geometric = Schedule(50, 1.0, 0.1, "geometric").temperatures(0, 50)
    np.testing.assert_allclose(geometric[1:] / geometric[:-1], 0.1 ** (1 / 49))
    linear = Schedule(11, 1.0, 0.0, "linear").temperatures(0, 11)
    np.testing.assert_allclose(linear, np.arange(10, -1, -1) / 10)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_join_to_the_whole(kind):
    """A schedule cut anywhere is the same schedule."""
    schedule = Schedule(37, 2.0, 0.05, kind)
    parts = [schedule.temperatures(a, b) for a, b in ((0, 1), (1, 20), (20, 36), (36, 37))]
    np.testing.assert_array_equal(np.concatenate(parts), schedule.temperatures(0, 37))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((-1,), "steps"),
        ((10, -1.0, 0.1), "t_start"),
        ((10, 1.0, float("nan")), "t_end"),
        ((10, 1.0, 0.0), "geometric"),
        ((10, 1.0, 0.0, "adaptive"), "adaptive"),
        ((10, 1.0, 0.1, "quadratic"), "schedule"),
    ],
)
def test_impossible_schedules_are_refused_by_name(arguments, word):
    """The message says which number is wrong."""
    with pytest.raises(UsageError, match=word):
        Schedule(*arguments)


def test_a_span_of_time_goes_on_at_the_pace_so_far(monkeypatch):
    """After 100 steps in a quarter of the time, 400 take it all; before the first there is no pace."""
    monkeypatch.setattr("nsa_cli.anneal.schedule.time.monotonic", lambda: 12.5)
    timed = TimedSchedule.of(Schedule(1, 1.0, 0.01), began=10.0, until=20.0)
    expected = Schedule(401, 1.0, 0.01).temperatures(100, 116)
    np.testing.assert_allclose(timed.temperatures(100, 116), expected)
    many = timed.temperatures(100, 1000)
    assert (np.diff(many) <= 0).all()
    np.testing.assert_allclose([many[0], many[-1]], [0.01**0.25, 0.01])
    assert len(set(timed.temperatures(0, 50))) == 1
    assert len(timed.temperatures(100, 100)) == 0


class Steps:
    """Chains that do nothing but count, at an energy that a temperature says."""

    most, phase, doing = 1 << 20, "", ""

    def __init__(self, energy: Any = lambda t: t) -> None:
        self.step, self.temperatures, self._energy = 0, [], energy
        self.accepted, self.best_energy, self.energy = np.zeros(1), np.zeros(1), np.zeros(1)

    def advance(self, temperatures: Any, used: float = 0.0) -> None:
        self.temperatures += temperatures.tolist()
        self.step += len(temperatures)

    @property
    def search_energy(self) -> Any:
        return np.array([self._energy(self.temperatures[-1])])


def test_a_constant_heat_capacity_asks_for_geometric_cooling() -> None:
    """Sigma / T is the same everywhere."""
    path = path_through(FALLING, FALLING * 7.0 - 3.0, 10.0, 0.01)
    assert path == pytest.approx(np.linspace(np.log(10.0), np.log(0.01), len(path)), abs=0.35)


def test_time_is_spent_where_energy_falls() -> None:
    """A two-level system has its heat capacity around a gap of 0.4 (Schottky's anomaly)."""
    path = path_through(FALLING, 1 / (1 + np.exp(1.0 / FALLING)), 10.0, 0.01)
    near = (path > np.log(0.15)) & (path < np.log(1.2))
    assert near.mean() > 1.5 * (np.log(1.2 / 0.15) / np.log(10.0 / 0.01))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80),
    st.floats(1e-6, 1e3),
    st.floats(1e-6, 1e3),
)
def test_any_pilot_gives_a_path_from_the_first_to_the_last_temperature(energies, first, last) -> None:
    """One way, no place left out, whatever the energies."""
    pilot = np.geomspace(first, last, len(energies))
    path = path_through(pilot, np.array(energies), first, last)
    assert (path[0], path[-1]) == pytest.approx((np.log(first), np.log(last)))
    steps = np.diff(path) * np.sign(np.log(last) - np.log(first) or -1.0)
    assert (steps >= -1e-12).all()


@pytest.mark.parametrize("steps", [1, 2, 50, 639, 640, 5_000])
@pytest.mark.parametrize("chunk", [None, 1, 7, 10_000])
def test_any_number_of_steps_ends_cold_whatever_the_chunks(steps: int, chunk: int | None) -> None:
    """A pilot where there are steps enough for one; the same temperatures however a run is cut."""
    whole, cut = Steps(), Steps()
    run_chains(whole, AdaptiveSchedule(Schedule(steps, 2.0, 0.01, "adaptive")))  # type: ignore[arg-type]
    run_chains(cut, AdaptiveSchedule(Schedule(steps, 2.0, 0.01, "adaptive")), chunk=chunk)  # type: ignore[arg-type]
    assert whole.temperatures == cut.temperatures
    assert len(cut.temperatures) == steps
    assert cut.temperatures[0] == pytest.approx(2.0)
    if steps > 1:
        assert cut.temperatures[-1] == pytest.approx(0.01, rel=1e-12)
    heatings = (np.diff(cut.temperatures) > 0).sum()
    assert heatings == (steps >= 640)  # after the pilot


def test_a_span_of_time_has_its_pilot_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks after each chunk, of a millisecond; then what the pilot asks for; cold in the end."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    until = now[0] + 0.3
    course = TimedSchedule.of(Schedule(10, 1.0, 0.001, "adaptive"), now[0], until)
    schedule, chains = AdaptiveSchedule(course), Steps(lambda t: -1.0 if t < 0.1 else 0.0)
    while now[0] < until + 0.01:
        if chains.step >= schedule.due:
            schedule.look(chains)  # type: ignore[arg-type]
        chains.advance(schedule.temperatures(chains.step, chains.step + 3))
        now[0] += 0.001
    temperatures = np.array(chains.temperatures)
    assert (np.diff(temperatures) > 0).sum() == 1
    assert schedule.temperatures(chains.step, chains.step + 2).tolist() == [0.001, 0.001]


@pytest.mark.parametrize("name", ["bin", "knapsack", "tsp", "rosenbrock"])
def test_backends_threads_and_batch_mates_change_nothing(name: str) -> None:
    """Each instance has the temperatures that its own chains ask for."""
    tasks = nsa.generate(name, 14, 2, seed=3)
    options = {"seed": 5, "steps": 900, "chains": 2, "policy": "uniform", "bound": False}
    options["schedule"] = "adaptive"
    pairs = nsa.solve_many(tasks, threads=1, **options)
    for task, result in zip(tasks, pairs, strict=True):
        alone = nsa.solve(task, threads=2, on_progress=lambda _: None, **options)
        assert alone.solution.tolist() == result.solution.tolist()
        assert (alone.accepted, alone.steps) == (result.accepted, 900)
        assert alone.schedule["kind"] == "adaptive"
    reference = nsa.solve(tasks[0], backend="torch", **options)
    assert reference.accepted == pytest.approx(pairs[0].accepted, rel=0.05)


def test_large_steps_take_it_too() -> None:
    """And under a time limit."""
    (task,) = nsa.generate("tsp", 30, seed=1)
    kicked = nsa.solve(task, seed=1, steps=1_000, method="large-step", schedule="adaptive", bound=False)
    assert kicked.steps == 1_000
    timed = nsa.solve(task, seed=1, time_limit=0.3, method="anneal", schedule="adaptive", threads=1)
    assert timed.status in ("time_limit", "optimal")


@given(
    steps=st.integers(1, 20),
    cuts=st.lists(st.integers(0, 100), max_size=8),
)
def test_it_is_that_of_every_so_many_steps_whatever_the_chunks(steps, cuts):
    temperatures, held = np.geomspace(1.0, 0.1, 100), TemperatureHold(steps)
    begins = [0, *sorted(cuts)]
    shown = [held.shown(a, t) for a, t in zip(begins, np.split(temperatures, sorted(cuts)), strict=True)]
    assert np.concatenate(shown) == pytest.approx(temperatures[np.arange(100) // steps * steps], abs=0)


def test_steps_that_begin_in_the_middle_are_shown_the_first_that_is_known():
    assert (TemperatureHold(4).shown(6, np.array([0.5, 0.4, 0.3, 0.2])) == [0.5, 0.5, 0.3, 0.3]).all()
