"""Keyword arguments of the Python functions: typed, shown by completion, and refused by name if unknown."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast

from nsa_cli.anneal.chains import Progress
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.reading import Reading, ReadingOptions
from nsa_cli.core.words import nearest
from nsa_cli.solver.settings import SettingOptions, Settings

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class RunOptions(SettingOptions, total=False):
    """Keyword arguments of a solve: fields of `Settings`, and what to do meanwhile.

    Attributes
    ----------
    progress : bool
        Whether to show a bar, in a terminal on standard error or in a notebook.
    on_progress : callable, optional
        Called with a `Progress` about ten times a second.
    """

    progress: bool
    on_progress: Callable[[Progress], None] | None


class SolveOptions(RunOptions, ReadingOptions, total=False):
    """Keyword arguments of a solve of files or data: `RunOptions`, fields of `Reading`, and these.

    Attributes
    ----------
    data : mapping, optional
        Keys beside, or instead of, the instance's own: ``{"capacity": 5}``.
    """

    data: Mapping[str, Any] | None


def _defaults() -> dict[str, Any]:
    """Default of each keyword argument."""
    known = {f.name: f for cls in (Settings, Reading) for f in fields(cls)}
    others = {"progress": False, "on_progress": None, "data": None}
    return {name: None if f.default is MISSING else f.default for name, f in known.items()} | others


def with_options(options: type) -> Callable[[FunctionT], FunctionT]:
    """Name the keyword arguments of a function that takes them as ``**options``.

    Completion then knows them, and another one is refused with the nearest of them.

    Parameters
    ----------
    options : type
        Class of the typed dictionary that they are.
    """

    def decorate(function: FunctionT) -> FunctionT:
        signature, defaults = inspect.signature(function), _defaults()
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        keyword = inspect.Parameter.KEYWORD_ONLY
        added = [
            inspect.Parameter(name, keyword, default=defaults[name], annotation=annotation)
            for name, annotation in _annotations(options).items()
        ]
        names = {p.name for p in (*own, *added)}

        @functools.wraps(function)
        def call(*arguments: Any, **given: Any) -> Any:
            for word in given:
                if word not in names:
                    raise _unknown(word, function.__name__, names)
            return function(*arguments, **given)

        call.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        return cast(FunctionT, call)

    return decorate


def _annotations(options: type) -> dict[str, Any]:
    """Types of a typed dictionary's keys, as they are written."""
    return {name: getattr(x, "__forward_arg__", x) for name, x in options.__annotations__.items()}


def _unknown(word: str, function: str, names: set[str]) -> UsageError:
    near = nearest(word, sorted(names), 0.6)
    known = f"it has {', '.join(sorted(names))}" if near is None else f"the nearest is {near}"
    return UsageError(f"{function} has no argument {shown(word)}; {known}")
