"""Reading and writing instances: recognition of problem and format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from nsa_cli.core.errors import NsaError, UsageError, shown
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Record, Source
from nsa_cli.io import json_text, table
from nsa_cli.problems import all_problems, builtin_names
from nsa_cli.problems.datasets import read_arrays
from nsa_cli.problems.rows import spread_rows
from nsa_cli.problems.solutions import choose_answer, read_answers


class Unread(NamedTuple):
    """An instance that could not be read.

    Attributes
    ----------
    name : str
        As the record has it, else the file's.
    error : NsaError
    """

    name: str
    error: NsaError


def read_instances(
    source: Source, problem: Problem[Any] | None = None, settings: Mapping[str, Any] | None = None
) -> list[tuple[Problem[Any], Instance]]:
    """Read all instances of a text.

    Parameters
    ----------
    source : Source
    problem : Problem, optional
        Recognised from the text by default.
    settings : mapping, optional
        Record keys that the user gives beside the file, such as ``capacity``; they win.

    Raises
    ------
    InputError
        If no problem's format fits, or the data make no instance; with file and line.
    """
    return [_instance(record, problem, settings or {}) for record in read_records(source, problem)]


def read_each(
    records: Sequence[Record], problem: Problem[Any] | None = None, settings: Mapping[str, Any] | None = None
) -> list[tuple[Problem[Any], Instance] | Unread]:
    """Build instances from records; a bad one does not stop the rest.

    Parameters
    ----------
    records : sequence of Record
    problem, settings
        As for `read_instances`.
    """
    found: list[tuple[Problem[Any], Instance] | Unread] = []
    for record in records:
        try:
            found.append(_instance(record, problem, settings or {}))
        except NsaError as error:
            name = record.data.get("name")
            found.append(Unread(name if isinstance(name, str) else record.source.name, error))
    return found


def _instance(
    record: Record, problem: Problem[Any] | None, settings: Mapping[str, Any]
) -> tuple[Problem[Any], Instance]:
    problems = [problem] if problem else all_problems()
    if not any(_has_keys(record.data, p) for p in problems):
        record = spread_rows(record, problems)
    settled = _settled(record, settings)
    its_problem = problem or _recognise(settled)
    return its_problem, _translated(settled, its_problem).build(its_problem.from_record)


def _settled(record: Record, settings: Mapping[str, Any]) -> Record:
    """Override the file's keys by the user's settings; errors in these have no line."""

    def locate(key: str | None, index: int | None) -> int | None:
        return None if key in settings else record.locate(key, index)

    return replace(record, data={**record.data, **settings}, locate=locate) if settings else record


def _translated(record: Record, problem: Problem[Any]) -> Record:
    """Translate aliases of keys; errors point to the file's own names."""
    theirs = {ours: name for name, ours in problem.aliases.items() if name in record.data}
    if not theirs:
        return record
    data = {problem.aliases.get(key, key): value for key, value in record.data.items()}
    return record.revised(data, theirs)


def read_records(source: Source, problem: Problem[Any] | None = None) -> list[Record]:
    """Read the records of a source, by the first of: arrays, JSON, a problem's own format, a table."""
    owners = [problem] if problem else all_problems()
    if source.arrays is not None:
        return read_arrays(source, owners)
    if json_text.looks_like_json(source):
        records = json_text.read_records(source)
        for record in records:
            claim = record.data.get("problem")
            if problem is not None and claim not in (None, problem.name):
                message = f"expected an instance of {problem.name}, got one of {shown(claim)}"
                raise source.error(message, record.locate("problem", None))
        return records
    formats = [(owner, fmt) for owner in owners for fmt in owner.formats]
    found = next((pair for pair in formats if pair[1].recognises(source)), None)
    found = found or next((pair for pair in formats if source.suffix in pair[1].suffixes), None)
    if found:
        return _stamped(found[1].read(source), found[0])
    if table.looks_like_table(source) or (problem and problem.columns):
        return [_table_record(source, problem)]
    raise source.error(
        "not recognised: expected JSON, CSV with a header, or a text format of "
        f"{', '.join(builtin_names())}; the text begins {shown(source.text.lstrip()[:60])}"
    )


def _stamped(records: list[Record], problem: Problem[Any]) -> list[Record]:
    return [replace(r, data={"problem": problem.name, **r.data}) for r in records]


def _table_record(source: Source, problem: Problem[Any] | None) -> Record:
    cells = table.read_table(source)
    if problem is None:
        fitting = [p for p in all_problems() if table.matches(cells, p.columns)]
        # A header with values and weights also has weights: the problem that requires more columns wins.
        fitting.sort(key=lambda p: -sum(c.required for c in p.columns))
        if not fitting:
            required = {p.name: [c.headers[0] for c in p.columns if c.required] for p in all_problems()}
            heads = "; ".join(f"{name}: {', '.join(heads)}" for name, heads in required.items() if heads)
            got = "no header" if cells.headers is None else f"header {shown(', '.join(cells.headers), 80)}"
            raise source.error(
                f"cannot tell the problem: expected ({heads}), got {got}", cells.first, use={"problem": None}
            )
        problem = fitting[0]
    taken = {header for column in problem.columns for header in column.headers}
    cells = table.with_constants(cells, set(problem.settings) - taken)
    # A note that is no setting is a remark with a colon.
    notes = {key: value for key, value in cells.notes.items() if key in problem.settings}
    record = table.to_record(replace(cells, notes=notes), problem.columns, problem.name)
    return _stamped([record], problem)[0]


def _recognise(record: Record) -> Problem[Any]:
    """Choose the problem that a record names, or the one that requires most of its keys."""
    data = record.data
    if (name := data.get("problem")) is not None:
        for problem in all_problems():
            if problem.name == name:
                return problem
        known = ", ".join(p.name for p in all_problems())
        message = f"problem: expected one of {known}, got {shown(name)}"
        raise record.source.error(message, record.locate("problem", None))
    fitting = [p for p in all_problems() if _has_keys(data, p)]
    if not fitting:
        needs = "; ".join(
            f"{p.name}: {', '.join('|'.join(k) for k in p.record_keys)}" for p in all_problems()
        )
        got = shown(", ".join(data), 80) or "nothing"
        message = f"cannot tell the problem from the keys {got}; expected ({needs})"
        raise record.source.error(message, record.locate(None, None))
    return max(fitting, key=lambda p: len(p.record_keys))


def _has_keys(data: Mapping[str, Any], problem: Problem[Any]) -> bool:
    keys = {problem.aliases.get(key, key) for key in data}
    return all(any(key in keys for key in needs) for needs in problem.record_keys)


def read_solution(source: Source, problem: Problem[Any], instance: Instance) -> Solution:
    """Read a solution of an instance, in one of the forms of `nsa_cli.problems.solutions`.

    Raises
    ------
    InputError
        If the text holds no solution, several of which none is the instance's by name, or one that is not
        feasible; names the element.
    """
    if source.arrays is not None:
        raise source.error("holds arrays; expected a solution as text")
    ids = choose_answer(read_answers(source, problem), instance.name, source).ids
    solution = Record({"solution": ids}, source).build(lambda data: instance.from_ids(data["solution"]))
    if (why := instance.violation(solution)) is not None:
        raise source.error(f"is not feasible: {why}")
    return solution


def instance_formats(problem: Problem[Any]) -> list[str]:
    """Names of the formats that a problem's instances can be written in."""
    own = [fmt.name for fmt in problem.formats if fmt.write]
    return ["json", "jsonl", *(["csv"] if problem.columns else []), *own]


def write_instances(problem: Problem[Any], instances: Sequence[Instance], fmt: str) -> str:
    """Write instances as text, with every digit they have.

    Raises
    ------
    UsageError
        If the problem has no such format, or the format holds one instance and there are several.
    """
    if fmt not in instance_formats(problem):
        known = ", ".join(instance_formats(problem))
        raise UsageError(f"expected one of {known} for {problem.name}, got {shown(fmt)}", option="format")
    if fmt == "json" and len(instances) > 1:
        return "[\n" + ",\n".join(json_text.dumps(i.record()) for i in instances) + "\n]\n"
    if fmt in ("json", "jsonl"):
        return "".join(json_text.dumps(i.record()) + "\n" for i in instances)
    if len(instances) > 1:
        raise UsageError(
            f"{fmt} holds one instance, got {len(instances)}", option="format", use={"output": "DIR/"}
        )
    if fmt == "csv":
        return _write_table(problem, instances[0])
    (write,) = (f.write for f in problem.formats if f.name == fmt)
    assert write is not None
    return write(instances[0])


def _write_table(problem: Problem[Any], instance: Instance) -> str:
    data = problem.columns_of(instance)
    columns = [c for c in problem.columns if c.key in data]
    rows = list(zip(*(data[c.key] for c in columns), strict=True))
    notes = {key: value for key in problem.settings if (value := instance.record().get(key)) is not None}
    return table.format_table([c.headers[0] for c in columns], rows, notes)
