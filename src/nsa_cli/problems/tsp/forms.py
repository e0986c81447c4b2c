"""Forms of tours' files, and how their first lines tell them."""

from __future__ import annotations

import re

from nsa_cli.core.folder import deferred
from nsa_cli.core.problem import FileFormat
from nsa_cli.core.record import Source
from nsa_cli.io.tokens import read_number, split_lines

_TSPLIB, _LABELLED = "nsa_cli.problems.tsp.formats.tsplib", "nsa_cli.problems.tsp.formats.labelled"
_STOPS = "nsa_cli.problems.tsp.formats.stops"

#: Begins a line of a TSPLIB file; words that may begin a sentence need their colon.
_KEYWORD = re.compile(
    r"\s*(?:(?:\w+_SECTION|DIMENSION|EDGE_WEIGHT_TYPE|EDGE_WEIGHT_FORMAT)(?![^\s:=])"
    r"|(?:NAME|TYPE|COMMENT)\s*:)",
    re.IGNORECASE,
)
#: Lines at the top in which the first keyword of a TSPLIB file must come.
_HEAD = 50
#: Blanks are those of one line, and there is one way to match them: else many take a time that is quadratic.
_TOUR = re.compile(
    r"^[^\S\n]*(?:TOUR_SECTION|TYPE[^\S\n]*(?::[^\S\n]*)?TOUR)\b", re.IGNORECASE | re.MULTILINE
)


def is_tsplib(source: Source) -> bool:
    """Tell a TSPLIB file by a keyword at the start of one of its first lines, before any number."""
    for line in source.text.split("\n", _HEAD)[:_HEAD]:
        if _KEYWORD.match(line):
            return True
        if read_number(line.strip().split(" ")[0]) is not None:
            return False
    return False


def is_labelled(source: Source) -> bool:
    """Tell by the word between cities and tour in the first line."""
    head = split_lines(source, 12)[:1]
    return bool(head) and "output" in head[0].tokens and len(head[0].tokens) > 4


def is_tour(source: Source) -> bool:
    """Tell a TSPLIB tour by its type or its section."""
    return _TOUR.search(source.text) is not None


def is_stops(source: Source) -> bool:
    """Tell a table of stops by its header."""
    return re.match(r"\s*position +stop +leg\b", source.text) is not None


FORMATS = (
    FileFormat("tsplib", (".tsp",), is_tsplib, deferred(_TSPLIB, "read"), deferred(_TSPLIB, "write")),
    FileFormat("labelled", (), is_labelled, deferred(_LABELLED, "read")),
)

SOLUTION_FORMATS = (
    FileFormat("tour", (".tour",), is_tour, deferred(_TSPLIB, "read_tour"), deferred(_TSPLIB, "write_tour")),
    FileFormat("stops", (".stops",), is_stops, deferred(_STOPS, "read"), deferred(_STOPS, "write")),
)
