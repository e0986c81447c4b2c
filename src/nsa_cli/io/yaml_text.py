"""YAML files of names with values."""

from __future__ import annotations

from typing import Any

from nsa_cli.core.errors import InputError, shown
from nsa_cli.io.source import read_bytes

#: Bytes of a configuration, at most; its reader takes twenty seconds a megabyte.
_LARGEST = 50_000

#: Levels of nesting, at most; what is read here has two or three.
_DEEPEST = 20


def read_yaml(path: str) -> dict[Any, Any]:
    """Read a YAML file of names with values; an empty one has none.

    Raises
    ------
    InputError
        If it cannot be read, is no YAML, names something twice, has an alias, by which a small file may hold
        any amount, or is no mapping.
    """
    import yaml

    data = read_bytes(path, _LARGEST)
    try:
        depth = 0
        for event in yaml.parse(data, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
                what = "is nested too deeply" if depth > _DEEPEST else "aliases (*) are not read"
                raise InputError(what, path, event.start_mark.line + 1)
        loader = yaml.SafeLoader(data)
        node = loader.get_single_node()
        _check_keys(node, path)
        found = None if node is None else loader.construct_document(node)
    except InputError:
        raise
    except Exception as error:  # what a text that is none of its type raises is listed nowhere
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or f"cannot be parsed ({type(error).__name__})"
        raise InputError(f"not valid YAML: {why}", path, mark.line + 1 if mark else None) from None
    if found is not None and not isinstance(found, dict):
        raise InputError(f"expected names with values, got {shown(found)}", path)
    return found or {}


def _check_keys(node: Any, path: str) -> None:
    """Refuse a name that occurs twice in one mapping, of which the first would be lost."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        children = getattr(node, "value", None)
        if node is None or not isinstance(children, list):
            continue
        seen: set[Any] = set()
        for child in children:
            if isinstance(child, tuple):
                key = child[0]
                if isinstance(key.value, str):
                    if (name := (key.tag, key.value)) in seen:
                        line = key.start_mark.line + 1
                        raise InputError(f"{shown(key.value)} occurs twice", path, line)
                    seen.add(name)
                nodes += child
            else:
                nodes.append(child)
