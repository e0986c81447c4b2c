"""Forms of files of knapsacks, and how their first lines or their names tell them."""

from __future__ import annotations

from nsa_cli.core.folder import deferred
from nsa_cli.core.problem import FileFormat, FileSet
from nsa_cli.core.record import Source
from nsa_cli.io.tokens import read_number, shape, split_lines

_FORMATS = "nsa_cli.problems.knapsack.formats"


def is_pisinger(source: Source) -> bool:
    """A name, then ``n`` and ``c`` with a number each."""
    head = [line.tokens for line in split_lines(source, 12)[:3]]
    return len(head) == 3 and [t[0] for t in head[1:]] == ["n", "c"] and all(len(t) == 2 for t in head[1:])


def is_standard(source: Source) -> bool:
    """Two numbers in the first line, and in the second."""
    return shape(source, 2) == (2, 2)


def is_mknap(source: Source) -> bool:
    """One number, three numbers, and then more than three in a line, or as many in all as they say."""
    if shape(source, 2) != (1, 3):
        return False
    lines = split_lines(source)
    if len(lines) > 2 and len(lines[2].tokens) > 3:
        return True
    numbers = [read_number(token) for line in lines for token in line.tokens]
    at = 1
    while at + 2 < len(numbers):
        size, constraints = numbers[at : at + 2]
        if not (isinstance(size, int) and isinstance(constraints, int) and size > 0 and constraints > 0):
            return False
        at += 3 + size + (size + 1) * constraints
    return at == len(numbers)


def is_jooken(source: Source) -> bool:
    """One number, three numbers, and not as many rows of three as the first says, which are a table."""
    if shape(source, 2) != (1, 3):
        return False
    (head, _), *rows = split_lines(source)
    return not (read_number(head[0]) == len(rows) and all(len(row.tokens) == 3 for row in rows))


FORMATS = (
    FileFormat("pisinger", (), is_pisinger, deferred(_FORMATS, "read_pisinger")),
    FileFormat("standard", (), is_standard, deferred(_FORMATS, "read_standard")),
    FileFormat("mknap", (), is_mknap, deferred(_FORMATS, "read_mknap")),
    FileFormat("jooken", (), is_jooken, deferred(_FORMATS, "read_jooken")),
)

FILE_SETS = (
    FileSet(
        "burkardt",
        r"(?P<stem>.+)_(?P<part>[cwps])\.txt(\.gz)?",
        {"c": True, "w": True, "p": True, "s": False},
        deferred(_FORMATS, "read_burkardt"),
    ),
)
