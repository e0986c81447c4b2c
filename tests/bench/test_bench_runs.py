"""Benchmarks by steps: objectives, rows and references of a few instances."""

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.bench import statistics
from nsa_cli.bench.solvers import Interrupted, format_budget
from nsa_cli.bench.suites import suite_of_size
from nsa_cli.bench.summary import COLUMNS, run_rows
from nsa_cli.core.errors import UsageError
from nsa_cli.policy.checkpoint import save
from nsa_cli.policy.slots import SlotPolicy
from nsa_cli.problems import builtin_names

SMALLEST = {"bin": 50, "knapsack": 50, "rosenbrock": 2, "tsp": 20}


def policy_file(folder, problem, schedule):
    """A policy with zero weights."""
    sets = nsa.find_problem(problem).neighbourhood("paper").operations().feature_sets
    name, features = next(iter(sets.items()))
    path = folder / f"{problem}-es-test.json"
    notes = {"schedule": schedule, "training": {"size": 50}}
    save(path, SlotPolicy(features.slots, name, 16, path.stem), problem, notes)
    return str(path)


def row_of(ready, solver):
    return next(row for row in ready.rows if row["solver"] == solver)


@pytest.mark.parametrize("problem", builtin_names())
def test_runs_are_solved_and_evaluated_again_alone(problem, measured):
    """Solve as it is comes first, as of `solve_many`; then a chain from the paper's start, N or N^2 steps."""
    runs = measured(problem, SMALLEST[problem]).runs
    for run, cells in zip(runs, run_rows(runs), strict=True):
        row, task = dict(zip(COLUMNS, cells, strict=True)), run.task
        (answer,) = run.solver.solve([task], run.seed)
        assert row["objective"] == task.instance.objective(answer.solution)
        assert task.instance.violation(answer.solution) is None
        assert row["instance"] == task.instance.name
        assert row["gap"] is None or row["gap"] >= 0  # to the best of the runs
    first = [run for run in runs if run.solver.name == "nsa-solve"]
    assert first == runs[: len(first)]
    results = nsa.solve_many(first[0].suite.tasks, seed=1)
    assert [run.objective for run in first] == [result.objective for result in results]
    assert runs[len(first)].solver.name == "nsa-sa"
    assert runs[len(first)].steps == SMALLEST[problem] ** (2 if problem == "tsp" else 1)


def test_the_protocol_is_that_of_solve_many(measured):
    """The same answers as the public function gives with the paper's settings."""
    problem = nsa.find_problem("knapsack")
    tasks = [nsa.Task(problem, x, stream=k) for k, x in enumerate(problem.paper_set(50, 3))]
    options = {"steps": 50, "seed": 4, "chains": 1, "init": "paper", "unit": 1.0, "device": "cpu"}
    options |= {"bound": False, "t_start": 1.0, "t_end": 0.1, "policy": "uniform"}
    runs = measured("knapsack", 50, seeds=(4,)).runs
    plain = [run.objective for run in runs if run.solver.name == "nsa-sa"]
    assert plain == [result.objective for result in nsa.solve_many(tasks, **options)]


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        ("knapsack", ["greedy-stop", "random-search", "greedy"]),
        ("bin", ["ffd", "bfd", "nfd"]),
        ("tsp", ["two-opt", "greedy", "nearest", "curve"]),
        ("rosenbrock", ["given"]),
        ("examples/maxcut.py:MaxCut", []),
    ],
)
def test_heuristics_are_each_there_once(problem, names, measured):
    """Second names of a function, and the start of the annealing, are left out."""
    runs = measured(problem, SMALLEST.get(problem, 8)).runs
    assert list(dict.fromkeys(run.solver.name for run in runs if run.solver.kind == "heuristic")) == names


def test_means_are_over_instances_and_seeds(measured):
    """Going on after an item beats stopping, which beats luck."""
    ready = measured("knapsack", 50, count=20, seeds=(1, 2, 3))
    objectives = np.array([r.objective for r in ready.runs if r.solver.name == "nsa-sa"]).reshape(3, 20)
    row = row_of(ready, "nsa-sa")
    assert (row["instances"], row["seeds"], row["batch"]) == (20, 3, 20)
    assert row["mean"] == pytest.approx(objectives.mean())
    assert row["ci95"] == pytest.approx(statistics.half_width(objectives.mean(axis=0)))
    assert row["std_seeds"] == pytest.approx(objectives.mean(axis=1).std(ddof=1))
    assert row["seconds_total"] == pytest.approx(20 * row["seconds"])
    rows = [row_of(ready, name) for name in ("greedy", "greedy-stop", "random-search")]
    assert rows[0]["mean"] > rows[1]["mean"] > rows[2]["mean"]


def test_two_opt_leaves_no_better_exchange():
    """Of few cities, all near, every exchange of two edges is tried again, one by one."""
    from nsa_cli.problems.tsp.starts import quick

    for task in nsa.generate("tsp", 9, 20, seed=1):
        instance = task.instance
        tour = quick(instance, lambda n: np.full(n, 0.3))
        length = instance.objective(tour)
        for i in range(8):
            for j in range(i + 1, 9):
                other = np.concatenate([tour[:i], tour[i : j + 1][::-1], tour[j + 1 :]])
                assert instance.objective(other) >= length - 1e-9


def test_ffd_is_the_papers(measured):
    """The first instances' references are what first fit decreasing gives; a large set is too slow."""
    row = row_of(measured("bin", 50, count=5), "ffd")
    assert row["paper_value"] == 27.10
    assert row["difference"] == pytest.approx(27.10 - row["mean"])


def test_a_policy_is_sampled_and_greedy(tmp_path, measured):
    """At the temperatures of its file; greedy with N steps only, beside the paper's cell of its method."""
    path = policy_file(tmp_path, "knapsack", {"t_start": 0.5, "t_end": 0.25})
    ready = measured("knapsack", 50, policies=(path,), steps=(1, 2))
    ours = [r.solver for r in ready.runs if r.solver.name.startswith("nsa-es") and r.place == 0]
    names = ["nsa-es-test", "nsa-es-test", "nsa-es-test-greedy"]
    assert [(s.name, format_budget(s.budget)) for s in ours] == [*zip(names, ("1N", "2N", "1N"), strict=True)]
    assert ours[0].temperatures == (0.5, 0.25)
    values = [row["paper_value"] for row in ready.rows if row["solver"].startswith("nsa-es")]
    assert values == [19.45, 19.70, 16.59]


def test_a_policy_without_schedule_takes_the_papers(tmp_path, measured):
    """That of its method: evolution strategies start colder on bins. Two of one name would share a row."""
    (tmp_path / "other").mkdir()
    paths = [policy_file(folder, "bin", None) for folder in (tmp_path, tmp_path / "other")]
    runs = measured("bin", 50, policies=(paths[0],)).runs
    assert {r.solver.temperatures for r in runs if r.solver.name == "nsa-es-test"} == {(0.1, 1e-4)}
    with pytest.raises(UsageError, match="share a row"):
        measured("bin", 50, policies=tuple(paths))


def test_a_solver_that_is_stopped_gives_no_answers(measured):
    """What was under way is not measured."""
    with pytest.raises(Interrupted):
        measured("bin", 50).solvers[0][0].solve(nsa.generate("bin", 50, 2), 1, lambda: True)


@pytest.mark.parametrize("size", [50, 100])
def test_no_answer_beats_an_optimum(size, shared, measured):
    """Gaps to exact references are not negative."""
    runs = measured("knapsack", size, references=shared / "data" / "reference").runs
    gaps = [row[COLUMNS.index("gap")] for row in run_rows(runs)]
    assert min(gaps) >= 0
    assert max(gaps) > 0


def test_gaps_to_references(tmp_path, measured):
    """Relative to the file's values, clipped to the instances used; too few are refused."""
    np.savez(tmp_path / "bin50_ref.npz", ffd=np.array([20.0, 40.0, 99.0]))
    ready = measured("bin", 50, count=2, references=tmp_path)
    row, (a, b) = row_of(ready, "ffd"), (r.objective for r in ready.runs if r.solver.name == "ffd")
    assert row["gap"] == pytest.approx(((a - 20) / 20 + (b - 40) / 40) / 2)
    with pytest.raises(UsageError, match="3 of size 50 for 4 instances; use count=3"):
        measured("bin", 50, count=4, references=tmp_path)


def test_random_instances_where_the_paper_has_none():
    """The same ones each time, of any size."""
    first, second = (suite_of_size(nsa.find_problem("rosenbrock"), 3, 2) for _ in range(2))
    assert first.names == second.names
    assert first.tasks[1].instance.record() == second.tasks[1].instance.record()
