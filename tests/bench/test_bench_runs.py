"""Benchmarks by steps: objectives, rows and references of a few instances."""

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.bench import statistics
from nsa_cli.bench.solvers import Monitor, format_budget
from nsa_cli.bench.suites import suite_of_size
from nsa_cli.bench.summary import COLUMNS, run_rows
from nsa_cli.core.errors import UsageError
from nsa_cli.problems import builtin_names

SMALLEST = {"bin": 50, "knapsack": 50, "rosenbrock": 2, "tsp": 20}


def policy_file(folder, problem, method="es", **notes):
    """A policy with zero weights and a schedule."""
    from nsa_cli.policy.checkpoint import save
    from nsa_cli.policy.slots import SlotPolicy

    feature_set, features = next(
        iter(nsa.find_problem(problem).neighbourhood("paper").operations().feature_sets.items())
    )
    path = folder / f"{problem}-{method}-test.json"
    policy = SlotPolicy(features.slots, feature_set, 16, path.stem)
    save(
        path,
        policy,
        problem,
        {"schedule": {"t_start": 0.5, "t_end": 0.25}, "training": {"size": 50}, **notes},
    )
    return path


@pytest.mark.parametrize("problem", builtin_names())
def test_objectives_are_those_of_the_solutions(problem, measured):
    """Each row of runs.csv, solved and evaluated again alone; all solutions are feasible."""
    _, runs = measured(problem, SMALLEST[problem])
    for run, cells in zip(runs, run_rows(runs), strict=True):
        row, task = dict(zip(COLUMNS, cells, strict=True)), run.suite.tasks[run.place]
        (answer,) = run.solver.solve([task], run.seed, Monitor())
        assert row["objective"] == task.instance.objective(answer.solution)
        assert task.instance.violation(answer.solution) is None
        assert row["instance"] == task.instance.name
        assert row["gap"] is None or row["gap"] >= 0  # to the best of the runs


@pytest.mark.parametrize("problem", builtin_names())
def test_solve_as_it_is_comes_first_and_then_vanilla_annealing(problem, measured):
    """The answers of `solve_many` without options; one chain from the paper's start for N, or N^2, steps."""
    _, runs = measured(problem, SMALLEST[problem])
    first = [run for run in runs if run.solver.name == runs[0].solver.name]
    assert first[0].solver.name == "nsa-solve"
    results = nsa.solve_many(first[0].suite.tasks, seed=1)
    assert [run.objective for run in first] == [result.objective for result in results]
    assert runs[len(first)].solver.name == "nsa-sa"
    assert runs[len(first)].steps == SMALLEST[problem] ** (2 if problem == "tsp" else 1)


def test_the_protocol_is_that_of_solve_many(measured):
    """The same answers as the public function gives with the paper's settings."""
    _, runs = measured("knapsack", 50, seeds=(4,))
    problem = nsa.find_problem("knapsack")
    tasks = [nsa.Task(problem, x, stream=k) for k, x in enumerate(problem.paper_set(50, 3))]
    options = {"steps": 50, "seed": 4, "chains": 1, "init": "paper", "unit": 1.0, "device": "cpu"}
    options["bound"] = False
    results = nsa.solve_many(tasks, t_start=1.0, t_end=0.1, policy="uniform", **options)
    plain = [run.objective for run in runs if run.solver.name == "nsa-sa"]
    assert plain == [result.objective for result in results]


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
    _, runs = measured(problem, SMALLEST.get(problem, 8))
    found = dict.fromkeys(run.solver.name for run in runs if run.solver.kind == "heuristic")
    assert list(found) == names


def test_what_takes_no_random_numbers_runs_once(measured):
    """Other seeds would give the same; random ones run with each."""
    _, runs = measured("knapsack", 50, seeds=(1, 2))
    seeds = {name: {r.seed for r in runs if r.solver.name == name} for name in ("greedy", "random-search")}
    assert seeds == {"greedy": {1}, "random-search": {1, 2}}


def test_heuristics_keep_their_order(measured):
    """Going on after an item that does not fit is better than stopping, which beats luck."""
    ready, runs = measured("knapsack", 50, count=20)
    means = {row.solver: row.mean for row in ready.rows(runs) if row.kind == "heuristic"}
    assert means["greedy"] > means["greedy-stop"] > means["random-search"]


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
    ready, runs = measured("bin", 50, count=5)
    (row,) = [row for row in ready.rows(runs) if row.solver == "ffd"]
    assert row.paper_value == 27.10
    assert row.difference == pytest.approx(27.10 - row.mean)


def test_a_policy_is_sampled_and_greedy(tmp_path, measured):
    """At the temperatures of its file; greedy with N steps only, beside the paper's cell of its method."""
    path = policy_file(tmp_path, "knapsack")
    ready, runs = measured("knapsack", 50, policies=(str(path),), steps=(1, 2))
    ours = [r.solver for r in runs if r.solver.name.startswith("nsa-es") and r.place == 0]
    assert [(s.name, format_budget(s.budget)) for s in ours] == [
        ("nsa-es-test", "1N"),
        ("nsa-es-test", "2N"),
        ("nsa-es-test-greedy", "1N"),
    ]
    assert ours[0].temperatures(50) == (0.5, 0.25)
    values = [row.paper_value for row in ready.rows(runs) if row.solver.startswith("nsa-es")]
    assert values == [19.45, 19.70, 16.59]


def test_a_policy_without_schedule_takes_the_papers(tmp_path, measured):
    """That of its method: evolution strategies start colder on bins."""
    path = policy_file(tmp_path, "bin", schedule=None)
    _, runs = measured("bin", 50, policies=(str(path),))
    solver = next(r.solver for r in runs if r.solver.name == "nsa-es-test")
    assert solver.temperatures(50) == (0.1, 1e-4)


def test_two_policies_of_one_name_are_refused(tmp_path, measured):
    """Their rows would be one."""
    (tmp_path / "other").mkdir()
    paths = [policy_file(folder, "bin") for folder in (tmp_path, tmp_path / "other")]
    with pytest.raises(UsageError, match="share a row"):
        measured("bin", 50, policies=tuple(map(str, paths)))


def test_stopping_leaves_whole_runs(measured):
    """What was done stays, a solver that was stopped in the middle is left out."""
    said: list[str] = []
    monitor = Monitor(lambda: any("nsa-sa-squares" in text for text in said), said.append)
    _, runs = measured("bin", 50, monitor=monitor)
    names = ["nsa-solve", "nsa-sa", "nsa-sa-tuned"]
    assert [run.solver.name for run in runs] == [name for name in names for _ in range(3)]


def test_means_are_over_instances_and_seeds(measured):
    """The row's figures from the single runs."""
    ready, runs = measured("knapsack", 50, count=4, seeds=(1, 2, 3))
    row = next(row for row in ready.rows(runs) if row.solver == "nsa-sa")
    objectives = np.array([r.objective for r in runs if r.solver.name == "nsa-sa"]).reshape(3, 4)
    assert (row.instances, row.seeds, row.batch) == (4, 3, 4)
    assert row.mean == pytest.approx(objectives.mean())
    assert row.ci95 == pytest.approx(statistics.half_width(objectives.mean(axis=0)))
    assert row.std_seeds == pytest.approx(objectives.mean(axis=1).std(ddof=1))
    assert row.seconds_total == pytest.approx(4 * row.seconds)


@pytest.mark.parametrize(("problem", "size"), [("knapsack", 50), ("knapsack", 100)])
def test_no_answer_beats_an_optimum(problem, size, shared, measured):
    """Gaps to exact references are not negative."""
    _, runs = measured(problem, size, references=shared / "data" / "reference")
    gaps = [row[COLUMNS.index("gap")] for row in run_rows(runs)]
    assert min(gaps) >= 0
    assert max(gaps) > 0


def test_gaps_to_references(tmp_path, measured):
    """Relative to the file's values, clipped to the instances used; both kinds of mean gap."""
    np.savez(tmp_path / "bin50_ref.npz", ffd=np.array([20.0, 40.0, 99.0]))
    ready, runs = measured("bin", 50, count=2, references=tmp_path)
    row = next(r for r in ready.rows(runs) if r.solver == "ffd")
    a, b = (r.objective for r in runs if r.solver.name == "ffd")
    assert row.gap == pytest.approx(((a - 20) / 20 + (b - 40) / 40) / 2)
    assert row.gap_of_means == pytest.approx((a + b - 60) / 60)


def test_too_few_references_are_refused(tmp_path):
    """Rather than measured against a part."""
    np.savez(tmp_path / "bin50_ref.npz", ffd=np.ones(2))
    problem = nsa.find_problem("bin")
    with pytest.raises(UsageError, match="2 of size 50 for 3 instances; use count=2"):
        suite_of_size(problem, 50, 3, tmp_path)


def test_random_instances_where_the_paper_has_none():
    """The same ones each time, of any size."""
    problem = nsa.find_problem("rosenbrock")
    first, second = (suite_of_size(problem, 3, 2) for _ in range(2))
    assert first.names == second.names
    assert first.tasks[1].instance.record() == second.tasks[1].instance.record()
