"""``--config FILE.yaml`` for every command: one mechanism, whatever options a command has.

The file gives defaults for options, by their long names; the command line wins. A command that has a
parameter `config` of its own (training, for its fields) is given the path and reads what is no option.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from nsa_cli.cli.console import say
from nsa_cli.cli.options import Verbose, note_inputs
from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.core.words import nearest
from nsa_cli.io.json_text import dumps
from nsa_cli.io.yaml_text import read_yaml

_HELP = "YAML file of defaults for the options; the command line wins."
_HELP_MORE = "YAML file of defaults for the options, and of fields over the preset."

#: Options that are about the call and not about the work.
_NOT_IN_FILES = ("config", "help")


def configurable(command: Callable[..., int]) -> Callable[..., int]:
    """Add ``--config`` to a command, and ``-v``, which prints the options in force."""
    own = dict(inspect.signature(command, eval_str=True).parameters)
    reads_more = "config" in own

    def take(context: typer.Context, value: str | None) -> str | None:
        if value is not None and not context.resilient_parsing:
            context.default_map = {**(context.default_map or {}), **_defaults(context, value, reads_more)}
        return value

    option = typer.Option(
        "--config",
        metavar="FILE",
        is_eager=True,  # the defaults must be there before the other options look for theirs
        callback=take,
        help=_HELP_MORE if reads_more else _HELP,
    )
    keyword = inspect.Parameter.KEYWORD_ONLY
    # What the wrapper takes comes last, so that it replaces a command's own plain parameters.
    added = {
        "context": inspect.Parameter("context", keyword, annotation=typer.Context),
        "config": inspect.Parameter(
            "config", keyword, default=None, annotation=Annotated[str | None, option]
        ),
        "verbose": inspect.Parameter("verbose", keyword, default=False, annotation=Verbose),
    }
    parameters = {name: p.replace(kind=keyword) for name, p in {**own, **added}.items()}

    @functools.wraps(command)
    def run(*, context: typer.Context, **options: Any) -> int:
        note_inputs(options)
        if options["verbose"]:
            say(f"{context.command.name} with {_in_force(context)}")
        options["context"] = context
        try:
            return command(**{name: value for name, value in options.items() if name in own})
        except UsageError as error:
            if error.option and error.option in {name.strip("_") for name in context.default_map or ()}:
                why = f"{error.option.replace('_', '-')}: {error.message}"
                raise InputError(why, options["config"], use=error.use, drop=error.drop) from None
            raise

    signature = inspect.Signature(list(parameters.values()), return_annotation=int)
    run.__signature__ = signature  # type: ignore[attr-defined]  # what typer reads the options from
    run.__annotations__ = {name: p.annotation for name, p in parameters.items()}
    return run


def option_names(context: typer.Context) -> dict[str, Any]:
    """List the options of a command that a file may set, by their long names."""
    found = [p for p in context.command.params if p.param_type_name == "option"]
    names = {max(p.opts, key=len).lstrip("-"): p for p in found}
    return {name: p for name, p in names.items() if name not in _NOT_IN_FILES}


def _defaults(context: typer.Context, path: str, reads_more: bool) -> dict[str, Any]:
    """Read a file's values as defaults of the options."""
    options, defaults = option_names(context), {}
    for key, setting in read_yaml(path).items():
        name = str(key).replace("_", "-")
        if name in options:
            defaults[options[name].name] = _checked(options[name], setting, context, path, name)
        elif not reads_more:
            near = nearest(name, options)
            hint = f"there are {', '.join(options)}" if near is None else f"the nearest is {near}"
            raise InputError(f"there is no option {shown(key)}; {hint}", path)
    return defaults


def _checked(option: Any, setting: Any, context: typer.Context, path: str, name: str) -> Any:
    """Convert a setting to its command-line form, and let the option validate it."""
    if setting is None:
        return None
    if option.is_flag:
        if not isinstance(setting, bool):
            raise InputError(f"{name}: expected true or false, got {shown(setting)}", path)
        return setting
    if option.multiple:
        pairs = setting.items() if isinstance(setting, dict) else ()
        listed = [f"{key}={dumps(value)}" for key, value in pairs] if pairs else setting
        given: Any = [_word(x, path, name) for x in (listed if isinstance(listed, list) else [listed])]
    elif isinstance(setting, list):
        given = ",".join(_word(x, path, name) for x in setting)
    else:
        given = _word(setting, path, name)
    try:
        option.process_value(context, given)
    except Exception as error:
        message = getattr(error, "message", None)
        if message is None:
            raise
        raise InputError(f"{name}: {message}", path) from None
    return given


def _word(setting: Any, path: str, name: str) -> str:
    """Write a setting as one word of a command line."""
    if isinstance(setting, bool) or not isinstance(setting, str | int | float):
        kind = {dict: "a mapping", list: "a list", bool: f"{setting}"}.get(type(setting), "something else")
        raise InputError(f"{name}: expected a text or a number, got {kind}", path)
    return str(setting)


def _in_force(context: typer.Context) -> str:
    """Write the options in force as one line, which is a valid configuration file."""
    values = {name: context.params.get(option.name) for name, option in option_names(context).items()}
    return dumps({name: value for name, value in values.items() if value not in (None, False, [], ())})
