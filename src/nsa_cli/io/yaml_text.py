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
    import yaml  # not every command has a configuration

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Reader of plain data that are neither deep nor repeated."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            """Refuse aliases and depth."""
            line = self.peek_event().start_mark.line + 1
            if self.check_event(yaml.AliasEvent):
                raise InputError("aliases (*) are not read", path, line)
            if self.depth > _DEEPEST:
                raise InputError("is nested too deeply", path, line)
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            """Refuse a name that occurs twice, of which the first would be lost."""
            names = set()
            for key, _ in node.value:
                if (key.tag, str(key.value)) in names:
                    line = key.start_mark.line + 1
                    raise InputError(f"{shown(str(key.value))} occurs twice", path, line)
                names.add((key.tag, str(key.value)))
            return super().construct_mapping(node, deep)

    data = read_bytes(path, _LARGEST)
    try:
        found = yaml.load(data, Loader)
    except InputError:
        raise
    except Exception as error:  # what a text that is none of its type raises is listed nowhere
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or f"cannot be parsed ({type(error).__name__})"
        raise InputError(f"not valid YAML: {why}", path, mark.line + 1 if mark else None) from None
    if found is not None and not isinstance(found, dict):
        raise InputError(f"expected names with values, got {shown(found)}", path)
    return found or {}
