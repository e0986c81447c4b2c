"""From runs to rows: means over instances, then over seeds, gaps, and the paper's figures beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.bench import statistics
from nsa_cli.bench.paper import Cell, Figure, best_figures, published
from nsa_cli.bench.runner import Measured
from nsa_cli.bench.suite import Suite

#: Columns of the file of all runs.
RUN_COLUMNS = (
    *("problem", "size", "instance", "solver", "seed", "steps", "budget", "objective"),
    *("reference", "gap", "seconds", "cpu_seconds", "batch"),
)


class Row(NamedTuple):
    """One row of the table; the names are keys of ``summary.json``.

    Attributes
    ----------
    problem, solver : str
    size : int
    kind : str
        ``nsa``, ``heuristic``, ``peer``, or ``published``: not measured.
    budget, mode : str
    instances, seeds, batch : int
    mean : float
        Over instances, then over seeds.
    ci95 : float
        Half width of the 95 % confidence interval of the mean over instances.
    std_seeds : float
        Standard deviation of the seeds' means.
    gap : float
        Mean of the instances' gaps, relative; positive is worse than the reference.
    gap_of_means : float
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

    problem: str
    size: int
    solver: str
    kind: str
    budget: str = ""
    mode: str = ""
    instances: int | None = None
    seeds: int | None = None
    batch: int | None = None
    mean: float | None = None
    ci95: float | None = None
    std_seeds: float | None = None
    gap: float | None = None
    gap_of_means: float | None = None
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


def summarise(
    measured: Sequence[Measured], figures: Iterable[Figure], steps: Sequence[int], unit: str = "N"
) -> list[Row]:
    """Make the rows: those measured by size, each size followed by what the paper has beside them.

    Parameters
    ----------
    measured : sequence of Measured
    figures : iterable of Figure
        The paper's.
    steps : sequence of int
        Multiples asked for: no others of the paper's are shown.
    unit : {'N', 'N2'}
        What they are multiples of.
    """
    best = best_figures(figures)
    rows: list[Row] = []
    for suite, runs in _by_suite(measured):
        references = reference_of(suite, runs)
        taken: list[Cell] = []
        for group in _by_solver(runs):
            cell = group[0].solver.cell(suite.size)
            rows.append(_row(suite, group, references, best.get(cell) if cell else None))
            taken += [cell] if cell else []
        rest = published(best, [suite.size], steps, taken)
        rows += [_published_row(suite, figure, unit) for figure in rest]
    return rows


def run_rows(measured: Sequence[Measured]) -> list[list[Any]]:
    """Lay all runs out, one row an instance, solver and seed, under `RUN_COLUMNS`."""
    rows: list[list[Any]] = []
    for suite, runs in _by_suite(measured):
        references = reference_of(suite, runs)
        for run in runs:
            gaps = statistics.relative_gaps(_objectives(run), references, suite.problem.sense)
            head, steps = (suite.problem.name, suite.size), run.run.steps
            for k, answer in enumerate(run.run.answers):
                who = (suite.names[k], run.solver.name, run.seed, steps, run.solver.budget)
                gap = None if np.isnan(gaps[k]) else float(gaps[k])
                times = (round(answer.seconds, 6), round(answer.cpu_seconds, 6), run.run.batch)
                rows.append([*head, *who, answer.objective, float(references[k]), gap, *times])
    return rows


def reference_of(suite: Suite, runs: Sequence[Measured]) -> NDArray[np.float64]:
    """Give the suite's references, or else the best objective of each instance in these runs."""
    if suite.references is not None:
        return suite.references
    return statistics.best_of([_objectives(run) for run in runs], suite.problem.sense)


def _objectives(run: Measured) -> NDArray[np.float64]:
    return np.array([answer.objective for answer in run.run.answers])


def _by_suite(measured: Sequence[Measured]) -> list[tuple[Suite, list[Measured]]]:
    groups: dict[int, tuple[Suite, list[Measured]]] = {}
    for run in measured:
        groups.setdefault(run.suite.size, (run.suite, []))[1].append(run)
    return list(groups.values())


def _by_solver(runs: Sequence[Measured]) -> list[list[Measured]]:
    groups: dict[tuple[str, str], list[Measured]] = {}
    for run in runs:
        groups.setdefault((run.solver.name, run.solver.budget), []).append(run)
    return list(groups.values())


def _row(
    suite: Suite, group: Sequence[Measured], references: NDArray[np.float64], figure: Figure | None
) -> Row:
    solver, sense = group[0].solver, suite.problem.sense
    objectives = np.stack([_objectives(run) for run in group])  # float64[seeds, n]
    gaps = np.stack([statistics.relative_gaps(row, references, sense) for row in objectives])
    mean = float(objectives.mean())
    seconds = _mean_time(group, "seconds")
    row = Row(
        problem=suite.problem.name,
        size=suite.size,
        solver=solver.name,
        kind=solver.kind,
        budget=solver.budget,
        mode=solver.mode,
        instances=objectives.shape[1],
        seeds=len(group),
        batch=group[0].run.batch,
        mean=mean,
        ci95=statistics.half_width(objectives.mean(axis=0)),
        std_seeds=statistics.spread(objectives.mean(axis=1)),
        gap=statistics.mean(gaps.ravel()),
        gap_of_means=statistics.mean(
            statistics.relative_gaps(np.array([mean]), np.array([references.mean()]), sense)
        ),
        seconds=seconds,
        cpu_seconds=_mean_time(group, "cpu_seconds"),
        seconds_total=seconds * objectives.shape[1],
    )
    if figure is None or figure.value is None:
        return row
    return row._replace(**_paper_columns(figure), difference=statistics.better_by(mean, figure.value, sense))


def _mean_time(group: Sequence[Measured], key: str) -> float:
    return float(np.mean([getattr(answer, key) for run in group for answer in run.run.answers]))


def _published_row(suite: Suite, figure: Figure, unit: str) -> Row:
    return Row(
        problem=suite.problem.name,
        size=suite.size,
        solver=" ".join(part for part in (figure.solver, figure.mode) if part),
        kind="published",
        budget="" if figure.steps is None else f"{figure.steps}{unit}",
        mode=figure.mode,
        **_paper_columns(figure),
    )


def _paper_columns(figure: Figure) -> dict[str, Any]:
    return {
        "paper_solver": figure.solver,
        "paper_table": figure.table,
        "paper_value": figure.value,
        "paper_spread": figure.spread,
        "paper_gap": None if figure.gap_percent is None else figure.gap_percent / 100,
        "paper_time": figure.time or None,
        "paper_note": figure.note or None,
    }
