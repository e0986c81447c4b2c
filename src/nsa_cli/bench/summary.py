"""Rows of the table: means over instances and seeds, gaps, and the paper's figures beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.bench import statistics
from nsa_cli.bench.paper import Cell, Figure, best_figures, published
from nsa_cli.bench.runs import MeasuredRun
from nsa_cli.bench.solvers import format_budget
from nsa_cli.bench.suites import Suite
from nsa_cli.core.options import Steps

#: Columns of ``runs.csv``.
COLUMNS = (
    *("problem", "size", "instance", "solver", "seed", "steps", "budget", "objective"),
    *("reference", "gap", "seconds", "cpu_seconds", "batch", "set", "kind", "threads"),
)


class SummaryRow(NamedTuple):
    """One row of the table, a solver with a budget on a suite; the names are keys of ``summary.json``.

    Attributes
    ----------
    set, problem : str
    size : int
        The largest of the suite.
    solver, budget, mode : str
    kind : str
        ``nsa``, ``heuristic``, ``peer``, or ``published``: not measured.
    threads : int or None
        At most; None where the solver decides.
    instances, seeds, batch : int
    mean : float
        Objective, over instances and seeds.
    ci95 : float
        Half width of the 95 % confidence interval of the mean over instances.
    std_seeds : float
        Standard deviation of the seeds' means.
    gap, gap_ci95 : float
        Mean of the instances' gaps, relative, and its half width; positive is worse than the reference.
    gap_of_means : float
    worst : float
        Largest gap.
    behind, behind_ci95 : float
        Mean difference to the gaps of the budget's first solver on the same instances, and its half width;
        positive is worse.
    seconds, cpu_seconds : float
        An instance's.
    seconds_total : float
        A seed's.
    paper_value, paper_spread, paper_gap : float
        The gap relative, as ours.
    paper_solver, paper_table, paper_time, paper_note : str
    difference : float
        To the paper's value; positive is better than the paper, whatever the sense.
    """

    set: str
    problem: str
    size: int
    solver: str
    kind: str
    budget: str = ""
    mode: str = ""
    threads: int | None = None
    instances: int | None = None
    seeds: int | None = None
    batch: int | None = None
    mean: float | None = None
    ci95: float | None = None
    std_seeds: float | None = None
    gap: float | None = None
    gap_ci95: float | None = None
    gap_of_means: float | None = None
    worst: float | None = None
    behind: float | None = None
    behind_ci95: float | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    seconds_total: float | None = None
    paper_solver: str | None = None
    paper_table: str | None = None
    paper_value: float | None = None
    paper_spread: float | None = None
    paper_gap: float | None = None
    paper_time: str | None = None
    paper_note: str | None = None
    difference: float | None = None


class ScoredRun(NamedTuple):
    """A run beside the reference objective of its instance; the gap is NaN where nothing is relative to 0."""

    run: MeasuredRun
    reference: float
    gap: float


def score(runs: Sequence[MeasuredRun]) -> list[ScoredRun]:
    """Compare runs with the references of their instances, or else with the best of these runs."""
    references: dict[tuple[str, int], float] = {}
    for run in runs:
        key, known = (run.suite.label, run.place), run.suite.references[run.place]
        better = min if run.suite.problem.sense == "min" else max
        best = better(run.objective, references.get(key, run.objective))
        references[key] = best if known is None else known
    pairs = ((run, references[run.suite.label, run.place]) for run in runs)
    return [
        ScoredRun(run, reference, statistics.relative(run.objective, reference, run.suite.problem.sense))
        for run, reference in pairs
    ]


def run_rows(runs: Sequence[MeasuredRun]) -> list[list[Any]]:
    """Lay runs out under `COLUMNS`."""
    rows: list[list[Any]] = []
    for run, reference, gap in score(runs):
        suite, solver = run.suite, run.solver
        size, name = suite.tasks[run.place].instance.size, suite.names[run.place]
        cells = [suite.problem.name, size, name, solver.name, run.seed, run.steps]
        cells += [format_budget(solver.budget), run.objective, reference, None if np.isnan(gap) else gap]
        cells += [round(run.seconds, 6), round(run.cpu_seconds, 6), run.batch]
        rows.append([*cells, suite.label, solver.kind, solver.threads])
    return rows


def summarise(
    runs: Sequence[MeasuredRun], figures: Iterable[Figure] = (), steps: Sequence[int] = (), power: int = 1
) -> list[SummaryRow]:
    """Average the runs, suite by suite in the order of the solvers, then list the paper's other figures.

    Parameters
    ----------
    runs : sequence of MeasuredRun
    figures : iterable of Figure
        The paper's.
    steps : sequence of int
        Multiples asked for: no others of the paper's are shown.
    power : {1, 2}
        They are multiples of N, or N^2.
    """
    best, rows = best_figures(figures), list[SummaryRow]()
    suites: dict[str, dict[tuple[str, str], list[ScoredRun]]] = {}
    for scored in score(runs):
        solver = scored.run.solver
        groups = suites.setdefault(scored.run.suite.label, {})
        groups.setdefault((solver.name, format_budget(solver.budget)), []).append(scored)
    for groups in suites.values():
        first: dict[str, list[ScoredRun]] = {}
        taken: list[Cell | None] = []
        for (_, budget), group in groups.items():
            suite = group[0].run.suite
            taken.append(group[0].run.solver.cell(suite.size))
            figure = None if taken[-1] is None else best.get(taken[-1])
            rows.append(_measured(group, first.setdefault(budget, group), figure))
        rows += [_published(suite, figure, power) for figure in published(best, suite.size, steps, taken)]
    return rows


def _measured(group: Sequence[ScoredRun], first: Sequence[ScoredRun], figure: Figure | None) -> SummaryRow:
    """Average the runs of a solver with its budget; `first` are those of the budget's first solver."""
    suite, solver, sense = group[0].run.suite, group[0].run.solver, group[0].run.suite.problem.sense
    runs = [scored.run for scored in group]
    objectives, gaps = np.array([run.objective for run in runs]), np.array([scored.gap for scored in group])
    places, seeds = np.array([run.place for run in runs]), np.array([run.seed for run in runs])
    mean, seconds = float(objectives.mean()), float(np.mean([run.seconds for run in runs]))
    paired = solver.budget is not None and first is not group and len(first) == len(group)
    behind = gaps - [scored.gap for scored in first] if paired else np.full(len(gaps), np.nan)
    instances, reference = len(set(places.tolist())), np.mean([scored.reference for scored in group])
    value = None if figure is None else figure.value
    difference = None if value is None else statistics.better_by(mean, value, sense)
    return SummaryRow(
        set=suite.label,
        problem=suite.problem.name,
        size=suite.size,
        solver=solver.name,
        kind=solver.kind,
        budget=format_budget(solver.budget),
        mode=solver.mode,
        threads=solver.threads,
        instances=instances,
        seeds=len(set(seeds.tolist())),
        batch=runs[0].batch,
        mean=mean,
        ci95=statistics.half_width(statistics.means_by(places, objectives)),
        std_seeds=statistics.spread(statistics.means_by(seeds, objectives)),
        gap=statistics.mean(gaps),
        gap_ci95=statistics.half_width(statistics.means_by(places, gaps)),
        gap_of_means=statistics.mean(np.array([statistics.relative(mean, float(reference), sense)])),
        worst=None if np.isnan(gaps).any() else float(gaps.max()),
        behind=statistics.mean(behind),
        behind_ci95=statistics.half_width(statistics.means_by(places, behind)),
        seconds=seconds,
        cpu_seconds=float(np.mean([run.cpu_seconds for run in runs])),
        seconds_total=seconds * instances,
        difference=difference,
        **_paper_columns(figure),
    )


def _published(suite: Suite, figure: Figure, power: int) -> SummaryRow:
    """Give the row of a figure that no row of ours is compared with."""
    return SummaryRow(
        set=suite.label,
        problem=suite.problem.name,
        size=suite.size,
        solver=f"{figure.solver} {figure.mode}".strip(),
        kind="published",
        budget="" if figure.steps is None else format_budget(Steps(figure.steps, power)),
        mode=figure.mode,
        **_paper_columns(figure),
    )


def _paper_columns(figure: Figure | None) -> dict[str, Any]:
    if figure is None:
        return {}
    keys = ("solver", "table", "value", "spread", "time", "note")
    columns = {f"paper_{key}": getattr(figure, key) for key in keys if getattr(figure, key) != ""}
    return columns | {"paper_gap": None if figure.gap_percent is None else figure.gap_percent / 100}
