"""Results as text: JSON, table, CSV, and the problems' own solution formats."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.problem import Problem
from nsa_cli.io.json_text import dumps
from nsa_cli.io.table import format_table
from nsa_cli.report.result import Evaluation, Result

if TYPE_CHECKING:
    from rich.table import Table

_PROVED = "optimal: the bound proves it"

#: Ids of a solution in a table, at most.
_SHOWN = 60


def solution_formats(problem: Problem[Any]) -> list[str]:
    """Names of the formats that a problem's results can be written in."""
    return ["json", "jsonl", "table", "csv", *(f.name for f in problem.solution_formats)]


def format_of_suffix(problem: Problem[Any], suffix: str) -> str | None:
    """Find the format of a file name ending."""
    own = {s: f.name for f in problem.solution_formats for s in f.suffixes}
    return {**own, ".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".txt": "table"}.get(suffix)


def check_format(problem: Problem[Any], fmt: str, count: int) -> None:
    """Refuse a format before anything is computed.

    Raises
    ------
    UsageError
        If the problem has no such format, or the format holds one result and there will be several.
    """
    if fmt not in solution_formats(problem):
        known = ", ".join(solution_formats(problem))
        raise UsageError(f"expected one of {known} for {problem.name}, got {shown(fmt)}", option="format")
    if count > 1 and fmt not in ("json", "jsonl", "table"):
        raise UsageError(f"{fmt} holds one solution, got {count}", option="format", use={"format": "jsonl"})


def format_results(problem: Problem[Any], results: Sequence[Result], fmt: str) -> str:
    """Write results as text; see `check_format`."""
    if fmt == "jsonl" or (fmt == "json" and len(results) > 1):
        return "".join(dumps(r.to_dict()) + "\n" for r in results)
    if fmt == "table":
        return _as_table(results)
    (result,) = results
    if fmt == "json":
        return _json(result.to_dict())
    if fmt == "csv":
        return format_table(*result.instance.table(result.raw))
    (write,) = (f.write for f in problem.solution_formats if f.name == fmt and f.write)
    return write(result.instance, result.raw)


def format_evaluations(evaluations: Sequence[Evaluation], fmt: str) -> str:
    """Write evaluations as ``text`` or ``json`` (a line each if several)."""
    if fmt == "json":
        return "".join(dumps(e.to_dict()) + "\n" for e in evaluations)
    if len(evaluations) == 1:
        return "".join(f"{key:<11}{text}\n" for key, text in _evaluation_rows(evaluations[0]))
    rows = []
    for e in evaluations:
        objective = "-" if e.objective is None else e.objective
        bound = "-" if e.bound is None else e.bound.value
        row = [e.instance.name or "-", e.instance.size, e.status, objective, bound, _percent(e.gap)]
        rows.append([*row, e.violation or ""])
    return _table(("name", "n", "status", "objective", "bound", "gap", "violation"), rows)


def _json(data: dict[str, Any]) -> str:
    """Write one object with one key a line."""
    lines = [f"  {dumps(key)}: {dumps(value)}" for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def draw(table: Table, width: int = 100) -> str:
    """Render a Rich table as plain text; names are no markup."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=width, no_color=True, highlight=False, markup=False, emoji=False).print(table)
    # Rich pads the last column with blanks.
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    from rich.table import Table

    table = Table(*names) if names else Table(show_header=False, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row))
    return draw(table)


def _as_table(results: Sequence[Result]) -> str:
    if len(results) == 1:
        return _table((), _rows(results[0]))
    rows = []
    for r in results:
        cells = [r.instance.name or "-", r.instance.size, r.objective, r.status, _percent(r.gap)]
        rows.append([*cells, f"{r.seconds['solve']:.2f}"])
    return _table(("name", "n", "objective", "status", "gap", "seconds"), rows)


def _rows(result: Result) -> list[tuple[str, str]]:
    ids = result.ids
    more = f" … ({len(ids)} in all; the rest in json)" if len(ids) > _SHOWN else ""
    found_by = [("found by", result.found_by)] if result.found_by != "annealing" else []
    return [
        ("problem", result.problem),
        ("name", result.instance.name or "-"),
        ("n", str(result.instance.size)),
        _objective(result),
        *((key, str(value)) for key, value in result.instance.details(result.raw).items()),
        ("status", _status(result)),
        *_bound_and_gap(result),
        *found_by,
        ("seed", str(result.seed)),
        ("method", f"{result.method}, policy {result.policy}"),
        ("steps", f"{result.steps} in each of {result.chains} chains, start {result.start}"),
        ("seconds", f"{result.seconds['total']:.2f} on {result.device}"),
        ("solution", _ids(ids[:_SHOWN]) + more),
    ]


def _evaluation_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    instance = evaluation.instance
    rows = [("instance", f"{instance.name or '-'} ({evaluation.problem}, n = {instance.size})")]
    if evaluation.objective is None:
        return [*rows, ("feasible", f"no: {evaluation.violation}")]
    rows += [("feasible", "yes"), _objective(evaluation), *_bound_and_gap(evaluation)]
    if evaluation.bound is not None:
        rows.append(("status", _PROVED if evaluation.proved else "feasible"))
    return [*rows, *(("remark", remark) for remark in evaluation.remarks)]


def _objective(evaluation: Evaluation) -> tuple[str, str]:
    better = "smaller" if evaluation.sense == "min" else "larger"
    return "objective", f"{evaluation.objective} ({better} is better)"


def _bound_and_gap(evaluation: Evaluation) -> list[tuple[str, str]]:
    rows, best = [], evaluation.instance.best_known
    if (bound := evaluation.bound) is not None:
        rows.append(("bound", f"{bound.value} ({bound.method}, {bound.seconds:.2f} s)"))
    if evaluation.gap is not None:
        to = "bound" if best is None else f"best known {best}"
        rows.append(("gap", f"{_percent(evaluation.gap)} to the {to}"))
    return rows


def _status(result: Result) -> str:
    if result.violation is not None:
        return f"infeasible: {result.violation}"
    if result.stop_reason == result.status == "optimal":
        return _PROVED
    return f"{result.status} (stopped by {result.stop_reason})"


def _ids(ids: Sequence[Any]) -> str:
    """Join ids: numbers by blanks, names by commas, lists by bars."""
    if any(isinstance(x, list) for x in ids):
        return " | ".join(_ids(x) for x in ids)
    return (", " if any(isinstance(x, str) for x in ids) else " ").join(str(x) for x in ids)


def _percent(gap: float | None) -> str:
    return "-" if gap is None else f"{100 * gap:.3f} %"
