"""Python functions of the program: read, generate, solve.

>>> import nsa_cli as nsa
>>> result = nsa.solve("tour.tsp", time_limit=2, seed=1)     # doctest: +SKIP
>>> result.objective, result.gap, result.solution            # doctest: +SKIP

Functions of single problems, in the modules `python` of their folders, make the data and call `solve`.
Nothing is printed, and several threads may solve at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from nsa_cli.anneal.chains import Progress
from nsa_cli.core.draws import draw_seed
from nsa_cli.core.errors import DataError, InputError, NsaError, UsageError, shown
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.options import parse_count, parse_seed
from nsa_cli.core.problem import Problem, Task
from nsa_cli.core.record import Reading, ReadingOptions, Record, Source
from nsa_cli.io.arrays import plain_data
from nsa_cli.io.frames import frame_of
from nsa_cli.io.source import read_source, stem_of
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.files import (
    Unread,
    check_settings,
    data_records,
    find_set,
    read_records,
    read_set,
    read_solution,
)
from nsa_cli.problems.files import read_each as read_each_record
from nsa_cli.report.progress import RunLive
from nsa_cli.report.result import Result
from nsa_cli.solver.interrupt import interruptible
from nsa_cli.solver.settings import RunOptions, Settings, SolveOptions, with_options

__all__ = [
    "RunOptions",
    "SolveOptions",
    "Task",
    "Unread",
    "first_solution",
    "generate",
    "read",
    "read_each",
    "solve",
    "solve_keys",
    "solve_many",
    "with_options",
]

#: What a problem of one's own is named by.
_SPEC = re.compile(r"\.py:\w+$")

#: What `solve` takes: a file, an instance, a problem without data, or data: a mapping with the keys of the
#: JSON form, or an array.
Given: TypeAlias = str | Path | Instance | Task | type | Mapping[str, Any] | ArrayLike


@with_options(ReadingOptions)
def read(
    path: str | Path,
    problem: str | type | None = None,
    settings: Mapping[str, Any] | None = None,
    **reading: Unpack[ReadingOptions],
) -> list[Task]:
    """Read the instances of a file, or of standard input for ``-``.

    Parameters
    ----------
    path : str or Path
    problem : str or type, optional
        A problem's name, ``FILE.py:CLASS``, or a class of one's own, a subclass of `UserProblem`; recognised
        from the file by default.
        `path` may also be the name of a problem that needs no data but `settings`.
    settings : mapping, optional
        Record keys that the file lacks, such as ``{"capacity": 100}``.
    **reading
        Fields of `Reading`: ``columns``, ``separator``, ``decimal``, ``ignore``.

    Raises
    ------
    InputError
        If the file is not what it should be; names file and line.
    UsageError
        If a setting is none of the problem's.
    """
    tasks = []
    for task in read_each([path], problem, settings, **reading):
        if isinstance(task, Unread):
            raise task.error
        tasks.append(task)
    return tasks


@with_options(ReadingOptions)
def read_each(
    paths: Sequence[str | Path],
    problem: str | type | None = None,
    settings: Mapping[str, Any] | None = None,
    **reading: Unpack[ReadingOptions],
) -> list[Task | Unread]:
    """Read the instances of many files; errors take the place of unreadable ones.

    Parameters
    ----------
    paths : sequence of str or Path
        Files that belong to one instance count once, whichever of them are given.
    problem, settings, **reading
        As for `read`.

    Raises
    ------
    UsageError
        If a setting is none of the problems'.
    """
    form = _reading(reading)
    owner = None if problem is None else find_problem(problem)
    seen: set[tuple[Path, ...]] = set()
    tasks: list[Task | Unread] = []
    for path in map(str, paths):
        begin = time.monotonic()
        try:
            its: Problem[Any] | None = owner
            if path == problem or names_problem(path):
                # Some problems are their parameters: a name and --set a=1 is all there is to know.
                named = find_problem(path)
                its = owner or named
                records: list[Any] = [Record({"problem": named.name}, Source(path, "", ""))]
            else:
                records = _records(path, owner, form, seen)
            found = read_each_record(records, its, settings or {})
        except NsaError as error:
            tasks.append(Unread(path, error))
            continue
        seconds = (time.monotonic() - begin) / max(len(found), 1)
        for x in found:
            if isinstance(x, Unread):
                tasks.append(x)
                continue
            instance = x.instance
            if instance.name is None and len(found) == 1:
                instance = replace(instance, name=stem_of(path))
            tasks.append(Task(x.problem, instance, seconds, file=path, notes=x.remarks, words=x.words))
    problems = {id(task.problem): task.problem for task in tasks if isinstance(task, Task)}
    check_settings(list(problems.values()), settings or {})
    return tasks


def names_problem(path: str) -> bool:
    """Tell the name of a problem from that of a file."""
    return (path in builtin_names() or _SPEC.search(path) is not None) and not os.path.exists(path)


def _records(
    path: str, problem: Problem[Any] | None, reading: Reading, seen: set[tuple[Path, ...]]
) -> list[Record | InputError]:
    """Read the records of a path, which may be a file, or a part of a set of files."""
    parts = None if path == "-" else find_set(Path(path), problem)
    if parts is None:
        return read_records(read_source(path, reading), problem)
    files = tuple(sorted(parts.files.values()))
    if files in seen:
        return []
    seen.add(files)
    return [read_set(parts)]


def generate(problem: str | Problem[Any], size: int, count: int = 1, seed: int | None = None) -> list[Task]:
    """Draw instances from the distribution that the paper trains and tests on.

    Raises
    ------
    UsageError
        If a number is out of range.
    """
    parse_count("size", size)
    parse_count("count", count)
    found = find_problem(problem) if isinstance(problem, str) else problem
    seed = draw_seed() if seed is None else parse_seed("seed", seed)
    # One generator an instance: the first three of a hundred are the three of three.
    streams = np.random.SeedSequence(seed).spawn(count)
    names = [f"{found.name}{size}-{seed}-{i}" for i in range(1, count + 1)]
    pairs = zip(streams, names, strict=True)
    return [Task(found, found.generate(size, np.random.default_rng(s), name)) for s, name in pairs]


@with_options(SolveOptions)
def solve(instance: Given, problem: str | type | None = None, **options: Unpack[SolveOptions]) -> Result:
    """Solve one instance.

    The first Ctrl-C in the main thread ends the search with the best so far, whose `status` is
    ``interrupted``; the second one raises KeyboardInterrupt.

    Parameters
    ----------
    instance : str, Path, mapping, array, Instance or Task
        A file with one instance; data with the keys of the JSON form, whose lists may be arrays; an array of
        coordinates or distances; an instance; or the class of a problem of one's own that has no data.
    problem : str or type, optional
        As for `read`.
    **options
        `SolveOptions`: fields of `Settings`, ``progress``, ``on_progress``; ``data``; fields of `Reading`.

    Raises
    ------
    InputError
        If a file or data make no instance; names the line, or the key.
    UsageError
        If an option is unknown, or has a value that cannot be.
    """
    settings = {name: value for name, value in options.items() if name in _RUN}
    others: Any = {name: value for name, value in options.items() if name not in _RUN}
    return solve_many([_task(instance, problem, **others)], **cast(RunOptions, settings))[0]


@with_options(RunOptions)
def solve_many(
    instances: Sequence[Given], problem: str | type | None = None, **options: Unpack[RunOptions]
) -> list[Result]:
    """Solve several instances, those of equal size in one batch; batch mates change no answer.

    Parameters
    ----------
    instances : sequence
        Of what `solve` takes.
    problem : str or type, optional
        As for `read`, of all of them.
    **options
        `RunOptions`: fields of `Settings`, ``progress``, ``on_progress``.

    Returns
    -------
    list of Result
        In the order of `instances`.
    """
    from nsa_cli.solver.solve import solve_all

    if isinstance(instances, str | Path | Mapping | Instance | Task) or not isinstance(instances, Iterable):
        raise UsageError(f"expected a list of instances, got {shown(instances)}; solve takes one")
    owner: Any = None if problem is None else find_problem(problem)  # one for all: they share a batch
    tasks = [_task(instance, owner, where=f"instances[{i}]") for i, instance in enumerate(instances)]
    given: dict[str, Any] = {**options}
    progress, on_progress = given.pop("progress", False), given.pop("on_progress", None)
    if on_progress is not None and not callable(on_progress):
        raise UsageError(f"expected a function, got {shown(on_progress)}", option="on_progress")
    given["init"] = _first_solution(given.get("init"), tasks)
    settings = Settings(**given)
    with _shown(tasks, settings, progress, on_progress) as show, interruptible() as asked:
        return solve_all(tasks, settings, asked=asked, on_progress=show)


def solve_keys(keys: Mapping[str, Any], elements: Sequence[str], options: RunOptions) -> Result:
    """Solve an instance of data whose elements are numbers from 0, unless they have names.

    Parameters
    ----------
    keys : mapping
        Keys of the JSON form with ``problem``; None for what is not given.
    elements : sequence of str
        Keys of which the first that is given has a row an element.
    options : RunOptions
    """
    given = {key: value for key, value in keys.items() if value is not None}
    counted = next((key for key in elements if key in given), "")
    if (frame := frame_of(given.get(counted), counted)) is not None:
        others = {key: value for key, value in given.items() if key not in (counted, "problem")}
        return solve(frame, given["problem"], data=others, **options)
    given = {key: plain_data(value, key) for key, value in given.items()}
    if given.get(counted) == []:
        raise DataError(f"{counted}: expected at least one element, got none", counted)
    return solve(given, **options)


#: Names of `RunOptions`.
_RUN = frozenset(RunOptions.__annotations__)


@contextlib.contextmanager
def _shown(
    tasks: list[Task], settings: Settings, progress: bool, on_progress: Callable[[Progress], None] | None
) -> Iterator[Callable[[Progress], None] | None]:
    """Open a bar if asked for; give what is to be called with the progress."""
    if not progress:
        yield on_progress
        return
    deadline = None if settings.time_limit is None else settings.started + settings.time_limit
    with RunLive(tasks, deadline) as line:

        def show(progress: Progress) -> None:
            line(progress)
            if on_progress is not None:
                on_progress(progress)

        yield show


def _task(
    given: Given,
    problem: str | type | None = None,
    *,
    where: str = "",
    data: Mapping[str, Any] | None = None,
    **reading: Unpack[ReadingOptions],
) -> Task:
    """Make a task of what a user gives; `where` names data among others."""
    if isinstance(given, type) and problem is None:
        problem, given = given, {}  # a problem without data
    if isinstance(given, Task | Instance):
        unused = [*(["data"] if data else []), *(name for name, value in reading.items() if value)]
        if unused:
            raise UsageError("is for files and data, got an instance", option=unused[0])
        if isinstance(given, Task) and problem is not None and find_problem(problem) is not given.problem:
            raise UsageError(f"expected a task of {problem}, got one of {given.problem.name}")
        return given if isinstance(given, Task) else Task(_owner(given, problem), given)
    if data is not None and not isinstance(data, Mapping):
        raise UsageError(f"expected keys with their values, got {shown(data)}", option="data")
    keys = None if data is None else plain_data(data, "data")
    if isinstance(given, str | Path):
        tasks = read(given, problem, keys, **reading)
        what, help_ = str(given), "solve_many takes those of read"
    else:
        owner = None if problem is None else find_problem(problem)
        plain = frame_of(given, where or "data") or plain_data(given, where or "data")
        records = data_records(plain, owner, _reading(reading), where)
        tasks = _tasks(read_each_record(records, owner, keys))
        check_settings([task.problem for task in tasks], keys or {})
        what, help_ = where or "data", "solve each"
    if len(tasks) != 1:
        raise UsageError(f"{what}: expected one instance, got {len(tasks)}; {help_}")
    return tasks[0]


def _tasks(found: Sequence[Any]) -> list[Task]:
    """Make tasks of instances that were not in files.

    Raises
    ------
    NsaError
        Of the first that could not be read.
    """
    for item in found:
        if isinstance(item, Unread):
            raise item.error
    return [Task(item.problem, item.instance, notes=item.remarks) for item in found]


def _reading(options: ReadingOptions) -> Reading:
    given: dict[str, Any] = {**options}
    return Reading(**given)


def _first_solution(init: Any, tasks: list[Task]) -> str | Solution | None:
    """Resolve ``init``: the name of a start, a file, or a solution as `Result.solution` has it."""
    if init is None or isinstance(init, str | os.PathLike):
        return first_solution(None if init is None else os.fspath(init), tasks)
    if len(tasks) != 1:
        raise UsageError(f"a solution starts one instance, not {len(tasks)}", option="init")
    return tasks[0].instance.from_array(init)


def first_solution(
    init: str | None, tasks: Sequence[Task], tell: Callable[[str], None] = lambda _: None
) -> str | Solution | None:
    """Resolve ``init``: the name of a start, or a solution from a file.

    Parameters
    ----------
    init : str, optional
    tasks : sequence of Task
    tell : callable
        As for `read_solution`.

    Raises
    ------
    UsageError
        If there is neither such a start nor such a file, or several instances for one solution.
    InputError
        If the file holds no solution.
    """
    if init is None or all(init in task.problem.starts for task in tasks):
        return init
    if not os.path.exists(init):
        tasks[0].problem.start(init)  # says which names there are
    if len(tasks) > 1:
        raise UsageError(f"a solution file starts one instance, not {len(tasks)}", option="init")
    return read_solution(read_source(init), tasks[0].problem, tasks[0].instance, tell)


def _owner(instance: Instance, problem: str | type | None) -> Problem[Any]:
    """Find the problem of an instance by its record."""
    return find_problem(str(instance.record()["problem"]) if problem is None else problem)
