"""Forms of tours' files, and how their first lines, or their keys, tell them."""

from __future__ import annotations

import re
from typing import Any

from nsa_cli.core.folder import deferred
from nsa_cli.core.problem import FileFormat
from nsa_cli.core.record import Source
from nsa_cli.core.words import listed
from nsa_cli.io.tokens import read_number, split_lines

_TSPLIB, _LABELLED, _SERVICES, _PLACES, _STOPS = (
    f"nsa_cli.problems.tsp.formats.{name}" for name in ("tsplib", "labelled", "services", "places", "stops")
)

#: Who solves what this does not.
ROUTES = "PyVRP and VROOM are for routes of vehicles with capacities or time windows"

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
#: Types of GeoJSON.
_GEOJSON = listed("FeatureCollection, Feature, GeometryCollection, MultiPoint, Point, LineString, Polygon")
#: Keys that an answer of a map service, or its error, has together, and no instance.
_ANSWERS = (
    *({"durations", "destinations"}, {"distances", "destinations"}, {"distances", "times"}),
    *({"origin_addresses"}, {"originIndex"}, {"destinationIndex"}, {"sources_to_targets"}),
    *({"code", "message"}, {"error", "info"}, {"error", "error_code"}),
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


def is_xml(source: Source) -> bool:
    """Tell XML, of which GPX is read, by its first character."""
    return source.text.lstrip()[:1] == "<"


def is_geojson(value: Any) -> bool:
    """Tell GeoJSON, or a list of its features, by the type."""
    return _first(value).get("type") in _GEOJSON


def is_service(value: Any) -> bool:
    """Tell an answer of a map service by its keys, or by those of its elements."""
    return any(answer <= _first(value).keys() for answer in _ANSWERS)


def _first(value: Any) -> dict[str, Any]:
    """Give an object, or the first of a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, dict) else {}


FORMATS = (
    FileFormat("tsplib", (".tsp",), is_tsplib, deferred(_TSPLIB, "read"), deferred(_TSPLIB, "write")),
    FileFormat("labelled", (), is_labelled, deferred(_LABELLED, "read")),
    FileFormat("gpx", (".gpx", ".kml"), is_xml, deferred(_PLACES, "read_gpx")),
)

JSON_FORMS = ((is_service, deferred(_SERVICES, "read")), (is_geojson, deferred(_PLACES, "read_geojson")))


def _on_maps(name: str) -> FileFormat:
    read, write, check = (deferred(_PLACES, part) for part in ("read_tour", f"write_{name}", "degrees"))
    return FileFormat(name, (f".{name}",), is_xml, read, write, check)


SOLUTION_FORMATS = (
    FileFormat("tour", (".tour",), is_tour, deferred(_TSPLIB, "read_tour"), deferred(_TSPLIB, "write_tour")),
    FileFormat("stops", (".stops",), is_stops, deferred(_STOPS, "read"), deferred(_STOPS, "write")),
    _on_maps("geojson"),
    _on_maps("gpx"),
)
