"""From a file to instances, whatever problem and format it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.problem import FileFormat, Problem
from nsa_cli.core.record import Record, Source
from nsa_cli.io import json_text, table
from nsa_cli.problems import all_problems, builtin_names


def read_instances(
    source: Source, problem: Problem | None = None, settings: Mapping[str, Any] | None = None
) -> list[tuple[Problem, Instance]]:
    """Read all instances of a text.

    Parameters
    ----------
    source : Source
    problem : Problem, optional
        What the text holds; recognised from the text by default.
    settings : mapping, optional
        Record keys that the user gives beside the file, such as ``capacity``; they win.

    Raises
    ------
    InputError
        If no problem's format fits, or the data make no instance; with file and line.
    """
    found = []
    for record in read_records(source, problem):
        settled = Record({**record.data, **(settings or {})}, record.source, record.locate)
        its_problem = problem or _recognise(settled)
        found.append((its_problem, settled.build(its_problem.from_record)))
    return found


def read_records(source: Source, problem: Problem | None = None) -> list[Record]:
    """Read the records of a text, by the first of: JSON, a problem's own format, a table."""
    if json_text.looks_like_json(source):
        records = json_text.read_records(source)
        for record in records if problem else []:
            _check_claim(record, problem)
        return records
    for owner in [problem] if problem else all_problems():
        for fmt in owner.formats:
            if fmt.recognises(source):
                return _stamped(fmt.read(source), owner)
    for owner, fmt in _by_suffix(source.suffix, problem):
        return _stamped(fmt.read(source), owner)
    if table.looks_like_table(source) or (problem and problem.columns):
        return [_table_record(source, problem)]
    raise source.error(
        f"not recognised: expected JSON, CSV with a header, or a text format of {', '.join(builtin_names())}; "
        f"the text begins {shown(source.text.lstrip()[:60])}"
    )


def _by_suffix(suffix: str, problem: Problem | None) -> list[tuple[Problem, FileFormat]]:
    owners = [problem] if problem else all_problems()
    return [(owner, fmt) for owner in owners for fmt in owner.formats if suffix in fmt.suffixes]


def _stamped(records: list[Record], problem: Problem) -> list[Record]:
    return [Record({"problem": problem.name, **r.data}, r.source, r.locate) for r in records]


def _table_record(source: Source, problem: Problem | None) -> Record:
    cells = table.read_table(source)
    if problem is None:
        fitting = [p for p in all_problems() if table.matches(cells, p.columns)]
        # A header with values and weights also has weights: the problem that needs more columns meant it.
        fitting.sort(key=lambda p: -sum(c.required for c in p.columns))
        if not fitting:
            heads = "; ".join(
                f"{p.name}: {', '.join(c.headers[0] for c in p.columns if c.required)}"
                for p in all_problems()
                if p.columns
            )
            got = "no header" if cells.headers is None else f"header {shown(', '.join(cells.headers), 80)}"
            raise source.error(f"cannot tell the problem from {got}; expected ({heads}), or give --problem", 1)
        problem = fitting[0]
    record = table.to_record(cells, problem.columns, problem.name)
    return _stamped([record], problem)[0]


def _recognise(record: Record) -> Problem:
    """Choose the problem whose keys a record has: the one that says so, or the one that needs most."""
    data = record.data
    if (name := data.get("problem")) is not None:
        for problem in all_problems():
            if problem.name == name:
                return problem
        known = ", ".join(p.name for p in all_problems())
        raise record.source.error(
            f"problem: expected one of {known}, got {shown(name)}", record.locate("problem", None)
        )
    fitting = [p for p in all_problems() if all(any(k in data for k in keys) for keys in p.record_keys)]
    if not fitting:
        needs = "; ".join(f"{p.name}: {', '.join('|'.join(k) for k in p.record_keys)}" for p in all_problems())
        got = shown(", ".join(data), 80) or "nothing"
        raise record.source.error(
            f"cannot tell the problem from the keys {got}; expected ({needs})", record.locate(None, None)
        )
    return max(fitting, key=lambda p: len(p.record_keys))


def _check_claim(record: Record, problem: Problem | None) -> None:
    name = record.data.get("problem")
    if problem is not None and name is not None and name != problem.name:
        raise record.source.error(
            f"holds an instance of {shown(name)}, but --problem says {problem.name}", record.locate("problem", None)
        )


def read_solution(source: Source, problem: Problem, instance: Instance) -> Solution:
    """Read a solution of an instance: our JSON result, a bare JSON list, or a format of the problem's.

    Raises
    ------
    InputError
        If the text holds no solution, or one that is not feasible; names the element.
    """
    if json_text.looks_like_json(source):
        ids = _solution_ids(source)
    else:
        fitting = [f for f in problem.solution_formats if f.recognises(source) or source.suffix in f.suffixes]
        if not fitting:
            names = ", ".join(["JSON", *(f.name for f in problem.solution_formats)])
            raise source.error(f"holds no solution that is known for {problem.name}; expected {names}")
        ids = fitting[0].read(source)
    solution = Record({"solution": ids}, source).build(lambda data: instance.from_ids(data["solution"]))
    if (why := instance.violation(solution)) is not None:
        raise source.error(f"is not feasible: {why}")
    return solution


def _solution_ids(source: Source) -> list[Any]:
    text = source.text.lstrip()
    if text.startswith("{"):
        ids = json_text.read_records(source)[0].data.get("solution")
    else:
        ids = json_text.loads(source)
    if not isinstance(ids, list):
        raise source.error("expected a list under the key 'solution'")
    return ids


def find_format(problem: Problem, name: str) -> FileFormat:
    """Find a problem's own file format that can be written, by name.

    Raises
    ------
    UsageError
        If there is none.
    """
    writable = {fmt.name: fmt for fmt in problem.formats if fmt.write}
    if name not in writable:
        columns = ["csv"] if problem.columns else []
        known = ", ".join(["json", "jsonl", *columns, *writable])
        raise UsageError(f"--format: {problem.name} instances cannot be written as {name!r}; there are {known}")
    return writable[name]
