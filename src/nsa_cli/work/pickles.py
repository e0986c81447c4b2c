"""Pickles between processes of one run: problems by their names, errors whatever their constructors."""

from __future__ import annotations

import io
import pickle
from typing import Any

from nsa_cli.core.errors import NsaError, UsageError
from nsa_cli.core.problem import Problem
from nsa_cli.core.task import Task
from nsa_cli.problems import all_problems, builtin_names, find_problem


def pack(value: Any) -> bytes:
    """Pickle a value.

    Raises
    ------
    UsageError
        If it holds a problem that another process cannot find.
    """
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def unpack(data: bytes) -> Any:
    """Give the value back; only of a process of the same run, for a pickle may run anything."""
    return _Unpickler(io.BytesIO(data)).load()


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> str | None:
        return _name_of(value) if isinstance(value, Problem) else None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, NsaError):
            return _error, (type(value), value.args, vars(value))
        if isinstance(value, Task) and not value.problem.built_in:
            rest = {
                "seconds": value.seconds,
                "stream": value.stream,
                "file": value.file,
                "notes": value.notes,
            }
            return _task, (value.problem, value.instance.record(), rest)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: str) -> Any:
        return find_problem(name)


def _name_of(problem: Problem[Any]) -> str:
    """Find the name under which another process has a problem, too."""
    if problem.name in builtin_names() and find_problem(problem.name) is problem:
        return problem.name
    home = getattr(getattr(problem, "model", None), "home", None)
    if home is not None:
        return str(home[1][0])
    for other in all_problems():
        if other is problem:
            return other.name
    raise UsageError(
        f"{problem.name}: other processes cannot find this problem, which is in no file; solve in one process"
    )


def _error(cls: type[NsaError], arguments: tuple[Any, ...], state: dict[str, Any]) -> NsaError:
    error = cls.__new__(cls)
    error.args = arguments
    vars(error).update(state)
    return error


def _task(problem: Problem[Any], record: dict[str, Any], rest: dict[str, Any]) -> Task:
    return Task(problem, problem.from_record(record), **rest)
