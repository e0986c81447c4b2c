"""Commands of functions: options from declared settings, ``--config``, ``-v``, and the help.

A parameter of a function whose type is a dataclass of settings (`nsa_cli.core.options`) stands for
the options of the settings in it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, is_dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from nsa_cli.cli.config import defaults_from, from_file, in_force
from nsa_cli.cli.console import Console, say
from nsa_cli.cli.writing import note_inputs
from nsa_cli.core.errors import InputError, StoppedError, UsageError
from nsa_cli.core.options import (
    ANNEALING,
    OPTIONS,
    OUTPUT,
    READING,
    SEARCH,
    STOPPING,
    help_of,
    settings_of,
)
from nsa_cli.core.words import listed

#: Headings of the help, in this order.
_ORDER = ("Arguments", OPTIONS, READING, STOPPING, SEARCH, ANNEALING, OUTPUT)

#: Options that people need first, whatever their headings: parameters, in the order of the help.
_FIRST = listed(
    "time_limit, output, format_, seed, problem, capacity, open_, from_, to, start, columns, gap, plot"
)

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def command(function: Callable[..., int]) -> Callable[..., int]:
    """Make a command of a function.

    Its options may also come from a file, ``--config``. A function that has a parameter `config` of its own
    (training, for its fields) is given the file's name, and reads what is no option; one that has `context`
    is given typer's.
    """
    own = inspect.signature(function, eval_str=True).parameters
    owners: dict[str, Any] = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in own.items():
        parameters |= _options(owners[name]) if name in owners else {name: parameter}
    parameters["context"] = inspect.Parameter("context", _KEYWORD, annotation=typer.Context)
    parameters["config"] = _config(reads_more="config" in own)
    parameters |= {"verbose": _options(Console)["verbose"]}

    @functools.wraps(function)
    def run(**given: Any) -> int:
        context = given["context"]
        try:
            note_inputs(given)
            if given["verbose"]:
                say(f"{context.command.name} with {in_force(context)}")
            made = {name: owner(**_values(owner, given)) for name, owner in owners.items()}
            return function(**made, **{name: given[name] for name in own if name not in owners})
        except KeyboardInterrupt:
            raise StoppedError("interrupted before there was a solution") from None
        except UsageError as error:
            if error.option is None or error.option not in from_file(context):
                raise
            why = f"{error.option.replace('_', '-')}: {error.message}"
            raise InputError(why, given["config"], use=error.use, drop=error.drop) from None

    signature = inspect.Signature([p.replace(kind=_KEYWORD) for p in parameters.values()])
    run.__signature__ = signature  # type: ignore[attr-defined]  # what typer reads the options from
    run.__annotations__ = {name: p.annotation for name, p in parameters.items()}
    return run


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


def completion(words: Iterable[str] | Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Complete one of some words for the shell; a function gives them when they are needed."""

    def complete(incomplete: str) -> list[str]:
        there = words() if callable(words) else words
        return [word for word in there if word.startswith(incomplete)]

    return complete


def _config(*, reads_more: bool) -> inspect.Parameter:
    def take(context: typer.Context, value: str | None) -> str | None:
        if value is not None and not context.resilient_parsing:
            found = defaults_from(value, context, reads_more=reads_more)
            context.default_map = {**(context.default_map or {}), **found}
        return value

    of = "and of fields over the preset" if reads_more else "the command line wins"
    option = typer.Option(
        "--config",
        metavar="FILE",
        is_eager=True,  # the defaults must be there before the other options look for theirs
        callback=take,
        help=f"YAML file of defaults for the options{', ' if reads_more else '; '}{of}.",
    )
    annotation = Annotated[str | None, option]
    return inspect.Parameter("config", _KEYWORD, default=None, annotation=annotation)


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
    values = {name: given[word] if word == name else not given[word] for name, word in _words(owner).items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _words(owner: type) -> dict[str, str]:
    """Names on the command line of the settings that it has."""
    return {name: _word(owner, name) for name, (_, s) in settings_of(owner).items() if s.group}


def _word(owner: type, name: str) -> str:
    """Name of a setting on the command line: ``no_bound`` for `bound`, which is True by default."""
    return f"no_{name}" if settings_of(owner)[name][0] is True else name


class GroupedCommand(TyperCommand):
    """A command that takes an option once, unless it adds up, and whose help lists options under headings."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given again, of which the parser would take the last without a word."""
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        for option in given if not ctx.resilient_parsing else ():
            if option.param_type_name == "option" and not option.multiple and given.count(option) > 1:
                name = max(option.opts, key=len).lstrip("-")
                raise UsageError(f"is given {given.count(option)} times; give it once", option=name)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Write the usage without braces around what is needed."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write options under the headings that they were given."""
        for heading, records in grouped(self, ctx):
            with formatter.section(heading):
                formatter.write_dl(records)


def grouped(command: Any, context: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """List the headings of a command's help, each with its parameters: spelling and meaning."""
    groups: dict[str, list[tuple[str, str]]] = {}
    places = {name: place for place, name in enumerate(_FIRST)}
    for parameter in sorted(command.get_params(context), key=lambda p: places.get(p.name, len(places))):
        record = parameter.get_help_record(context)
        kind = "Arguments" if parameter.param_type_name == "argument" else OPTIONS
        if parameter.name not in places:
            kind = getattr(parameter, "rich_help_panel", None) or kind
        if record is not None:
            groups.setdefault(kind, []).append(record)
    return [(heading, groups[heading]) for heading in sorted(groups, key=_ORDER.index)]
