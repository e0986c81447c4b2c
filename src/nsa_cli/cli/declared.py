"""Options of the command line from declared settings, see `nsa_cli.core.setting`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, is_dataclass
from typing import Annotated, Any

import typer

from nsa_cli.cli.help import completion
from nsa_cli.core.setting import help_of, settings_of

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def option_of(owner: type, name: str) -> Any:
    """Make the option of a setting, for a command that takes it alone."""
    _, declared = settings_of(owner)[name]
    words, flag = declared.words, _word(owner, name).strip("_").replace("_", "-")
    return typer.Option(
        *declared.short,
        f"--{flag}",
        metavar=declared.metavar or (None if callable(words) else "|".join(words) or None),
        help=help_of(owner, name),
        rich_help_panel=declared.group,
        autocompletion=completion(words) if words else None,
    )


def expanded(command: Callable[..., int]) -> Callable[..., int]:
    """Make a command that is called with options of one that is called with dataclasses of settings.

    Parameters
    ----------
    command : callable
        Each of its parameters whose type is a dataclass stands for the options of the settings in it.
    """
    own = inspect.signature(command, eval_str=True).parameters
    owners: dict[str, Any] = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in own.items():
        parameters |= _options(owners[name]) if name in owners else {name: parameter}

    @functools.wraps(command)
    def run(**given: Any) -> int:
        made = {name: owner(**_values(owner, given)) for name, owner in owners.items()}
        return command(**made, **{name: given[name] for name in own if name not in owners})

    signature = inspect.Signature([p.replace(kind=_KEYWORD) for p in parameters.values()])
    run.__signature__ = signature  # type: ignore[attr-defined]  # what typer reads the options from
    run.__annotations__ = {name: p.annotation for name, p in parameters.items()}
    return run


def _options(owner: type) -> dict[str, inspect.Parameter]:
    """Parameters for the settings of a dataclass, by their words."""
    found = {}
    for name, word in _words(owner).items():
        default = settings_of(owner)[name][0]
        kind: Any = str | None
        if isinstance(default, bool):
            kind, default = bool, False
        elif isinstance(default, tuple):
            kind = list[str]
        elif default is MISSING:
            kind, default = str, inspect.Parameter.empty
        option = Annotated[kind, option_of(owner, name)]
        found[word] = inspect.Parameter(word, _KEYWORD, default=default, annotation=option)
    return found


def _values(owner: type, given: dict[str, Any]) -> dict[str, Any]:
    """Pick the settings of a dataclass from a command line."""
    return {name: given[word] if word == name else not given[word] for name, word in _words(owner).items()}


def _words(owner: type) -> dict[str, str]:
    """Names on the command line of the settings that it has."""
    return {name: _word(owner, name) for name, (_, s) in settings_of(owner).items() if s.group}


def _word(owner: type, name: str) -> str:
    """Name of a setting on the command line: ``no_bound`` for `bound`, which is True by default."""
    return f"no_{name}" if settings_of(owner)[name][0] is True else name
