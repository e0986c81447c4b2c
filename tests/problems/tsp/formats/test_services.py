"""Answers of map services as matrices: each in the form that its documentation shows."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

import nsa_cli as nsa
from nsa_cli.core.errors import InputError
from nsa_cli.core.record import Reading
from nsa_cli.io.source import decode
from nsa_cli.problems.files import read_instances

#: Lengths of three places, from row to column, and times; there is no way from the first to the last.
METRES = [[0, 410, None], [420, 0, 300], [800, 310, 0]]
SECONDS = [[0, 60.5, None], [61, 0, 50], [90, 52, 0]]
NAMES, SPOTS = ["Kirchgasse", "Markt", "Hafen"], [[8.6, 49.4], [8.7, 49.3], [8.8, 49.2]]

ENDS = [{"name": name, "location": spot, "hint": "x"} for name, spot in zip(NAMES, SPOTS, strict=True)]
NAMELESS = [{**place, "name": ""} for place in ENDS]
OSRM = {"code": "Ok", "durations": SECONDS, "sources": ENDS, "destinations": ENDS}
BOTH = {**OSRM, "distances": METRES}
ORS = {"distances": METRES, "sources": ENDS, "destinations": ENDS, "metadata": {"query": {}}}
HOPPER = {"distances": METRES, "times": SECONDS, "weights": SECONDS, "info": {"copyrights": []}}


def element(i: int, j: int) -> dict[str, Any]:
    """Give one of Google's elements, whose status says that there is no way."""
    if METRES[i][j] is None:
        return {"status": "ZERO_RESULTS"}
    said = {
        "distance": {"text": "?", "value": METRES[i][j]},
        "duration": {"text": "?", "value": SECONDS[i][j]},
    }
    return {**said, "status": "OK"}


def route(i: int, j: int) -> dict[str, Any]:
    """Give an element of a matrix of routes, in which numbers that are 0 are left out."""
    indices = {key: x for key, x in (("originIndex", i), ("destinationIndex", j)) if x}
    if METRES[i][j] is None:
        return {**indices, "status": {}, "condition": "ROUTE_NOT_FOUND"}
    length = {"distanceMeters": METRES[i][j]} if METRES[i][j] else {}
    return {**indices, **length, "duration": f"{SECONDS[i][j]}s", "status": {}, "condition": "ROUTE_EXISTS"}


PAIRS = [(i, j) for i in range(3) for j in range(3)]
GOOGLE: dict[str, Any] = {
    "origin_addresses": NAMES,
    "destination_addresses": NAMES,
    "rows": [{"elements": [element(i, j) for j in range(3)]} for i in range(3)],
    "status": "OK",
}
ROUTES = [route(i, j) for i, j in reversed(PAIRS)]
PLACES = [{"lon": lon, "lat": lat} for lon, lat in SPOTS]
VALHALLA: dict[str, Any] = {
    **dict.fromkeys(("sources", "targets"), PLACES),
    "units": "kilometers",
    "sources_to_targets": [
        [{"distance": METRES[i][j], "time": SECONDS[i][j], "to_index": j, "from_index": i} for j in range(3)]
        for i in range(3)
    ],
}
TABLES = {**VALHALLA, "sources_to_targets": {"durations": SECONDS}}


def record_of(answer: Any, *ignore: str) -> dict[str, Any]:
    source = replace(
        decode(json.dumps(answer, indent=1).encode(), "f.json", ".json"), reading=Reading(ignore=ignore)
    )
    ((_, instance),) = read_instances(source)
    return instance.record()


@pytest.mark.parametrize(
    ("answer", "ignore", "lengths", "has"),
    [
        *((OSRM, (), SECONDS, "names places"), (ORS, (), METRES, "names places")),
        *((BOTH, ("durations",), METRES, "names places"), (BOTH, ("distances",), SECONDS, "names places")),
        *((GOOGLE, ("duration",), METRES, "names"), (GOOGLE, ("distance",), SECONDS, "names")),
        *((ROUTES, ("duration",), METRES, ""), (ROUTES, ("distanceMeters",), SECONDS, "")),
        *((VALHALLA, ("time",), METRES, "places"), (TABLES, (), SECONDS, "places")),
        ({**VALHALLA, "sources": [PLACES], "targets": [PLACES]}, ("distance",), SECONDS, "places"),
        (HOPPER, ("times", "weights"), METRES, ""),
        ({**OSRM, **dict.fromkeys(("sources", "destinations"), NAMELESS)}, (), SECONDS, "places"),
        ({"durations": SECONDS, "sources": [{"name": "a"}] * 3, "destinations": None}, (), SECONDS, ""),
        ({"durations": SECONDS, "sources": "a survey", "code": [1, 2, 3]}, (), SECONDS, ""),
    ],
)
def test_answers_are_matrices(answer: Any, ignore: tuple[str, ...], lengths: list[Any], has: str) -> None:
    """With names where the places have different ones, and places for maps."""
    record = record_of(answer, *ignore)
    assert record["matrix"] == lengths
    assert record.get("names") == (NAMES if "names" in has else None)
    assert [[lon, lat] for lon, lat in zip(record.get("lon", []), record.get("lat", []), strict=True)] == (
        SPOTS if "places" in has else []
    )


def test_the_keys_of_an_instance_count_beside_an_answer() -> None:
    """A depot is no matter of the service."""
    record = record_of({**OSRM, "from": "Markt", "name": "round"})
    assert (record["from"], record["name"]) == ("Markt", "round")
    with pytest.raises(InputError, match="'stops_max' is not understood"):
        record_of({**OSRM, "stops_max": 3})


def test_data_in_python_are_the_same() -> None:
    """As a client of the service has them."""
    results = [nsa.solve(OSRM), nsa.solve(ROUTES, ignore="distanceMeters")]
    assert [result.objective for result in results] == [60.5 + 50 + 90] * 2


def changed(answer: Any, *path: Any, to: Any) -> Any:
    """Copy an answer with another value in a place."""
    answer = inner = copy.deepcopy(answer)
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return answer


ONE_KIND = "make different tours: expected one kind of lengths"
UNKNOWN = "is no known answer of a map service: expected rows"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (BOTH, rf"f.json:\d+: distances and durations {ONE_KIND}; use ignore='durations'"),
        (GOOGLE, f"distance and duration in rows {ONE_KIND}; use ignore='duration'"),
        ({"code": "InvalidQuery", "message": "Query malformed"}, "a map service: 'InvalidQuery: Query"),
        (changed(OSRM, "code", to="NoTable"), "error of a map service: 'NoTable"),
        ({"error": {"code": 6010, "message": "no"}, "info": {}}, "error of a map service: '6010: no'"),
        ({"error_code": 154, "error": "too far", "status": "Bad Request"}, "154: Bad Request: too far"),
        ({**GOOGLE, "rows": [], "status": "REQUEST_DENIED"}, "error of a map service: 'REQUEST_DENIED'"),
        ({**OSRM, "destinations": ENDS[::-1]}, "the same sources and destinations, got 3 and 3 others"),
        ({**OSRM, "durations": [[0, 1]], "sources": ENDS[:1]}, "sources and destinations, got 1 and 2"),
        (changed(OSRM, "durations", 1, to=[1, 2]), r":\d+: matrix, element 2: expected 3 numbers, got 2"),
        (changed(OSRM, "durations", 0, 1, to="far"), "matrix, element 1: expected a number, got 'far'"),
        (changed(OSRM, "durations", to=[1, 2, 3]), UNKNOWN),
        (changed(GOOGLE, "rows", 0, to={}), UNKNOWN),
        (ROUTES[1:], UNKNOWN),
        ([*ROUTES, {"originIndex": 3}], UNKNOWN),
        (changed(ROUTES, 0, "originIndex", to=[2]), UNKNOWN),
    ],
)
def test_what_is_no_matrix_is_refused(answer: Any, message: str) -> None:
    """With what the service says, and what to leave out."""
    with pytest.raises(InputError, match=message):
        record_of(answer)
