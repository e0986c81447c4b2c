"""Quality against time: what is read, measured, averaged, written and drawn."""

import csv
import json
import shlex

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.bench import curves
from nsa_cli.bench.contenders import Contender, Found, choose_contenders
from nsa_cli.bench.curve_points import COLUMNS, is_busy, points_of
from nsa_cli.bench.curves import format_budget, measure_curves, parse_budgets, read_objectives, sets_of_sizes
from nsa_cli.bench.paper import find_contribution
from nsa_cli.bench.solvers import Watch
from nsa_cli.core.errors import NsaError
from nsa_cli.solver.precompile import variants

QUICK = ("--sizes", "50", "--budget", "2ms,10ms", "--count", "2", "--policies", "none")


def test_budgets():
    """Units, order, repetition; what is no time is refused by name."""
    assert parse_budgets("1s, 5ms,0.02,5ms,1min") == (0.005, 0.02, 1.0, 60.0)
    assert [parse_budgets(format_budget(x)) for x in (0.0005, 0.02, 1.0, 90.0)] == [
        (0.0005,),
        (0.02,),
        (1.0,),
        (90.0,),
    ]
    for text in ("", "5 hours", "0ms", "-1s", "5ms,", "nan"):
        with pytest.raises(nsa.UsageError, match="--budget"):
            parse_budgets(text)


def exact(objectives):
    """Make a contender that packs so many items of each instance, the first ones."""

    def solve(task, _seconds, _seed):
        taken = np.zeros(task.instance.size, dtype=bool)
        taken[: objectives[task.stream]] = True
        return Found(taken)

    return solve


def two_sets():
    """Two knapsacks of the paper's, with and without references."""
    return sets_of_sizes(nsa.find_problem("knapsack"), [50], 2, None, None)[0]


def test_points_are_means_over_instances_and_differences_on_the_same_ones():
    """Gaps to the best of each instance; the first contender is what the others are behind."""
    chosen = two_sets()
    contenders = [
        Contender(name="nsa-solve", kind="nsa", solve=exact([2, 1])),
        Contender(name="other", kind="peer", solve=exact([1, 2])),
        Contender(name="fixed", kind="heuristic", solve=exact([1, 1]), timed=False),
    ]
    samples = [s for some in measure_curves(chosen, contenders, (0.01, 0.02), 1, Watch()) for s in some]
    assert [(s.place, s.contender.name, s.budget) for s in samples if s.place == 1][:3] == [
        (1, "fixed", None),
        (1, "other", 0.01),
        (1, "nsa-solve", 0.01),
    ]
    points = {(p.solver, p.budget): p for p in points_of(samples)}
    values = [task.instance.values[:2].astype(float) for task in chosen.tasks]
    share = [1 - v[0] / v.sum() for v in values]  # what one item is short of two
    assert points["nsa-solve", 0.01].gap == pytest.approx(share[1] / 2, rel=1e-5)
    assert points["other", 0.02].behind == pytest.approx((share[0] - share[1]) / 2, rel=1e-5)
    assert points["other", 0.02].worst == pytest.approx(share[0], rel=1e-5)
    assert points["fixed", None].behind is None
    assert points["nsa-solve", 0.01].instances == 2
    assert len(points) == 5


def test_what_is_infeasible_is_not_measured():
    """A wrong answer ends the benchmark, and says whose it is."""
    wrong = Contender(name="wrong", kind="peer", solve=exact([50, 50]))
    with pytest.raises(NsaError, match=r"wrong returned an infeasible solution of knap50-1: weight"):
        list(measure_curves(two_sets(), [wrong], (0.01,), 1, Watch()))


def test_each_run_pays_for_its_own_set_up():
    """What a run leaves on an instance is not there for the next one."""
    seen = []

    def solve(task, _seconds, _seed):
        seen.append(task.instance)
        return Found(np.zeros(task.instance.size, dtype=bool))

    chosen = two_sets()
    list(measure_curves(chosen, [Contender(name="x", kind="peer", solve=solve)], (0.01,), 1, Watch()))
    assert len({id(instance) for instance in seen}) == len(seen)
    assert not any(task.instance is instance for task in chosen.tasks for instance in seen)


def test_a_short_run_that_had_to_wait_is_repeated(monkeypatch):
    """It keeps the run that waited least; a long one is done once."""
    monkeypatch.setattr(curves, "_REHEARSALS", 0)
    runs = []

    def solve(task, seconds, _seed):
        runs.append(seconds)
        return Found(np.zeros(task.instance.size, dtype=bool))

    class Idle:
        def read(self):
            return 0.01, 0.001 * len(runs)

    monkeypatch.setattr(curves, "Clock", Idle)
    contender = Contender(name="x", kind="peer", solve=solve)
    some = next(measure_curves(two_sets(), [contender], (0.01, 10.0), 1, Watch()))
    assert runs == [0.01, 0.01, 0.01, 10.0]
    assert [s.cpu_seconds for s in some] == [0.003, 0.004]


def test_a_busy_machine_is_said_to_be_one():
    """Budgets are by the clock: where a thread had half a processor, the figures are not what they seem."""
    chosen, ours = two_sets(), Contender(name="nsa-solve", kind="nsa", solve=exact([1, 1]))
    sample = curves.Sample(chosen, 0, ours, 1.0, 1, None, 1.0, 1.0, 0.5)
    assert "50 % of a processor" in (is_busy([sample]) or "")
    assert is_busy([sample._replace(cpu_seconds=0.95)]) is None
    assert is_busy([]) is None


def test_rows_that_are_always_there():
    """The default solve, large steps where there are any, the learnt policy, and uniform annealing."""
    for name, size in (("tsp", 100), ("bin", 100), ("rosenbrock", 2)):
        problem = nsa.find_problem(name)
        instance = nsa.generate(problem, size, 1, 0)[0].instance
        ours = [c.name for c in choose_contenders(problem, None, instance, None, ()) if c.kind == "nsa"]
        learnt = "nsa-es-nearest" if name == "tsp" else "nsa-es-best"
        expected = ["nsa-solve", "nsa-large-step", learnt, "nsa-sa"]
        assert ours == [c for c in expected if name != "rosenbrock" or c != "nsa-large-step"]


@pytest.mark.parametrize(
    ("name", "row"),
    [("tsp", "nsa-sa-nearest:10"), ("bin", "nsa-sa-squares"), ("knapsack", "nsa-sa-tuned")],
)
def test_tuned_plain_annealing_is_always_a_row(name, row):
    """In the neighbourhood that suits uniform proposals best: candidate lists, or squared loads."""
    problem = nsa.find_problem(name)
    task = nsa.generate(problem, 60, 1, 0)[0]
    rows = choose_contenders(problem, find_contribution(problem), task.instance, None, ())
    (plain,) = (c for c in rows if c.name == row)
    assert not [c for c in rows if c.name.startswith("nsa-sa") and c.name != row]
    found = plain.solve(task, 0.5, 1)
    assert task.instance.violation(found.solution) is None


@pytest.mark.parametrize("name", ["tsp", "bin", "knapsack"])
def test_kernels_of_every_neighbourhood_are_made_ready(name):
    """A row that waited for a compilation would be measured at nothing."""
    problem = nsa.find_problem(name)
    ways = list(variants(problem, nsa.generate(problem, 20, 1, 0)[0].instance))
    names = {n.name for n in problem.neighbourhoods}
    assert {way.neighbourhood for way in ways if way.policy == "uniform"} >= names


def test_the_command_writes_table_files_and_picture(command, tmp_path):
    """Every run in the table of runs, a point a solver and budget, a picture, and the command."""
    pytest.importorskip("matplotlib")
    code, out, err = command("knapsack", *QUICK, "--out", tmp_path)
    assert (code, err) == (0, "")
    assert "nsa-solve" in out
    with (tmp_path / "runs.csv").open() as file:
        runs = list(csv.DictReader(file))
    assert tuple(runs[0]) == COLUMNS
    assert {r["budget"] for r in runs if r["solver"] == "nsa-sa-tuned"} == {"2ms", "10ms"}
    assert {r["budget"] for r in runs if r["solver"] == "greedy"} == {""}
    assert all(float(r["gap"]) >= 0 and float(r["cpu_seconds"]) > 0 for r in runs)
    summary = json.loads((tmp_path / "summary.json").read_text(), parse_constant=pytest.fail)
    points = {(p["solver"], p["budget"]) for p in summary["points"]}
    assert points >= {("nsa-solve", 0.002), ("nsa-sa-tuned", 0.01), ("greedy", None)}
    assert {p["threads"] for p in summary["points"] if p["kind"] == "nsa"} == {1}
    assert shlex.split(summary["command"])[:4] == ["nsa", "benchmark", "knapsack", "--sizes"]
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_files_and_folders(command, tmp_path):
    """Instances of a folder, gaps to a list of optima; what is no instance is passed over."""
    folder = tmp_path / "sets"
    folder.mkdir()
    for k, task in enumerate(nsa.generate("knapsack", 30, 2, seed=1)):
        (folder / f"k{k}.json").write_text(json.dumps({**task.instance.record(), "name": f"k{k}"}))
    (folder / "notes.txt").write_text("nothing")
    (tmp_path / "best.txt").write_text("k0 : 1.0\nk1 : 1.0\n")
    arguments = ("--budget", "2ms", "--references", tmp_path / "best.txt", "--policies", "none")
    code, out, _ = command(folder, *arguments, "--out", tmp_path / "out")
    assert code == 0
    assert "2 of knapsack files" in out
    with (tmp_path / "out" / "runs.csv").open() as file:
        runs = list(csv.DictReader(file))
    assert {(r["instance"], r["reference"]) for r in runs} == {("k0", "1.0"), ("k1", "1.0")}


def test_a_list_of_optima_is_read_or_refused(tmp_path):
    """As TSPLIB's own list; a line that is something else is named."""
    path = tmp_path / "best.txt"
    path.write_text("a280 : 2579\n\ndsj1000 : 18659688 (EUC_2D)\n")
    assert read_objectives(path) == {"a280": 2579.0, "dsj1000": 18659688.0}
    path.write_text("a280 : 2579\nnothing\n")
    with pytest.raises(nsa.UsageError, match=r"best.txt:2: expected NAME : OBJECTIVE"):
        read_objectives(path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tsp", "--budget", "5ms"), "--sizes"),
        (("tsp", "--sizes", "20", "--budget", "soon"), "--budget: expected times above 0"),
        (
            ("examples/capitals.tsp", "--budget", "5ms", "--sizes", "20"),
            "--sizes: is for a PROBLEM's own sets",
        ),
        (("examples/capitals.tsp", "examples/packing.csv", "--budget", "5ms"), "files of one problem"),
        (("examples/capitals.tsp", "examples/packing.csv"), "give --budget"),
        (("examples/capitals.tsp", "--budget", "5ms", "--references", "nowhere"), "nowhere: No such file"),
        (("tsp", "--sizes", "20", "--budget", "5ms", "--against", "nobody"), "it has fast-tsp"),
    ],
)
def test_errors_are_one_line(command, arguments, words):
    """What, and what to do; nothing is computed."""
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
