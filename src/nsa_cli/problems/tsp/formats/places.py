"""Places on the globe from GeoJSON (RFC 7946), longitude first, and from GPX; tours as either.

XML with a type definition is refused: only there are entities declared, so none can make a small file large,
or read another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any
from xml.etree import ElementTree

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.instance import Solution
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.core.words import squeezed
from nsa_cli.io.json_text import dumps
from nsa_cli.io.tokens import read_number
from nsa_cli.problems import find_problem
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.vocabulary import vocabulary

#: Keys of GeoJSON itself; others of a collection are keys of an instance.
_OF_GEOJSON = ("type", "features", "geometry", "geometries", "coordinates", "properties", "crs", "bbox", "id")

#: Points of GPX, of which the first kind that there is counts, with what there must be one of.
_OF_GPX = {"wpt": "gpx", "rtept": "rte", "trkpt": "trkseg"}


def read_geojson(value: Any, source: Source, line_of: Callable[..., int | None]) -> Record:
    """Read points; altitudes do not count.

    Raises
    ------
    InputError
        If there is another geometry, which is not left out, or another system of coordinates.
    """
    head, rows, lines = _object(value), list[dict[str, Any]](), list[Any]()
    if not re.search("CRS84|4326", system := str(head.get("crs", "CRS84"))):
        message = f"crs: expected longitude and latitude (CRS84), got {shown(system, 80)}; convert them"
        raise source.error(message, line_of("crs"))
    path = ("features",) if "features" in head else ()
    for i, feature in enumerate(map(_object, _listed(head.get("features", value)))):
        line, known = line_of(*path, i), {"id": feature.get("id"), **_object(feature.get("properties"))}
        geometry = _object(feature.get("geometry", feature))
        for part in map(_object, _listed(geometry.get("geometries", geometry))):
            kind, spots = str(part.get("type", "null")), part.get("coordinates")
            if source.reading.leaves_out(kind):
                continue
            if kind not in ("Point", "MultiPoint"):
                raise source.error(f"expected points, got {shown(kind)}", line, use={"ignore": kind})
            for spot in _listed(spots) if kind == "MultiPoint" else [spots]:
                if not isinstance(spot, list) or len(spot) < 2:
                    raise source.error(f"expected longitude and latitude, got {shown(spot)}", line)
                rows.append({**known, "lat": spot[1], "lon": spot[0]})
                lines.append(line)
    data = {word: x for word, x in head.items() if word not in _OF_GEOJSON}
    return _record(rows, Record(data, source, locator({}, lines)))


def _object(x: Any) -> dict[str, Any]:
    return x if isinstance(x, dict) else {}


def _listed(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def _record(rows: list[dict[str, Any]], record: Record) -> Record:
    """Add places to a record, with names; those of places without are their numbers."""
    if len(rows) < 2:
        raise record.source.error(f"expected several points, got {len(rows)}")
    words = vocabulary(find_problem("tsp"))
    named = [squeezed(word) for word in ("name", "title", *words.spelt["names"], "id")]
    forms = [{squeezed(word): x for word, x in row.items() if x not in (None, "")} for row in rows]
    name = next((word for word in named if any(word in form for form in forms)), "")
    numbered = enumerate(forms, start=record.source.first)
    data = {"names": [form.get(name, i) for i, form in numbered]} if name else {}
    data |= {**record.data, **{axis: [row[axis] for row in rows] for axis in ("lat", "lon")}}
    known = {*named, "lat", "lon"}
    others = sorted({word for row in rows for word in row if squeezed(word) not in known})
    remark = f"properties of points do not count: {shown(', '.join(others), 80)}"
    return replace(record, data=data, remarks=(*record.remarks, *([remark] if others else ())))


def read_gpx(source: Source) -> list[Record]:
    """Read the waypoints; if there are none, the points of the only route, or else of the only track.

    Raises
    ------
    InputError
        If it is not well formed, has a type definition, is KML, or has no such points.
    """
    if "<!DOCTYPE" in source.text:
        raise source.error("has a document type definition, which is not read")
    try:
        root = ElementTree.fromstring(source.text)
    except ElementTree.ParseError as error:
        raise source.error(f"not well-formed XML: {error}", error.position[0]) from None
    if (form := root.tag.rpartition("}")[2]) != "gpx":
        raise source.other(f"is {form.upper()}, which is not read: export places as GPX, GeoJSON or CSV")
    there = [kind for kind in _OF_GPX if not source.reading.leaves_out(kind)]
    kind, *others = [kind for kind in there if root.find(f".//{{*}}{kind}") is not None] or ["wpt"]
    if (several := len(root.findall(f".//{{*}}{_OF_GPX[kind]}"))) > 1:
        raise source.error(f"expected wpt, or {kind} of one {_OF_GPX[kind]}, got {several} {_OF_GPX[kind]}")
    rows: list[dict[str, Any]] = [
        {"name": point.findtext("{*}name", "").strip()}
        | {axis: read_number(point.get(axis, "").strip()) for axis in ("lat", "lon")}
        for point in root.findall(f".//{{*}}{kind}")
    ]
    if kind != "wpt" and rows[0] == rows[-1]:
        rows.pop()  # a round trip ends where it begins
    remark = f"{len(rows)} {kind} are the places{', not '.join(('', *others))}"
    return [_record(rows, Record({}, source, remarks=(remark,) if others or kind == "trkpt" else ()))]


def read_tour(source: Source) -> list[Any]:
    """Read a tour in GPX: the names of the stops in their order.

    Raises
    ------
    InputError
        If a point has none.
    """
    (record,) = read_gpx(source)
    if "names" not in record.data:
        raise source.error("expected points with the names of the cities")
    return list(record.data["names"])


def degrees(instance: TspInstance) -> list[tuple[float, float]]:
    """Give longitude and latitude of the cities, within 180 and 90 degrees.

    Raises
    ------
    UsageError
        If they have none.
    """
    if (places := instance.degrees) is None:
        message = "GeoJSON and GPX hold latitude and longitude, which these cities lack; write json or csv"
        raise UsageError(message, option="format")
    return [(x if abs(x) <= 180 else x - 360 * round(x / 360), y) for y, x in places.tolist()]


def _stops(instance: TspInstance, solution: Solution) -> list[tuple[Any, float, float]]:
    """Give names, longitudes and latitudes in the order of a tour; a closed one ends where it begins."""
    spots, names = degrees(instance), instance.to_ids(solution)
    stops = [(name, *spots[city]) for name, city in zip(names, solution.tolist(), strict=True)]
    return stops if instance.route.open else [*stops, stops[0]]


def write_geojson(instance: TspInstance, solution: Solution) -> str:
    """Write a tour as a line, and its stops as points; one feature a line.

    Raises
    ------
    UsageError
        If the cities have no latitude and longitude.
    """
    stops = _stops(instance, solution)
    about = {"name": instance.name, "objective": instance.objective(solution)}
    features = [_feature(about, "LineString", [spot for _, *spot in stops])]
    for position, (name, *spot) in enumerate(stops[: instance.size], start=1):
        features.append(_feature({"name": name, "position": position}, "Point", spot))
    head = dumps({"type": "FeatureCollection", **about, "solution": instance.to_ids(solution)})
    return head[:-1] + ', "features": [\n' + ",\n".join(features) + "\n]}\n"


def _feature(about: dict[str, Any], kind: str, spots: list[Any]) -> str:
    return dumps({"type": "Feature", "properties": about, "geometry": {"type": kind, "coordinates": spots}})


def write_gpx(instance: TspInstance, solution: Solution) -> str:
    """Write a tour as a route.

    Raises
    ------
    UsageError
        If the cities have no latitude and longitude.
    """
    lines = ['<gpx version="1.1" creator="nsa" xmlns="http://www.topografix.com/GPX/1/1">', "<rte>"]
    lines += [f"<name>{escape(instance.name, quote=False)}</name>"] if instance.name else []
    for name, *spot in _stops(instance, solution):
        lon, lat = (f"{x:.9f}".rstrip("0").rstrip(".") for x in spot)
        lines.append(f'<rtept lat="{lat}" lon="{lon}"><name>{escape(str(name), quote=False)}</name></rtept>')
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *lines, "</rte>", "</gpx>", ""])
