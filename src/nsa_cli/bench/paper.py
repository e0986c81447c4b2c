"""The paper's published figures, and each problem's own benchmark data."""

from __future__ import annotations

import csv
import importlib
import importlib.util
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any, NamedTuple, TypeAlias

from nsa_cli.core.problem import Problem
from nsa_cli.problems.contribution import BenchContribution

#: How a note on a figure begins that is not what was measured.
MISPRINT = "misprint"

#: Solvers of the paper that our own rows are compared with.
OURS = {"sa": "SA", "ppo": "PPO", "es": "ES"}


#: A figure's solver, size, steps and mode.
Cell: TypeAlias = tuple[str, int, int | None, str]


class Figure(NamedTuple):
    """One cell of the paper's tables.

    Attributes
    ----------
    table : str
        The table's label.
    solver : str
    size : int
    steps : int or None
        Multiple of N (of N^2 for tours); None for other kinds of solvers.
    mode : str
        ``sampled``, ``greedy`` or empty.
    value, spread, gap_percent : float or None
        Mean objective, standard deviation over seeds, gap.
    time : str
        As printed.
    note : str
        Ours; begins with `MISPRINT` where the figure is not this cell's.
    """

    table: str
    solver: str
    size: int
    steps: int | None
    mode: str
    value: float | None
    spread: float | None
    gap_percent: float | None
    time: str
    note: str

    @property
    def cell(self) -> Cell:
        """Its place, whatever the table."""
        return self[1:5]


def find_contribution(problem: Problem[Any]) -> BenchContribution:
    """Find the benchmark data of a problem's package; the defaults for a problem without."""
    name = f"{type(problem).__module__}.bench"
    try:
        if importlib.util.find_spec(name) is None:
            return BenchContribution()
    except ModuleNotFoundError:  # a problem in one file is no package
        return BenchContribution()
    found = importlib.import_module(name).contribution
    assert isinstance(found, BenchContribution)
    return found


def load_figures(problem: Problem[Any]) -> tuple[Figure, ...]:
    """Read the paper's figures of a problem; none for a problem without."""
    try:
        text = (resources.files(type(problem).__module__) / "paper.csv").read_text(encoding="utf-8")
    except (FileNotFoundError, ModuleNotFoundError, TypeError):  # a problem in one file is no package
        return ()
    return tuple(map(_figure, csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))))


def _figure(row: dict[str, str]) -> Figure:
    numbers = {key: float(row[key]) if row[key] else None for key in ("value", "spread", "gap_percent")}
    integers = {"size": int(row["size"]), "steps": int(row["steps"]) if row["steps"] else None}
    return Figure(**{**row, **numbers, **integers})  # type: ignore[arg-type]


def best_figures(figures: Iterable[Figure]) -> dict[Cell, Figure]:
    """Choose one figure a cell among those with a value: no misprint, else with a spread, else the first.

    Its gap and time are taken from another table where that prints the same value.
    """
    groups: dict[Cell, list[Figure]] = {}
    for figure in figures:
        if figure.value is not None:
            groups.setdefault(figure.cell, []).append(figure)
    best = {}
    for cell, group in groups.items():
        chosen = max(group, key=lambda f: (not f.note.startswith(MISPRINT), f.spread is not None))
        same = [chosen, *(f for f in group if f.value == chosen.value)]
        gap = next((f.gap_percent for f in same if f.gap_percent is not None), None)
        best[cell] = chosen._replace(gap_percent=gap, time=next((f.time for f in same if f.time), ""))
    return best


def published(
    figures: dict[Cell, Figure], size: int, steps: Sequence[int], taken: Iterable[Cell | None]
) -> list[Figure]:
    """Give the figures of a size and steps asked for that no row of ours is compared with."""
    done, solvers = set(taken), [figure.solver for figure in figures.values()]
    rest = [f for f in figures.values() if f.cell not in done and f.size == size]
    rest = [f for f in rest if f.steps is None or f.steps in steps]
    return sorted(rest, key=lambda f: (solvers.index(f.solver), f.mode, f.steps or 0))
