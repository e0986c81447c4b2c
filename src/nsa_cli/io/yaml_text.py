"""YAML files of names with values."""

from __future__ import annotations

from typing import Any

from nsa_cli.core.errors import InputError, shown


def read_yaml(path: str) -> dict[Any, Any]:
    """Read a YAML file of names with values; an empty one has none.

    Raises
    ------
    InputError
        If it cannot be read, is no YAML, or is no mapping.
    """
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            data = yaml.safe_load(file)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise InputError(f"not valid YAML: {problem}", path, mark.line + 1 if mark else None) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path) from None
    if data is not None and not isinstance(data, dict):
        raise InputError(f"expected names with values, got {shown(data)}", path)
    return data or {}
