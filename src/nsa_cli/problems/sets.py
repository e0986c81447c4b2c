"""File sets: instances spread over several files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from nsa_cli.core.problem import FileSet, Problem
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.io.source import read_source
from nsa_cli.io.tokens import read_numbers
from nsa_cli.problems import declared


class FoundSet(NamedTuple):
    """An existing set of files.

    Attributes
    ----------
    problem : str
        Its name.
    form : FileSet
    stem : str
        Common part of the files' names.
    files : dict of str to Path
        By part.
    """

    problem: str
    form: FileSet
    stem: str
    files: dict[str, Path]


def find_set(path: Path, problem: Problem[Any] | None) -> FoundSet | None:
    """Find the set of a file, of one problem or of any, by its name and the files beside it.

    Of several sets the one with the most required files wins: a knapsack has all files that bins have.
    """
    fitting = [
        FoundSet(name, form, match["stem"], files)
        for name, form in declared("file_sets", problem)
        if (match := re.fullmatch(form.pattern, path.name)) and match["part"] in form.parts
        if (files := _files(path, form, match)) is not None
    ]
    return max(fitting, key=lambda found: sum(found.form.parts.values()), default=None)


def _files(path: Path, form: FileSet, match: re.Match[str]) -> dict[str, Path] | None:
    begin, end = match.span("part")
    files = {part: path.with_name(path.name[:begin] + part + path.name[end:]) for part in form.parts}
    there = {part: file for part, file in files.items() if os.path.isfile(file)}
    return None if any(form.parts[part] and part not in there for part in form.parts) else there


def read_set(found: FoundSet) -> Record:
    """Read all the files of a set as one record.

    Raises
    ------
    InputError
        If one of them cannot be read, or they do not go together.
    """
    sources = {part: read_source(file) for part, file in found.files.items()}
    record = found.form.read(found.stem, sources)
    return replace(record, data={"problem": found.problem, **record.data})


def read_lists(stem: str, sources: Mapping[str, Source], keys: Mapping[str, str]) -> Record:
    """Read a file set of J. Burkardt (Florida State University): a list of numbers a file.

    Parameters
    ----------
    stem : str
        Name of the instance.
    sources : mapping of str to Source
        By part; ``c`` holds the capacity.
    keys : mapping of str to str
        Key of the record by part, ``weights`` first.

    Raises
    ------
    InputError
        If there are several capacities, or lists differ in length.
    """
    (capacity, *more), at = read_numbers(sources["c"], "capacity")
    if more:
        raise sources["c"].error(f"expected one capacity, got {1 + len(more)}", at[-1])
    lists: dict[str, list[int | float]] = {}
    lines: dict[str, Sequence[int]] = {}
    for part, key in keys.items():
        lists[key], lines[key] = read_numbers(sources[part], key.removesuffix("s"))
        if (size := len(lists["weights"])) != (got := len(lists[key])):
            message = f"expected {size} {key} as {sources['w'].name} has weights, got {got}"
            raise sources[part].error(message, lines[key][-1])

    data = {"name": stem, "capacity": capacity, **lists}
    return Record(
        data,
        sources["c"],
        locator({"capacity": at[0], **lines}),
        {key: sources[part] for part, key in keys.items()},
    )
