"""Inputs of a command: files, folders and patterns, as the instances in them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Unpack

from nsa_cli.api import Unread, names_problem, read_each
from nsa_cli.core.errors import InputError, NsaError
from nsa_cli.core.problem import Problem, Task
from nsa_cli.core.record import OtherTextError, ReadingOptions
from nsa_cli.io.source import read_source, suffix_of
from nsa_cli.problems import declared, find_problem

#: Endings of files that are meant as instances, beside those of the problems' own formats.
_DATA = {".json", ".geojson", ".jsonl", ".ndjson", ".csv", ".tsv", ".npz", ".npy", ".pkl"}

#: Endings of files that are, if a problem's format knows their text.
_TEXT = {"", ".txt", ".dat"}


class Skipped(NamedTuple):
    """Files that a folder, or a pattern, has beside the instances.

    Attributes
    ----------
    place : str
        The folder or the pattern.
    files : tuple of str
        Their names.
    """

    place: str
    files: tuple[str, ...]


class Inputs(NamedTuple):
    """What some paths stand for.

    Attributes
    ----------
    items : list of Task or Unread
        Instances, and those that could not be read.
    skipped : list of Skipped
        By folder and pattern, where there are any.
    """

    items: list[Task | Unread]
    skipped: list[Skipped]


def read_inputs(
    paths: Sequence[str],
    problem: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **reading: Unpack[ReadingOptions],
) -> Inputs:
    """Read the instances of files, of the files in folders, and of those that patterns match.

    Of a folder, those that lie in it, sorted, without hidden ones; not those in its folders. Files there, and
    matches of a pattern, that are no instances are left out and named; those that are, but have a fault, are
    not. A pattern is for where the shell has not expanded it.

    Parameters
    ----------
    paths : sequence of str
    problem, settings, **reading
        As for `nsa_cli.api.read_each`.
    """
    groups = {path: _files(path) for path in paths if is_many(path)}
    if not groups:
        return Inputs(read_each(paths, problem, settings, **reading), [])
    files = [file for path in paths for file in groups.get(path, [path])]
    # All at once: files of one instance count once, and a setting needs to suit one of the problems only.
    items = read_each(files, problem, settings, **reading)
    useful = {item.file for item in items if isinstance(item, Task)} | {*paths}
    owner = find_problem(problem) if problem else None
    others = {
        source
        for item in items
        if isinstance(item, Unread) and (source := _source_of(item)) not in useful
        if isinstance(item.error, OtherTextError) or not _is_meant(source, owner)
    }
    items = [item for item in items if isinstance(item, Task) or _source_of(item) not in others]
    skipped = []
    for path, inside in groups.items():
        left_out = tuple(os.path.basename(file) for file in inside if file in others)
        if len(left_out) == len(inside):
            items.append(Unread(path, _nothing(path, left_out)))
        elif left_out:
            skipped.append(Skipped(path, left_out))
    return Inputs(items, skipped)


def is_many(path: str) -> bool:
    """Tell a folder, or a pattern that is no file's name, from a file."""
    if names_problem(path) and not os.path.isdir(path):
        return False
    return os.path.isdir(path) or (not os.path.lexists(path) and re.search(r"[*?[]", path) is not None)


def _files(path: str) -> list[str]:
    """List the files in a folder, or those that match a pattern and those in the folders that do."""
    if not os.path.isdir(path):
        matches = sorted(glob.glob(path, recursive=True))
        return [f for match in matches for f in (_files(match) if os.path.isdir(match) else [match])]
    try:
        names = sorted(name for name in os.listdir(path) if not name.startswith("."))
    except OSError:
        return []
    return [file for name in names if os.path.isfile(file := os.path.join(path, name))]


def _nothing(path: str, files: Sequence[str]) -> InputError:
    """Make the error of a folder or a pattern that stands for no instance."""
    if os.path.isdir(path):
        readable = os.access(path, os.R_OK | os.X_OK)
        what = "is a directory that holds no instance" if readable else "cannot be read: no permission"
    else:
        what = "no file that matches holds an instance" if files else "no file matches this pattern"
    return InputError(f"{what}{'; there is ' if files else ''}{named(files)}", path)


def named(files: Sequence[str], most: int = 3) -> str:
    """List some names and say that there are more."""
    return ", ".join(files[:most]) + (", …" if len(files) > most else "")


def _source_of(item: Unread) -> str:
    """Give the file of what could not be read."""
    return str(getattr(item.error, "source", item.name))


def _is_meant(path: str, problem: Problem[Any] | None) -> bool:
    """Tell whether a file that cannot be read is meant as an instance: by its ending, or by its text."""
    suffix = suffix_of(path)
    formats = [fmt for _, fmt in declared("formats", problem)]
    if suffix in _DATA or any(suffix in fmt.suffixes for fmt in formats):
        return True
    try:
        source = read_source(path)
    except NsaError:
        return False
    return suffix in _TEXT and any(fmt.recognises(source) for fmt in formats)
