"""Reading and writing instances: recognition of problem and format.

Every text, whatever its form, becomes records; of these, word by word, data with a problem's keys; and of
these its instance.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from nsa_cli.core.errors import InputError, NsaError, UsageError, shown
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.problem import FileFormat, FileSet, Problem
from nsa_cli.core.record import Reading, Record, Source
from nsa_cli.core.words import nearest, squeezed
from nsa_cli.io import json_text, table
from nsa_cli.io.frames import Frame
from nsa_cli.io.source import read_source
from nsa_cli.problems import builtin_names, declared
from nsa_cli.problems.datasets import read_arrays
from nsa_cli.problems.json_records import (
    are_elements,
    foreign_record,
    json_records,
    list_records,
    object_record,
    spread_rows,
)
from nsa_cli.problems.solutions import choose_answer, read_answers, solution_of
from nsa_cli.problems.tables import frame_record, table_record
from nsa_cli.problems.vocabulary import has_keys, recognise, understood, vocabulary

#: Keys with an option of their own, which need not suit every file.
_OPTIONS = ("capacity", "open", "start", "from", "to")


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


class Found(NamedTuple):
    """An instance of a file.

    Attributes
    ----------
    problem : Problem
    instance : Instance
    remarks : tuple of str
        What was decided in reading, and should be said.
    words : mapping of str to str
        The word of the file for each key.
    """

    problem: Problem[Any]
    instance: Instance
    remarks: tuple[str, ...] = ()
    words: Mapping[str, str] = MappingProxyType({})


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
    found = read_each(read_records(source, problem), problem, settings)
    for one in found:
        if isinstance(one, Unread):
            raise one.error
    return [(one.problem, one.instance) for one in found if isinstance(one, Found)]


def read_each(
    records: Sequence[Record | InputError],
    problem: Problem[Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Found | Unread]:
    """Build instances from records; a bad one does not stop the rest.

    Parameters
    ----------
    records : sequence of Record or InputError
        An error takes the place of a record that is malformed.
    problem, settings
        As for `read_instances`.
    """
    found: list[Found | Unread] = []
    for record in records:
        if isinstance(record, InputError):
            found.append(Unread(record.source, record))
            continue
        try:
            found.append(_instance(record, problem, settings or {}))
        except NsaError as error:
            if error.option == "set":
                raise  # no fault of this file
            name = record.data.get("name")
            found.append(Unread(name if isinstance(name, str) else record.source.name, error))
    return found


def _instance(record: Record, problem: Problem[Any] | None, settings: Mapping[str, Any]) -> Found:
    claim = record.data.get("problem")
    if problem is not None and claim not in (None, problem.name):
        message = f"expected an instance of {problem.name}, got one of {shown(claim)}"
        raise record.source.error(message, record.locate("problem", None))
    its_problem = problem or recognise(record, settings)
    _refuse_ours(record, its_problem)
    check_settings([its_problem], {word: x for word, x in settings.items() if squeezed(word) not in _OPTIONS})
    settled = _settled(_counted(understood(record, its_problem), its_problem), its_problem, settings)
    return Found(its_problem, settled.build(its_problem.from_record), settled.remarks, settled.words)


def _counted(record: Record, problem: Problem[Any]) -> Record:
    """Count the elements of data in memory from 0, unless they have names or ids, or stand for several."""
    data, columns = record.data, {column.key for column in problem.columns}
    if record.source.first == 1 or "ids" not in columns or data.keys() & {"names", "ids", "copies"}:
        return record
    lists = [data[key] for key in (*problem.arrays, *columns) if isinstance(data.get(key), list | tuple)]
    return replace(record, data={**data, "ids": list(range(len(lists[0])))}) if lists else record


def _refuse_ours(record: Record, problem: Problem[Any]) -> None:
    """Refuse what this program writes about instances, and what no instance looks like."""
    keys, where = record.data.keys(), record.source
    what, key, use = "", "", {}
    if str(record.data.get("format")).startswith("nsa-policy"):
        what, key, use = "a policy", "format", {"policy": where.name}
    elif "objective" in keys and not has_keys(record.data, problem):
        if "solution" in keys:
            what, key, use = "a result", "solution", {"init": where.name}
        elif {"feasible", "violation"} <= keys:
            what, key = "the check of a solution", "feasible"
    if what:
        raise where.other(f"expected an instance, got {what}", record.locate(key, None), use=use)


def _settled(record: Record, problem: Problem[Any], settings: Mapping[str, Any]) -> Record:
    """Override the file's keys by the user's settings; errors in these have no line.

    A setting of another problem is left out here: whoever gives settings for several files sees to it that
    each has its use (`check_settings`).
    """
    keys = {word: setting_key(problem, word) for word in settings}
    ours = {key: settings[word] for word, key in keys.items() if key is not None}

    def locate(key: str | None, index: int | None) -> int | None:
        return None if key in ours else record.locate(key, index)

    return replace(record, data={**record.data, **ours}, locate=locate) if ours else record


def setting_key(problem: Problem[Any], word: str) -> str | None:
    """Find the key of a record that a setting means."""
    key = vocabulary(problem).key_of(word, None)
    return None if key == "problem" else key


def check_settings(problems: Sequence[Problem[Any]], settings: Mapping[str, Any]) -> None:
    """Check that every setting is a key of each problem; one with an option of its own of one at least.

    Raises
    ------
    UsageError
        Of the option ``set`` or that option; with the nearest word.
    """
    for word in settings:
        lacking = [p for p in problems if setting_key(p, word) is None]
        own = squeezed(word) if squeezed(word) in _OPTIONS else None
        if not lacking or (own is not None and len(lacking) < len(problems)):
            continue
        if own is not None:
            raise UsageError(f"{lacking[0].name} has none", option=own)
        keys = lacking[0].settings
        near = nearest(word, [spelt for key in keys for spelt in vocabulary(lacking[0]).spelt[key]])
        hint = "" if near is None else f"; the nearest is {near}"
        message = f"{lacking[0].name} has no {word!r}; it has {', '.join(keys)}{hint}"
        raise UsageError(message, option="set")


def read_records(source: Source, problem: Problem[Any] | None = None) -> list[Record | InputError]:
    """Read the records of a source, by the first of: arrays, JSON, a problem's own format, a table.

    Raises
    ------
    InputError
        If it is none of these, or not what the user says of its form.
    """
    if problem is not None and not problem.built_in and not re.match(r"\s*\[?\s*\{", source.text):
        keys = ", ".join(key for keys in problem.record_keys for key in keys)
        got = shown(source.text.lstrip()[:60]) if source.arrays is None else "arrays"
        raise source.other(f"{problem.name} is read from JSON with the keys {keys}, got {got}")
    if source.arrays is not None:
        _refuse_columns(source, "is read as arrays")
        return list(read_arrays(source, problem))
    if json_text.looks_like_json(source):
        rows = re.match(r"\s*\[\s*[^{\s]", source.text)  # whose columns may be named
        _refuse_columns(source, "is read as JSON", "columns" if rows else "")
        return json_records(source, problem)
    if (found := _format(source, problem)) is not None:
        name, fmt = found
        if not source.reading.of_tables:
            return [replace(r, data={"problem": name, **r.data}) for r in fmt.read(source)]
        if source.suffix in fmt.suffixes:
            _refuse_columns(source, f"is read as {fmt.name}")
    if table.looks_like_table(source) or (problem and problem.columns):
        return [table_record(table.read_table(source), problem)]
    raise source.other(
        "is no instance: expected JSON, a table with a header, or a text format of "
        f"{', '.join(builtin_names())}; the text begins {shown(source.text.lstrip()[:60])}"
    )


def _format(source: Source, problem: Problem[Any] | None) -> tuple[str, FileFormat] | None:
    """Choose a text's format by its first lines, those that the ending is for first; else by the ending."""
    known = list(declared("formats", problem))
    by_ending = [pair for pair in known if source.suffix in pair[1].suffixes]
    told = (pair for pair in (*by_ending, *known) if pair[1].recognises(source))
    return next(told, by_ending[0] if by_ending else None)


class FoundSet(NamedTuple):
    """An existing set of files.

    Attributes
    ----------
    problem : str
        Its name.
    form : FileSet
    stem : str
        Common part of the files' names.
    files : dict of str to Path
        By part.
    """

    problem: str
    form: FileSet
    stem: str
    files: dict[str, Path]


def find_set(path: Path, problem: Problem[Any] | None) -> FoundSet | None:
    """Find the set of a file, of one problem or of any, by its name and the files beside it.

    Of several sets the one with the most required files wins: a knapsack has all files that bins have.
    """
    fitting = []
    for name, form in declared("file_sets", problem):
        if (match := re.fullmatch(form.pattern, path.name)) is None:
            continue
        begin, end = match.span("part")
        files = {part: path.with_name(path.name[:begin] + part + path.name[end:]) for part in form.parts}
        there = {part: file for part, file in files.items() if os.path.isfile(file)}
        if all(part in there for part, required in form.parts.items() if required):
            fitting.append(FoundSet(name, form, match["stem"], there))
    return max(fitting, key=lambda found: sum(found.form.parts.values()), default=None)


def read_set(found: FoundSet) -> Record:
    """Read all the files of a set as one record.

    Raises
    ------
    InputError
        If one of them cannot be read, or they do not go together.
    """
    sources = {part: read_source(file) for part, file in found.files.items()}
    record = found.form.read(found.stem, sources)
    return replace(record, data={"problem": found.problem, **record.data})


def data_records(
    data: Any, problem: Problem[Any] | None = None, reading: Reading | None = None, where: str = ""
) -> list[Record | InputError]:
    """Make records of data in memory: a mapping with the keys of the JSON form, rows of numbers, or a table.

    Parameters
    ----------
    data : mapping, list or Frame
        Plain, see `nsa_cli.io.arrays`.
    problem : Problem, optional
        Recognised by default.
    reading : Reading, optional
    where : str
        Place that errors name, as a file's.

    Raises
    ------
    InputError
        If they are no data of the problem, or of any.
    """
    source = Source(where, "", "", None, reading or Reading(), first=0)
    rows = replace(source, name=where or "data")
    if isinstance(data, Frame):
        return [frame_record(data, rows, problem)]
    if isinstance(data, list) and any(
        isinstance(x, str) for row in data[:2] if isinstance(row, list) for x in row
    ):
        return list(list_records(data, rows, problem))
    _refuse_columns(source, "is data in memory")
    if are_elements(data, problem):
        return [object_record(data, source, problem)]
    if (record := foreign_record(data, source, lambda *_: None, problem)) is not None:
        return [record]
    if isinstance(data, Mapping):
        return [spread_rows(Record(dict(data), source), problem)]
    if not isinstance(data, list):
        raise source.error(f"expected a file, data or an instance, got {shown(data)}")
    if data and all(isinstance(row, Mapping) for row in data):
        raise source.error("expected one instance, got a list of mappings; use solve_many")
    return list(read_arrays(replace(source, arrays=data), problem))


def _refuse_columns(source: Source, how: str, but: str = "") -> None:
    """Refuse what the user says about a table's columns where there is no table."""
    given = {name: None for name in source.reading.of_tables if name != but}
    if given:
        raise source.error(f"{how}, which has no columns to tell apart", drop=given)


def read_solution(
    source: Source, problem: Problem[Any], instance: Instance, tell: Callable[[str], None] = lambda _: None
) -> Solution:
    """Read a solution of an instance, in one of the forms of `nsa_cli.problems.solutions`.

    `tell` is called with a sentence if its ids are not the file's and were understood nevertheless.

    Raises
    ------
    InputError
        If the text holds no solution, several of which none is the instance's by name, or one that is not
        feasible; names the element.
    """
    if source.arrays is not None:
        raise source.error("holds arrays; expected a solution as text")
    ids = choose_answer(read_answers(source, problem), instance.name, source).ids
    solution, remarks = Record({"solution": ids}, source).build(
        lambda data: solution_of(data["solution"], problem, instance)
    )
    for remark in remarks:
        tell(f"{source.name}: {remark}")
    if (why := instance.fault(solution)) is not None:
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
    record = instance.record()
    notes = {key: value for key in problem.settings if (value := record.get(key)) is not None}
    notes = {key: json_text.dumps(x) if isinstance(x, list) else x for key, x in notes.items()}
    return table.format_table([c.headers[0] for c in columns], rows, notes)
