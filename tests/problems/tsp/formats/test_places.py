"""Places in GeoJSON and GPX, and tours in both."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

import nsa_cli as nsa
from nsa_cli.core.errors import InputError, UsageError
from nsa_cli.core.record import Reading
from nsa_cli.io.source import decode
from nsa_cli.problems import find_problem
from nsa_cli.problems.files import read_instances, read_solution

TSP = find_problem("tsp")
NAMES, SPOTS = ["A & B", "Bär", "C <3"], [[10, 60], [10.5, 61], [12, 61]]


def feature(spot: Any, kind: str = "Point", **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": spot}}


def collection(*features: Any, **keys: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", **keys, "features": list(features)}


NAMED = [feature(spot, name=name) for name, spot in zip(NAMES, SPOTS, strict=True)]
CRS84 = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}


def gpx(*parts: str) -> str:
    root = '<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1" xmlns:x="http://x">'
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(
        (root, "<name>mine</name>", *parts, "</gpx>")
    )


def points(kind: str, names: Any = ("A &amp; B", "B&#228;r", "<![CDATA[C <3]]>")) -> str:
    inner = "<ele>3</ele><name>{}</name><extensions><x:name>no</x:name></extensions>"
    pairs = zip(names, SPOTS, strict=True)
    return "\n".join(f'<{kind} lat="{a}" lon="{o}">{inner.format(n)}</{kind}>' for n, (o, a) in pairs)


def way(kind: str) -> str:
    return (
        f"<{'rte' if kind == 'rtept' else 'trkseg'}>{points(kind)}</{'rte' if kind == 'rtept' else 'trkseg'}>"
    )


def record_of(given: Any, *ignore: str) -> dict[str, Any]:
    text = given if isinstance(given, str) else json.dumps(given, indent=1)
    ((_, instance),) = read_instances(replace(decode(text.encode(), "f", ""), reading=Reading(ignore=ignore)))
    return instance.record()


@pytest.mark.parametrize(
    ("given", "ignore", "names"),
    [
        *((collection(*NAMED), "", NAMES), (collection(*NAMED, crs=CRS84, bbox=[1, 2, 3, 4]), "", NAMES)),
        *((NAMED, "", NAMES), (collection(feature(SPOTS, "MultiPoint")), "", None)),
        ({"type": "MultiPoint", "coordinates": [[*spot, 500] for spot in SPOTS]}, "", None),
        ({"type": "GeometryCollection", "geometries": [x["geometry"] for x in NAMED]}, "", None),
        (collection(*({**feature(spot), "id": i} for i, spot in enumerate(SPOTS))), "", [0, 1, 2]),
        (collection(*(feature(s, NAME=n, id=7) for n, s in zip(NAMES, SPOTS, strict=True))), "", NAMES),
        (collection(*NAMED[:2], feature(SPOTS[2])), "", [*NAMES[:2], 3]),
        (collection(*NAMED, feature([[1, 2], [3, 4]], "LineString")), "LineString", NAMES),
        *((gpx(points("wpt")), "", NAMES), (gpx(points("wpt"), way("rtept"), way("trkpt")), "", NAMES)),
        *((gpx(way("rtept"), way("trkpt")), "", NAMES), (gpx(way("trkpt")), "", NAMES)),
        (gpx(points("wpt", ["", "", ""]), way("rtept")), "wpt", NAMES),
        (gpx(points("wpt", ["Q", "", "R"])), "", ["Q", 2, "R"]),
        (
            gpx(points("wpt"))
            .replace("<wpt", "<g:wpt")
            .replace("</wpt", "</g:wpt")
            .replace("<gpx", '<gpx xmlns:g="http://www.topografix.com/GPX/1/0"'),
            "",
            NAMES,
        ),
    ],
)
def test_places_are_on_the_globe(given: Any, ignore: str, names: list[Any] | None) -> None:
    """Longitude first in GeoJSON; altitudes, and names within extensions, do not count."""
    record = record_of(given, *ignore.split())
    assert (record["edge_weight_type"], record["coords"]) == (
        "HAVERSINE_KM",
        [[lat, lon] for lon, lat in SPOTS],
    )
    assert record.get("names") == names


def test_what_does_not_count_is_said() -> None:
    """Properties, and points of another kind; other keys are those of any instance."""
    given = collection(*NAMED, feature([1, 2], demand=3, name="D"), depot="D", open=True)
    result = nsa.solve(given)
    assert result.remarks == ("properties of points do not count: 'demand'",)
    assert result.ids[0] == "D"
    with pytest.raises(InputError, match="'sky' is not understood"):
        nsa.solve(collection(*NAMED, sky=3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (collection(*NAMED, feature([[1, 2]], "LineString")), r"f:\d\d: .*got 'LineString'; use ignore="),
        (collection({"type": "Feature", "geometry": None}), "f:4: expected points, got 'null'"),
        (collection("x"), "expected points, got 'null'"),
        (collection(), "expected several points, got 0"),
        (collection(NAMED[0], feature([1])), r"expected longitude and latitude, got \[1\]"),
        (collection(NAMED[0], feature(["x", 1])), r"f:\d\d: lon, element 2: expected a number, got 'x'"),
        (collection(NAMED[0], feature([151.2, -133.8])), "expected a latitude of -90 to 90 degrees, got -1"),
        (collection(*NAMED, crs={"properties": {"name": "EPSG:25832"}}), "crs: expected longitude"),
        (gpx(), "expected several points, got 0"),
        (gpx(way("rtept"), way("rtept")), "expected wpt, or rtept of one rte, got 2 rte"),
        (gpx(points("wpt")).replace('lat="61"', 'lat="north"'), "lat, element 2: expected a number"),
        (gpx(points("wpt"))[:-9], "f:6: not well-formed XML"),
        (gpx("<wpt>&file;</wpt>"), "f:4: not well-formed XML: undefined entity"),
        ('<!DOCTYPE gpx [<!ENTITY a "aaa">]>\n<gpx/>', "has a document type definition, which is not read"),
        ('<kml xmlns="http://www.opengis.net/kml/2.2"/>', "is KML, which is not read: export places as GPX"),
        ("<gpx>" + "<a>" * 100_000 + "</a>" * 100_000 + "</gpx>", "expected several points, got 0"),
    ],
)
def test_what_are_no_places_is_refused(given: Any, message: str) -> None:
    """In a line, with what helps."""
    with pytest.raises(InputError, match=message):
        record_of(given)


@pytest.mark.parametrize("suffix", ["geojson", "gpx"])
@pytest.mark.parametrize("is_open", [False, True])
def test_a_tour_can_be_written_and_read_again(suffix: str, is_open: bool) -> None:
    """By latitude and longitude within 180 degrees; a closed one comes back to its first stop."""
    data = {"lat": [-36, -18.1, 1e-7], "lon": [190.5, 178, -0.25], "names": NAMES, "open": is_open}
    instance = TSP.from_record(data)
    tour = instance.from_ids([NAMES[2], NAMES[0], NAMES[1]])
    (fmt,) = (fmt for fmt in TSP.solution_formats if fmt.name == suffix)
    assert fmt.write
    text = fmt.write(instance, tour)
    spots = [["-0.25", "0.0000001"], ["-169.5", "-36"], ["178", "-18.1"]]
    spots += [] if is_open else spots[:1]
    if suffix == "gpx":
        found = re.findall(r'<rtept lat="(.*?)" lon="(.*?)"><name>(.*?)</name>', text)
        assert [[lon, lat] for lat, lon, _ in found] == spots
        assert [name for *_, name in found][:3] == ["C &lt;3", "A &amp; B", "Bär"]
    else:
        line, *stops = json.loads(text)["features"]
        assert line["geometry"] == {
            "type": "LineString",
            "coordinates": [[*map(float, spot)] for spot in spots],
        }
        assert [stop["properties"] for stop in stops] == [
            {"name": name, "position": i} for i, name in enumerate(instance.to_ids(tour), start=1)
        ]
        assert [stop["geometry"]["coordinates"] for stop in stops] == line["geometry"]["coordinates"][:3]
    assert (
        read_solution(decode(text.encode(), f"f.{suffix}", f".{suffix}"), TSP, instance).tolist()
        == tour.tolist()
    )


def test_places_of_a_matrix_are_for_maps() -> None:
    """The matrix measures; degrees and minutes of TSPLIB become decimals; a plane has no maps."""
    (geojson,) = (f for f in TSP.solution_formats if f.name == "geojson")
    assert geojson.check
    matrix = TSP.from_record({"matrix": [[0, 1], [1, 0]], "lat": [1, 2], "lon": [3, 4]})
    assert matrix.objective(matrix.from_ids([1, 2])) == 2
    assert geojson.check(matrix) == [(3, 1), (4, 2)]
    minutes = TSP.from_record({"coords": [[48.30, -2.15], [0, 0]], "edge_weight_type": "GEO"})
    assert geojson.check(minutes)[0] == pytest.approx((-2.25, 48.5))
    with pytest.raises(UsageError, match="hold latitude and longitude, which these cities lack"):
        geojson.check(TSP.from_record({"coords": [[0, 1], [1, 0]]}))
    with pytest.raises(InputError, match="expected 2 places, got 1"):
        nsa.solve({"matrix": [[0, 1], [1, 0]], "lat": [1], "lon": [3]})
