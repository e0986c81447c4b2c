"""Verdicts on solutions as text or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsa_cli.io.json_text import dumps
from nsa_cli.report.text import draw


def format_verdicts(verdicts: Sequence[Mapping[str, Any]], fmt: str) -> str:
    """Write verdicts, as their `to_dict` gives them: ``text`` or ``json`` (a line each if several)."""
    if fmt == "json":
        return "".join(dumps(v) + "\n" for v in verdicts)
    if len(verdicts) == 1:
        return "".join(f"{key:<11}{text}\n" for key, text in _rows(verdicts[0]))
    return _table(verdicts)


def _rows(verdict: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [("instance", f"{verdict['name'] or '-'} ({verdict['problem']}, n = {verdict['n']})")]
    if not verdict["feasible"]:
        return [*rows, ("feasible", f"no: {verdict['violation']}")]
    better = "smaller" if verdict["sense"] == "min" else "larger"
    rows += [("feasible", "yes"), ("objective", f"{verdict['objective']} ({better} is better)")]
    if (bound := verdict["bound"]) is not None:
        rows.append(("bound", f"{bound['value']} ({bound['method']}, {bound['seconds']:.2f} s)"))
        rows.append(
            ("status", "optimal: the bound proves it" if verdict["status"] == "optimal" else "feasible")
        )
    if verdict["gap"] is not None:
        to = "the best known" if verdict["best_known"] is not None else "the bound"
        value = verdict["best_known"] if verdict["best_known"] is not None else bound["value"]
        rows.append(("gap", f"{100 * verdict['gap']:.3f} % to {to} {value}"))
    return [*rows, *(("remark", remark) for remark in verdict["remarks"])]


def _table(verdicts: Sequence[Mapping[str, Any]]) -> str:
    from rich.table import Table

    table = Table("name", "n", "status", "objective", "bound", "gap", "violation")
    for v in verdicts:
        gap = "-" if v["gap"] is None else f"{100 * v['gap']:.3f} %"
        bound = "-" if v["bound"] is None else v["bound"]["value"]
        objective = "-" if v["objective"] is None else v["objective"]
        cells = [v["name"] or "-", v["n"], v["status"], objective, bound, gap, v["violation"] or ""]
        table.add_row(*map(str, cells))
    return draw(table)
