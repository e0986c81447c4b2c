"""Python functions of the program: read, generate, solve.

>>> import nsa_cli as nsa
>>> result = nsa.solve("tour.tsp", steps="10N2", seed=1)     # doctest: +SKIP
>>> result.objective, result.to_dict()["solution"]           # doctest: +SKIP
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from nsa_cli.core.draws import draw_seed
from nsa_cli.core.errors import InputError, NsaError, UsageError
from nsa_cli.core.instance import Instance
from nsa_cli.core.limits import memory_limit
from nsa_cli.core.options import parse_bytes, parse_count, parse_seed
from nsa_cli.core.problem import Problem
from nsa_cli.core.reading import Reading
from nsa_cli.core.record import Record, Source
from nsa_cli.core.result import Result
from nsa_cli.core.task import Task
from nsa_cli.io.source import read_source
from nsa_cli.problems import all_problems, builtin_names, find_problem
from nsa_cli.problems.files import Unread, check_settings, read_records
from nsa_cli.problems.files import read_each as read_each_record
from nsa_cli.problems.sets import find_set, read_set
from nsa_cli.solver.settings import Settings

__all__ = ["Task", "Unread", "generate", "read", "read_each", "solve", "solve_many"]


def read(
    path: str | Path,
    problem: str | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    max_memory: int | str | None = None,
    **reading: Any,
) -> list[Task]:
    """Read the instances of a file, or of standard input for ``-``.

    Parameters
    ----------
    path : str or Path
    problem : str, optional
        A problem's name or ``FILE.py:CLASS``; recognised from the file by default.
        `path` may also be the name of a problem that needs no data but `settings`.
    settings : mapping, optional
        Record keys that the file lacks, such as ``{"capacity": 100}``.
    max_memory : int or str, optional
        Memory that reading may take, in bytes or as ``4GB``; 2 GB by default.
    **reading
        Fields of `Reading`: ``columns``, ``separator``, ``decimal``, ``thousands``, ``ignore``.

    Raises
    ------
    InputError
        If the file is not what it should be; names file and line.
    UsageError
        If a setting is none of the problem's.
    """
    tasks = []
    for task in read_each([path], problem, settings, max_memory=max_memory, **reading):
        if isinstance(task, Unread):
            raise task.error
        tasks.append(task)
    return tasks


def read_each(
    paths: Sequence[str | Path],
    problem: str | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    max_memory: int | str | None = None,
    **reading: Any,
) -> list[Task | Unread]:
    """Read the instances of many files; errors take the place of unreadable ones.

    Parameters
    ----------
    paths : sequence of str or Path
        Files that belong to one instance count once, whichever of them are given.
    problem, settings, max_memory, **reading
        As for `read`.

    Raises
    ------
    UsageError
        If a setting is none of the problems'.
    """
    with memory_limit(parse_bytes("max_memory", max_memory)):
        return _read_each(paths, problem, settings or {}, Reading(**reading))


def _read_each(
    paths: Sequence[str | Path], problem: str | None, settings: Mapping[str, Any], form: Reading
) -> list[Task | Unread]:
    owner = find_problem(problem) if problem else None
    seen: set[tuple[Path, ...]] = set()
    tasks: list[Task | Unread] = []
    for path in map(str, paths):
        begin = time.monotonic()
        try:
            found = read_each_record(_records(path, owner, form, seen), owner, settings)
        except NsaError as error:
            tasks.append(Unread(path, error))
            continue
        seconds = (time.monotonic() - begin) / max(len(found), 1)
        tasks += [
            x if isinstance(x, Unread) else Task(x.problem, x.instance, seconds, file=path, notes=x.remarks)
            for x in found
        ]
    problems = {id(task.problem): task.problem for task in tasks if isinstance(task, Task)}
    check_settings(list(problems.values()), settings or {})
    return tasks


def _records(
    path: str, problem: Problem[Any] | None, reading: Reading, seen: set[tuple[Path, ...]]
) -> list[Record | InputError]:
    """Read the records of a path, which may be a file, a part of a set of files, or a problem's name."""
    if path in builtin_names() and not os.path.exists(path):
        # Some problems are their parameters: a name and --set a=1 is all there is to know.
        return [Record({"problem": path}, Source(path, "", ""))]
    parts = None if path == "-" else find_set(Path(path), [problem] if problem else all_problems())
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


def solve(
    instance: str | Path | Instance | Task,
    problem: str | None = None,
    *,
    on_progress: Callable[[Any], None] | None = None,
    **settings: Any,
) -> Result:
    """Solve one instance.

    Parameters
    ----------
    instance : str, Path, Instance or Task
        A file with one instance, or the instance itself.
    problem : str, optional
        As for `read`.
    on_progress : callable, optional
        Called with a `Progress` about ten times a second.
    **settings
        Fields of `Settings` and, of a file, of `Reading`.
    """
    reading = {f.name: settings.pop(f.name) for f in fields(Reading) if f.name in settings}
    if isinstance(instance, Task):
        task = instance
    elif isinstance(instance, Instance):
        task = Task(_owner(instance, problem), instance)
    else:
        tasks = read(instance, problem, **reading)
        if len(tasks) != 1:
            raise UsageError(f"{instance}: holds {len(tasks)} instances; read them and solve each")
        task = tasks[0]
    return solve_many([task], on_progress=on_progress, **settings)[0]


def solve_many(
    tasks: Sequence[Task], *, on_progress: Callable[[Any], None] | None = None, **settings: Any
) -> list[Result]:
    """Solve several instances, those of equal size in one batch; batch mates change no answer."""
    from nsa_cli.solver.solve import solve_all

    return solve_all(tasks, Settings(**settings), on_progress=on_progress)


def _owner(instance: Instance, problem: str | None) -> Problem[Any]:
    """Find the problem of an instance by its record."""
    return find_problem(problem or str(instance.record()["problem"]))
