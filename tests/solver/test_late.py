"""Work that cannot be broken off is left behind when there is a reason to stop."""

import threading
import time

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.core.clock import Clock
from nsa_cli.kernels import calls
from nsa_cli.problems import as_problem
from nsa_cli.problems.tsp.starts import greedy_edge
from nsa_cli.solver.late import LateError, in_time
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.solve import solve_each

from user_problems import Row


def test_work_is_done_in_a_thread_and_its_result_or_error_handed_over():
    """Whatever it is."""
    assert in_time(lambda *_: threading.current_thread().name, Clock()) == "nsa"
    with pytest.raises(ZeroDivisionError):
        in_time(lambda *_: 1 / 0, Clock())


def test_work_is_left_for_a_reason_that_it_does_not_see():
    """The reason is told; the worker is told, too, that nobody waits, and shows nothing more."""
    begin, ended, shown = time.monotonic(), threading.Event(), []

    def work(clock, show):
        time.sleep(1.0)  # in code that cannot look
        while clock.reason() is None:
            time.sleep(0.01)
        show("late")
        ended.set()

    with pytest.raises(LateError) as caught:
        in_time(work, Clock(asked=lambda: time.monotonic() > begin + 0.1), shown.append)
    assert caught.value.reason == "interrupted"
    assert time.monotonic() - begin < 0.9
    assert ended.wait(5)
    assert shown == []


def test_work_that_sees_the_reason_is_waited_for():
    """It ends by itself, as chains do."""

    def work(clock, _):
        while clock.reason() is None:
            time.sleep(0.01)
        time.sleep(0.8)
        return "done"

    assert in_time(work, Clock.of(0.05)) == "done"


def test_a_batch_that_fails_is_solved_one_by_one(monkeypatch):
    """The instance at fault has its error, the others their results."""
    tasks = nsa.generate("knapsack", 14, 3, seed=2)
    at_fault = tasks[1].instance
    original = type(at_fault).objective

    def objective(instance, solution):
        if instance is at_fault:
            raise nsa.DataError("it fails")
        return original(instance, solution)

    monkeypatch.setattr(type(at_fault), "objective", objective)
    settings = Settings(seed=1, policy="uniform", steps=3, bound=False, device="cpu")
    found = dict(solve_each(tasks, settings))
    assert sorted(found) == [0, 1, 2]
    assert isinstance(found[1], nsa.DataError)
    assert (found[0].steps, found[2].steps) == (3, 3)


def test_an_interrupt_before_anything_gives_the_start():
    """With no step made."""
    tasks = nsa.generate("tsp", 14, 1, seed=2)
    ((_, result),) = solve_each(tasks, Settings(seed=1, device="cpu"), asked=lambda: True)
    assert (result.status, result.steps, result.found_by) == ("interrupted", 0, "start")


def test_a_first_solution_that_comes_late_is_improved_all_the_same(monkeypatch):
    """To the end of a local search, so that it is better than greedy edges by far; however late it is."""
    monkeypatch.setattr("nsa_cli.solver.late._LEAST_SECONDS", 30.0)
    (task,) = nsa.generate("tsp", 20_000, 1, seed=3)
    result = nsa.solve(task.instance, time_limit=0.001, seed=1, bound=False)
    assert result.found_by == "start"
    assert result.objective < 0.92 * task.instance.objective(greedy_edge(task.instance, None))


def test_a_short_limit_while_functions_compile_is_no_random_start(monkeypatch):
    """Python anneals until then."""
    released = threading.Event()

    def compile_slowly(*_):
        calls.append(None)
        try:
            released.wait(60)
        finally:
            calls.pop()
        raise nsa.UsageError("nobody waits for it")

    monkeypatch.setattr("nsa_cli.user.fused.arrays_of", compile_slowly)
    problem = as_problem(Row)
    task = nsa.Task(problem, problem.generate(30, np.random.default_rng(0)))
    try:
        result = nsa.solve(task, time_limit=1.0, seed=1)
    finally:
        released.set()
    assert (result.backend, result.stop_reason, result.objective) == ("python", "time_limit", 0.0)
