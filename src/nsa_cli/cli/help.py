"""Help with options in groups, and words that the shell completes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import typer
from typer.core import TyperCommand

from nsa_cli.core.setting import ANNEALING, OUTPUT, READING, SEARCH, STOPPING

#: Headings of the help, in this order; what has none comes first.
_ORDER = ("Arguments", "Options", READING, STOPPING, SEARCH, ANNEALING, OUTPUT)


class GroupedCommand(TyperCommand):
    """A command whose help lists options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write options under the headings that they were given."""
        for heading, records in grouped(self, ctx):
            with formatter.section(heading):
                formatter.write_dl(records)


def grouped(command: Any, context: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """List the headings of a command's help, each with its parameters: spelling and meaning."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
        if record is not None:
            groups.setdefault(getattr(parameter, "rich_help_panel", None) or kind, []).append(record)
    return [(heading, groups[heading]) for heading in sorted(groups, key=_ORDER.index)]


def completion(words: Iterable[str] | Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Complete one of some words for the shell; a function gives them when they are needed."""

    def complete(incomplete: str) -> list[str]:
        there = words() if callable(words) else words
        return [word for word in there if word.startswith(incomplete)]

    return complete


def choice(*names: str, words: Iterable[str], text: str, panel: str) -> Any:
    """Make an option with a few choices, which its help shows and the shell completes."""
    words = tuple(words)
    return typer.Option(
        *names, metavar="|".join(words), help=text, rich_help_panel=panel, autocompletion=completion(words)
    )
