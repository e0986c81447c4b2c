"""Answers of map services: lengths of routes on roads between all pairs of places.

OSRM's table (Mapbox's, too) and openrouteservice have tables ``durations`` and ``distances``, GraphHopper
``distances`` and ``times``. Google's Distance Matrix has rows of elements, its Routes one element a pair,
Valhalla either within ``sources_to_targets``. Of several tables the user says which one counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nsa_cli.core.errors import shown
from nsa_cli.core.record import Record, Source

#: Words for tables, and for the lengths of an element, in the order in which they are proposed.
_TABLES = ("distances", "durations", "times", "weights")
_LENGTHS = ("distance", "distanceMeters", "duration", "duration_in_traffic", "staticDuration", "time")
#: Words for places, from where and to where; for rows of elements; for what a service says of an error.
_FROM, _TO = ("sources", "origin_addresses"), ("destinations", "targets", "destination_addresses")
_ROWS = ("rows", "sources_to_targets")
_SAYING = ("code", "error_code", "status", "message", "error_message", "error")
#: All these, and words for what tells nothing of a tour.
_WORDS = {*_TABLES, *_FROM, *_TO, *_ROWS, *_SAYING, "fallback_speed_cells", "data_version", "algorithm"}
_WORDS |= {"units", "id", "warnings", "hints", "info", "metadata", "bbox"}


def read(value: Any, source: Source, line_of: Callable[..., int | None]) -> Record:
    """Read an answer.

    Raises
    ------
    InputError
        If it is an error of the service, has no table, or several of which the user leaves none out, or if
        places to start from are not those to go to.
    """
    try:
        return _record(value, source, line_of)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        expected = "expected rows of lengths, or of elements, for all pairs of places"
        raise source.error(f"is no known answer of a map service: {expected}", line_of()) from None


def _record(value: Any, source: Source, line_of: Callable[..., int | None]) -> Record:
    """Read an answer; one that is not as documented raises anything."""
    answer = {} if isinstance(value, list) else value
    fault = answer["error"] if isinstance(answer.get("error"), dict) else answer
    said = [str(fault[word]) for word in _SAYING if fault.get(word)]
    if said and said[0] not in ("Ok", "OK"):
        raise source.error(f"is an error of a map service: {shown(': '.join(said), 120)}", line_of())
    tables = {word: rows for word, rows in _tables(value).items() if not source.reading.leaves_out(word)}
    counted, *others = tables
    key = next((key for key in (*_ROWS, counted) if key in answer), 0)
    if others:
        where = f" in {key}" if key in _ROWS else ""
        message = f"{' and '.join(tables)}{where} make different tours: expected one kind of lengths"
        raise source.error(message, line_of(key), use={"ignore": ",".join(others)})
    rows = tables[counted]
    origins, targets = (_places(answer, words) for words in (_FROM, _TO))
    if len(rows) != len(rows[0]) or (origins and targets and origins != targets):
        message = f"a tour needs the same sources and destinations, got {len(rows)} and {len(rows[0])}"
        raise source.error(f"{message}{' others' if len(rows) == len(rows[0]) else ''}", line_of(key))
    data = {"matrix": rows, **{word: x for word, x in answer.items() if word not in _WORDS}}
    names, lon, lat = ([place[part] for place in origins or targets] for part in range(3))
    if 0 < len(names) == len(set(filter(None, names))):
        data.setdefault("names", names)
    if lon and None not in (*lon, *lat):
        data |= {"lon": lon, "lat": lat}
    return Record(data, source, lambda word, i: line_of(key, i) if word == "matrix" else line_of(word))


def _places(answer: Mapping[str, Any], words: Sequence[str]) -> list[tuple[Any, Any, Any]]:
    """List the names, or addresses, of an answer's places, with longitudes and latitudes; None for none."""
    found: list[Any] = next((answer[word] for word in words if answer.get(word)), [])
    found = found[0] if found and isinstance(found[0], list) else found  # as Valhalla had it
    places = [x if isinstance(x, dict) else {"name": x} for x in found]
    spots = (x.get("location") or (x.get("lon"), x.get("lat")) for x in places)
    return [(x.get("name"), lon, lat) for x, (lon, lat) in zip(places, spots, strict=True)]


def _tables(value: Any) -> dict[str, Any]:
    """Find the tables that there are, by the words for them."""
    if isinstance(value, list):
        pairs = {(x.get("originIndex", 0), x.get("destinationIndex", 0)): x for x in value}
        places = range(math.isqrt(len(value)))
        rows: Any = [[pairs.pop((i, j)) for j in places] for i in places]
        if pairs:
            raise ValueError
    elif "rows" in value:
        rows = [row["elements"] for row in value["rows"]]
    else:
        rows = value.get("sources_to_targets", value)
    if isinstance(rows, dict):
        return {word: rows[word] for word in _TABLES if rows.get(word)}
    words = [word for word in _LENGTHS if any(word in element for row in rows for element in row)]
    return {word: [[_length(element, word) for element in row] for row in rows] for word in words}


def _length(element: Mapping[str, Any], word: str) -> float | None:
    """Give a length of an element, None if there is no route; 0 metres may be left out."""
    is_ok = element.get("status") in (None, "OK", {}, {"code": 0})
    if not is_ok or element.get("condition") not in (None, "ROUTE_EXISTS"):
        return None
    x = element[word] if word in element or word != "distanceMeters" else 0
    x = x["value"] if isinstance(x, dict) else x
    return float(x.removesuffix("s")) if isinstance(x, str) else x
