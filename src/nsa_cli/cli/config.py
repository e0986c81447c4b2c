"""``--config FILE.yaml``: defaults for the options of a command, by their long names."""

from __future__ import annotations

from typing import Any

import typer

from nsa_cli.core.errors import InputError, shown
from nsa_cli.core.options import parse_pairs
from nsa_cli.core.words import nearest
from nsa_cli.io.json_text import dumps
from nsa_cli.io.yaml_text import read_yaml

#: Options that are about the call and not about the work.
_NOT_IN_FILES = ("config", "help")


def option_names(context: typer.Context) -> dict[str, Any]:
    """List the options of a command that a file may set, by their long names."""
    found = [p for p in context.command.params if p.param_type_name == "option"]
    names = {max(p.opts, key=len).lstrip("-"): p for p in found}
    return {name: p for name, p in names.items() if name not in _NOT_IN_FILES}


def defaults_from(path: str, context: typer.Context, *, reads_more: bool = False) -> dict[str, Any]:
    """Read a file's values as defaults of the options.

    Parameters
    ----------
    path : str
    context : typer.Context
        Of the command.
    reads_more : bool
        Whether the command itself reads what is no option.

    Raises
    ------
    InputError
        If it is no YAML of options.
    """
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


def in_force(context: typer.Context) -> str:
    """Write the options in force as one line, which is a valid configuration file."""
    values = {name: context.params.get(option.name) for name, option in option_names(context).items()}
    values["set"] = parse_pairs("set", values.get("set") or ())
    return dumps({name: value for name, value in values.items() if value not in (None, False, [], (), {})})


def from_file(context: typer.Context) -> set[str]:
    """Names of the options whose values a file gave, and not the command line over it."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name.strip("_") for name, source in sources.items() if source and source.name == "DEFAULT_MAP"}
