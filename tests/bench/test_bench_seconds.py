"""Benchmarks by seconds: budgets, turns, rows, files and the picture."""

import csv
import json
import shlex
from dataclasses import dataclass, field

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.bench import runs as runs_module
from nsa_cli.bench.benchmark import processor_share
from nsa_cli.bench.request import Request, choose_solvers
from nsa_cli.bench.paper import find_contribution
from nsa_cli.bench.runs import MeasuredRun, Rig, portions_by_seconds
from nsa_cli.bench.solvers import Monitor, Solved, Solver, Stopped, format_budget
from nsa_cli.bench.suites import read_references, suite_of_size
from nsa_cli.bench.summary import COLUMNS, summarise
from nsa_cli.core.errors import NsaError
from nsa_cli.core.options import parse_budgets
from nsa_cli.problems.contribution import BenchContribution

QUICK = ("--sizes", "50", "--budget", "2ms,10ms", "--count", "2", "--policies", "none")


def test_budgets():
    """Units, order, repetition; what is no time is refused by name."""
    assert parse_budgets("budget", "1s, 5ms,0.02,5ms,1min") == (0.005, 0.02, 1.0, 60.0)
    assert [parse_budgets("budget", format_budget(x)) for x in (0.0005, 0.02, 1.0, 90.0)] == [
        (0.0005,),
        (0.02,),
        (1.0,),
        (90.0,),
    ]
    for text in ("", "5 hours", "0ms", "-1s", "5ms,", "nan"):
        with pytest.raises(nsa.UsageError, match="budget: expected times above 0"):
            parse_budgets("budget", text)


@dataclass(frozen=True, kw_only=True)
class Packs(Solver):
    """Packs so many of the first items of each instance, and notes instances and budgets."""

    counts: tuple[int, ...] = (0, 0)
    seen: list = field(default_factory=list)

    def solve(self, tasks, seed, monitor):
        self.seen.append((tasks[0].instance, self.budget))
        taken = np.zeros(tasks[0].instance.size, dtype=bool)
        taken[: self.counts[tasks[0].stream]] = True
        return [Solved(taken)]


class Ours(Packs):
    kind = "nsa"


class Peers(Packs):
    kind = "peer"


def knapsacks():
    """Two knapsacks of the paper's, without references."""
    return suite_of_size(nsa.find_problem("knapsack"), 50, 2)


def measured(*solvers):
    """Run solvers on two knapsacks."""
    return [run for some in by_seconds(knapsacks(), solvers) for run in some]


def by_seconds(suite, solvers, seeds=(1,), monitor=None):
    """Give the runs of one instance after the other."""
    rig = Rig()
    for part in portions_by_seconds(suite, solvers, seeds):
        yield rig.measure(part, monitor or Monitor())


def test_rows_are_means_over_instances_and_differences_on_the_same_ones():
    """Gaps to the best of each instance; the first solver of a budget is what the others are behind."""
    solvers = [Peers(name="fixed", counts=(1, 1))]
    for budget in (0.01, 0.02):
        solvers += [
            Ours(name="nsa-solve", counts=(2, 1), budget=budget),
            Peers(name="other", counts=(1, 2), budget=budget),
        ]
    runs = measured(*solvers)
    assert [(run.solver.name, run.solver.budget) for run in runs if run.place == 1][:3] == [
        ("fixed", None),
        ("other", 0.01),
        ("nsa-solve", 0.01),
    ]
    rows = summarise(runs)
    assert [(row.solver, row.budget) for row in rows] == [(s.name, format_budget(s.budget)) for s in solvers]
    rows = {(row.solver, row.budget): row for row in rows}
    values = [task.instance.values[:2].astype(float) for task in knapsacks().tasks]
    share = [1 - v[0] / v.sum() for v in values]  # what one item is short of two
    assert rows["nsa-solve", "10ms"].gap == pytest.approx(share[1] / 2, rel=1e-5)
    assert rows["other", "20ms"].behind == pytest.approx((share[0] - share[1]) / 2, rel=1e-5)
    assert rows["other", "20ms"].worst == pytest.approx(share[0], rel=1e-5)
    assert rows["fixed", ""].behind is None
    assert rows["nsa-solve", "10ms"].instances == 2


def test_seeds_are_no_further_instances():
    """The interval is over means of instances: another seed with the same answers makes it no smaller."""
    suite, solver = knapsacks(), Ours(name="nsa-solve", counts=(1, 2), budget=0.01)
    best = Peers(name="best", counts=(2, 2), budget=0.01)
    once, twice = (
        [run for some in by_seconds(suite, [solver, best], seeds) for run in some] for seeds in ((1,), (1, 2))
    )
    (first, _), (second, _) = summarise(once), summarise(twice)
    assert (first.instances, first.seeds, second.instances, second.seeds) == (2, 1, 2, 2)
    assert second.gap_ci95 == pytest.approx(first.gap_ci95)


def test_what_is_infeasible_is_not_measured():
    """A wrong answer ends the benchmark, and says whose it is."""
    with pytest.raises(NsaError, match=r"wrong returned an infeasible solution of knap50-1: weight"):
        measured(Peers(name="wrong", counts=(50, 50), budget=0.01))


def test_stopping_leaves_whole_instances():
    """Runs of an instance that not every solver had are left out."""
    solvers = [Ours(name="nsa-solve", budget=0.01), Peers(name="other", budget=0.01)]
    asked = iter([False] * 3)
    groups = by_seconds(knapsacks(), solvers, monitor=Monitor(lambda: next(asked, True)))
    assert [(run.place, run.solver.name) for run in next(groups)] == [(0, "nsa-solve"), (0, "other")]
    with pytest.raises(Stopped):
        next(groups)


def test_each_run_pays_for_its_own_set_up():
    """What a run leaves on an instance is not there for the next one."""
    solver = Peers(name="x", budget=0.01)
    runs = measured(solver)
    assert len({id(instance) for instance, _ in solver.seen}) == len(solver.seen)
    own = [task.instance for task in runs[0].suite.tasks]
    assert not any(instance is mine for mine in own for instance, _ in solver.seen)


def test_a_short_run_that_had_to_wait_is_repeated(monkeypatch):
    """It keeps the run that waited least; a long one is done once."""
    monkeypatch.setattr(runs_module, "_REHEARSALS", 0)
    short = Peers(name="x", budget=0.01)
    long = Peers(name="x", budget=10.0, seen=short.seen)
    times = iter(x for k in range(1, 9) for x in (0.0, 0.001 * k))
    monkeypatch.setattr(runs_module, "_processor_time", lambda: next(times))
    monkeypatch.setattr(runs_module.time, "perf_counter", iter(0.01 * k for k in range(99)).__next__)
    some = next(by_seconds(knapsacks(), [short, long]))
    assert [budget for _, budget in short.seen] == [0.01, 0.01, 0.01, 10.0]
    assert [run.cpu_seconds for run in some] == [0.003, 0.004]


def test_a_busy_machine_is_said_to_be_one():
    """Budgets are by the clock: where a thread had half a processor, the figures are not what they seem."""
    run = MeasuredRun(knapsacks(), 0, Ours(name="nsa-solve", budget=1.0), 1, None, 1.0, 1.0, 0.5, 1)
    assert processor_share([run]) == 0.5
    assert processor_share([run._replace(solver=Ours(name="greedy"))]) == 1
    assert processor_share([]) == 1


def chosen(name, size, contribution):
    """Rows by seconds for random instances."""
    suite = suite_of_size(nsa.find_problem(name), size, 1, any_size=True)
    return suite, choose_solvers(suite, contribution, Request(what=(name,), budget=(0.5,)))


def test_rows_that_are_always_there():
    """The default solve, large steps where there are any, the learnt policy, and uniform annealing."""
    for name, size in (("tsp", 100), ("bin", 100), ("rosenbrock", 2)):
        _, rows = chosen(name, size, BenchContribution())
        assert rows[0].name == "nsa-solve"
        ours = [s.name for s in rows if s.kind == "nsa"]
        learnt = "nsa-es-nearest" if name == "tsp" else "nsa-es-best"
        expected = ["nsa-solve", "nsa-large-step", learnt, "nsa-sa"]
        assert ours == [c for c in expected if name != "rosenbrock" or c != "nsa-large-step"]


@pytest.mark.parametrize(
    ("name", "row"),
    [("tsp", "nsa-sa-nearest:10"), ("bin", "nsa-sa-squares"), ("knapsack", "nsa-sa-tuned")],
)
def test_tuned_plain_annealing_is_always_a_row(name, row):
    """In the neighbourhood that suits uniform proposals best: candidate lists, or squared loads."""
    suite, rows = chosen(name, 60, find_contribution(nsa.find_problem(name)))
    (plain,) = (solver for solver in rows if solver.name.startswith("nsa-sa"))
    assert plain.name == row
    (answer,) = plain.solve(suite.tasks, 1, Monitor())
    assert suite.tasks[0].instance.violation(answer.solution) is None


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
    rows = {(row["solver"], row["budget"]) for row in summary["rows"]}
    assert rows >= {("nsa-solve", "2ms"), ("nsa-sa-tuned", "10ms"), ("greedy", "")}
    assert {row["threads"] for row in summary["rows"] if row["kind"] == "nsa"} == {1}
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
    assert read_references(path) == {"a280": 2579.0, "dsj1000": 18659688.0}
    path.write_text("a280 : 2579\nnothing\n")
    with pytest.raises(nsa.InputError, match=r"best.txt:2: expected NAME : OBJECTIVE"):
        read_references(path)


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
        (("examples/capitals.tsp", "examples/packing.csv"), "use --budget"),
        (("examples/capitals.tsp", "--budget", "5ms", "--references", "nowhere"), "nowhere: no such file"),
        (("tsp", "--sizes", "20", "--budget", "5ms", "--against", "nobody"), "it has fast-tsp"),
    ],
)
def test_errors_are_one_line(command, arguments, words):
    """What, and what to do; nothing is computed."""
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
