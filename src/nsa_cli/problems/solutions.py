"""From a file to solutions: our results in JSON, a format of the problem's, or ids in plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nsa_cli.core.instance import Number
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Source
from nsa_cli.io import json_text
from nsa_cli.io.numbers import parse_number


@dataclass(frozen=True, eq=False)
class Answer:
    """A solution as a file has it, with what the file says about it; nothing of it is checked yet.

    Attributes
    ----------
    ids : list
        As `Instance.from_ids` wants them.
    claims : mapping
        The other keys of a result in JSON: ``name``, ``objective``, ``bound``, …
    """

    ids: list[Any]
    claims: Mapping[str, Any] = field(default_factory=dict)


def read_answers(source: Source, problem: Problem[Any]) -> list[Answer]:
    """Read all solutions of a text: results in JSON, a bare list of ids, a tour, or ids in plain text.

    Plain text has ids between blanks, commas or line breaks; a line each where they are names with blanks,
    and a line a group where a solution is a list of lists.

    Raises
    ------
    InputError
        If the text holds no solution.
    """
    if json_text.looks_like_json(source):
        return _from_json(source)
    for fmt in problem.solution_formats:
        if fmt.recognises(source) or source.suffix in fmt.suffixes:
            return [Answer(fmt.read(source))]
    return [Answer(_from_text(source.text, problem.nested_ids))]


def _from_json(source: Source) -> list[Answer]:
    if not re.match(r"\s*(\{|\[\s*\{)", source.text):
        return [Answer(_ids(json_text.loads(source), source))]
    answers = []
    for record in json_text.read_records(source):
        data = record.data
        if "solution" not in data and "error" in data:
            raise source.error(f"has no solution of {data.get('name')}: {data['error']}")
        answers.append(Answer(_ids(data.get("solution"), source), data))
    return answers


def _ids(value: Any, source: Source) -> list[Any]:
    if not isinstance(value, list):
        raise source.error("expected a list under the key 'solution'")
    return value


def _from_text(text: str, nested: bool) -> list[Any]:
    lines = [bare for line in text.splitlines() if (bare := line.partition("#")[0].strip())]
    if nested:
        groups = [group for line in lines for group in line.split("|")]
        return [_tokens(group) for group in groups]
    if len(lines) > 1 and not any("," in line for line in lines):
        numbers = all(re.fullmatch(r"[-+.0-9eE\s]+", line) for line in lines)
        return [x for line in lines for x in _tokens(line)] if numbers else lines
    return [x for line in lines for x in _tokens(line)]


def _tokens(line: str) -> list[str | Number]:
    """Split at commas, or where there are none at blanks."""
    parts = line.split(",") if "," in line else line.split()
    return [_token(part.strip()) for part in parts if part.strip()]


def _token(text: str) -> str | Number:
    number = parse_number(text)
    return text if number is None else number
