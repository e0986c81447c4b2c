"""Benchmarks by seconds: budgets, turns and rows."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.bench import measure as measure_module
from nsa_cli.bench.benchmark import processor_share
from nsa_cli.bench.measure import MeasuredRun, measure, runs_from, units_of
from nsa_cli.bench.request import Request
from nsa_cli.bench.solvers import Solved, Solver, choose_solvers, format_budget
from nsa_cli.bench.suites import find_contribution, read_references, suite_of_size
from nsa_cli.bench.summary import summarise
from nsa_cli.core.errors import NsaError
from nsa_cli.problems.contribution import BenchContribution


@dataclass(frozen=True, kw_only=True)
class Packs(Solver):
    """Packs so many of the first items of each instance, and notes instances and budgets."""

    kind = "peer"
    counts: tuple[int, ...] = (0, 0)
    seen: list = field(default_factory=list)

    def solve(self, tasks, seed, stopped=bool):
        self.seen.append((tasks[0].instance, self.budget))
        taken = np.zeros(tasks[0].instance.size, dtype=bool)
        taken[: self.counts[tasks[0].stream]] = True
        return [Solved(taken)]


@pytest.fixture(autouse=True)
def _rehearsals(monkeypatch):
    monkeypatch.setattr(measure_module, "_rehearsed", set())


def knapsacks():
    """Two knapsacks of the paper's, without references."""
    return suite_of_size(nsa.find_problem("knapsack"), 50, 2)


def by_seconds(solvers, seeds=(1,), stopped=bool):
    """Give the runs of one instance after the other."""
    for unit in units_of(knapsacks(), solvers, seeds, timed=True):
        yield runs_from(measure(unit.payload, stopped), unit.payload)


def measured(*solvers, seeds=(1,)):
    return [run for some in by_seconds(solvers, seeds) for run in some]


def test_rows_are_means_over_instances_and_differences_on_the_same_ones():
    """Gaps to the best of each instance; the first solver of a budget is what the others are behind."""
    solvers = [Packs(name="fixed", counts=(1, 1))]
    for budget in (0.01, 0.02):
        solvers.append(Packs(name="nsa-solve", counts=(2, 1), budget=budget))
        solvers.append(Packs(name="other", counts=(1, 2), budget=budget))
    runs = measured(*solvers)
    turns = [(run.solver.name, run.solver.budget) for run in runs if run.task.stream == 1]
    assert turns[:3] == [("fixed", None), ("other", 0.01), ("nsa-solve", 0.01)]
    rows = summarise(runs, {})
    assert [(r["solver"], r["budget"]) for r in rows] == [(s.name, format_budget(s.budget)) for s in solvers]
    rows = {(row["solver"], row["budget"]): row for row in rows}
    values = [task.instance.values[:2].astype(float) for task in knapsacks().tasks]
    share = [1 - v[0] / v.sum() for v in values]  # what one item is short of two
    assert rows["nsa-solve", "10ms"]["gap"] == pytest.approx(share[1] / 2, rel=1e-5)
    assert rows["other", "20ms"]["behind"] == pytest.approx((share[0] - share[1]) / 2, rel=1e-5)
    assert rows["other", "20ms"]["worst"] == pytest.approx(share[0], rel=1e-5)
    assert rows["fixed", ""]["behind"] is None
    assert rows["nsa-solve", "10ms"]["instances"] == 2


def test_seeds_are_no_further_instances():
    """The interval is over means of instances: another seed with the same answers makes it no smaller."""
    solvers = (
        Packs(name="nsa-solve", counts=(1, 2), budget=0.01),
        Packs(name="best", counts=(2, 2), budget=0.01),
    )
    first, second = (summarise(measured(*solvers, seeds=seeds), {})[0] for seeds in ((1,), (1, 2)))
    assert [(row["instances"], row["seeds"]) for row in (first, second)] == [(2, 1), (2, 2)]
    assert second["gap_ci95"] == pytest.approx(first["gap_ci95"])


def test_what_is_infeasible_is_not_measured():
    """A wrong answer ends the benchmark, and says whose it is."""
    with pytest.raises(NsaError, match=r"wrong returned an infeasible solution of knap50-1: weight"):
        measured(Packs(name="wrong", counts=(50, 50), budget=0.01))


def test_each_run_pays_for_its_own_set_up():
    """What a run leaves on an instance is not there for the next one."""
    solver = Packs(name="x", budget=0.01)
    own = [run.task.instance for run in measured(solver)]
    assert len({id(instance) for instance, _ in solver.seen}) == len(solver.seen)
    assert not any(instance is mine for mine in own for instance, _ in solver.seen)


def test_a_busy_machine_is_said_to_be_one():
    """Budgets are by the clock: where a thread had half a processor, the figures are not what they seem."""
    run = MeasuredRun(knapsacks(), 0, Packs(name="nsa-solve", budget=1.0), 1, None, 1.0, 1.0, 0.5)
    assert processor_share([run]) == 0.5
    assert processor_share([run._replace(solver=Packs(name="greedy"))]) == 1
    assert processor_share([]) == 1


def chosen(name, size, contribution):
    """Rows by seconds for random instances."""
    suite = suite_of_size(nsa.find_problem(name), size, 1, any_size=True)
    return suite, choose_solvers(suite, contribution, Request(what=(name,), budget=(0.5,)))


@pytest.mark.parametrize(
    ("name", "size", "ours"),
    [
        ("tsp", 100, ["nsa-solve", "nsa-large-step", "nsa-es-nearest", "nsa-sa"]),
        ("bin", 100, ["nsa-solve", "nsa-large-step", "nsa-es-best", "nsa-sa"]),
        ("rosenbrock", 2, ["nsa-solve", "nsa-es-best", "nsa-sa"]),
    ],
)
def test_rows_that_are_always_there(name, size, ours):
    """The default solve, large steps where there are any, the learnt policy, and uniform annealing."""
    _, rows = chosen(name, size, BenchContribution())
    assert [solver.name for solver in rows if solver.kind == "nsa"] == ours


@pytest.mark.parametrize(
    ("name", "row"),
    [("tsp", "nsa-sa-nearest:10"), ("bin", "nsa-sa-squares"), ("knapsack", "nsa-sa-tuned")],
)
def test_tuned_plain_annealing_is_always_a_row(name, row):
    """In the neighbourhood that suits uniform proposals best: candidate lists, or squared loads."""
    suite, rows = chosen(name, 60, find_contribution(nsa.find_problem(name)))
    (plain,) = (solver for solver in rows if solver.name.startswith("nsa-sa"))
    assert plain.name == row
    (answer,) = plain.solve(suite.tasks, 1)
    assert suite.tasks[0].instance.violation(answer.solution) is None


def test_a_list_of_optima_is_read_or_refused(tmp_path):
    """As TSPLIB's own list; a line that is something else is named."""
    path = tmp_path / "best.txt"
    path.write_text("a280 : 2579\n\ndsj1000 : 18659688 (EUC_2D)\n")
    assert read_references(path) == {"a280": 2579.0, "dsj1000": 18659688.0}
    path.write_text("a280 : 2579\nnothing\n")
    with pytest.raises(nsa.InputError, match=r"best.txt:2: expected NAME : OBJECTIVE"):
        read_references(path)
