"""Forms in which people really bring their data, and what they take for granted of a reader."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nsa_cli.core.errors import InputError, NsaError, UsageError
from nsa_cli.core.record import Reading
from nsa_cli.io.source import decode
from nsa_cli.problems import all_problems, find_problem
from nsa_cli.problems.files import Found, Unread, check_settings, read_each, read_records
from nsa_cli.problems.tsp.distances import EARTH
from nsa_cli.problems.vocabulary import vocabulary

from helpers import npy


def found(text: str, suffix: str = "", problem: str | None = None, **options: Any) -> list[Found | Unread]:
    """Read a text; options are settings and what is said of its form."""
    reading = {key: options.pop(key) for key in ("columns", "ignore", "decimal") if key in options}
    source = replace(decode(text.encode(), f"f{suffix}", suffix), reading=Reading(**reading))
    owner = find_problem(problem) if problem else None
    return read_each(read_records(source, owner), owner, options)


def read_one(text: str, suffix: str = "", problem: str | None = None, **options: Any) -> Found:
    (one,) = found(text, suffix, problem, **options)
    if isinstance(one, Unread):
        raise one.error
    return one


def record_of(text: str, suffix: str = "", problem: str | None = None, **options: Any) -> dict[str, Any]:
    one = read_one(text, suffix, problem, **options)
    return {key: value for key, value in one.instance.record().items() if key != "problem"}


SQUARE = {"names": ["A", "B", "C"], "coords": [[0, 0], [3, 4], [0, 4]]}
MATRIX = [[0, 12, 20], [12, 0, 9], [20, 9, 0]]


@pytest.mark.parametrize(
    "text",
    [
        *("A 0 0\nB 3 4\nC 0 4\n", "3\nA 0 0\nB 3 4\nC 0 4\n", "name x y\nA 0 0\nB 3 4\nC 0 4\n"),
        "3\nname x y\nA 0 0\nB 3 4\nC 0 4\n",
        '[{"name": "A", "x": 0, "y": 0}, {"name": "B", "x": 3, "y": 4}, {"name": "C", "x": 0, "y": 4}]',
        '{"name": "A", "x": 0, "y": 0}\n{"name": "B", "x": 3, "y": 4}\n\n{"name": "C", "x": 0, "y": 4}\n',
        '{"cities": [{"City": "A", "X": 0, "Y": 0}, {"city": "B", "x": 3, "y": 4}, {"CITY": "C", "x": 0,'
        ' "y": 4}]}',
        '[{"label": "A", "xy": [0, 0]}, {"label": "B", "xy": [3, 4]}, {"label": "C", "xy": [0, 4]}]',
        '{"x": [0, 3, 0], "y": [0, 4, 4], "names": ["A", "B", "C"]}',
        '{"locations": [[0, 0], [3, 4], [0, 4]], "cities": ["A", "B", "C"], "num_vehicles": 1, "depot": 0}',
        '[["A", 0, 0], ["B", 3, 4], ["C", 0, 4]]',
        '[{"type": "Point", "name": "A", "x": 0, "y": 0}, {"name": "B", "x": 3, "y": 4},'
        ' {"name": "C", "x": 0, "y": 4}]',
        '[["name", "x", "y"], ["A", 0, 0], ["B", 3, 4], ["C", 0, 4]]',
        "x,y,city\n0,0,A\n3,4,B\n0,4,C\n",
    ],
)
def test_named_cities_in_many_forms(text: str) -> None:
    """All of these say the same."""
    assert record_of(text, problem="tsp") == SQUARE


TOWNS = {"names": ["A", "B"], "coords": [[1, 2], [3, 4]]}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        *(("Customer,x,y\nA,1,2\nB,3,4\n", None), (",x,y\nA,1,2\nB,3,4\n", None)),
        *(("Unnamed: 0,x,y\nA,1,2\nB,3,4\n", None), ("A code,y,x\nA,2,1\nB,4,3\n", "name=A code")),
        *(("K,R,H\nA,1,2\nB,3,4\n", "x=R,y=H"), ("K,R,H\nA,1,2\nB,3,4\n", ("y=h", "name=K", "x=R"))),
    ],
)
def test_columns_of_names(text: str, columns: Any) -> None:
    """One column of text is the names, so is an index; others are known by what the user calls them."""
    assert record_of(text, ".csv", columns=columns) == TOWNS


@pytest.mark.parametrize(
    ("text", "cures"),
    [
        ("Kunde,Breite,Länge\nA,1.5,2\nB,3,4\n", [{"columns": "name,lat,lon"}]),
        ("Kunde,latt,lon\nA,1,2\nB,3,4\n", [{"columns": "name,lat,lon"}]),
        ("Kunde,lat,lon,Hours\nA,1,2,8-9\nB,3,4,7-9\n", [{"columns": "name=Kunde"}, {"ignore": "Hours"}]),
        ("x,y,service,due\n1,2,3,4\n2,3,3,5\n", [{"ignore": "service,due"}]),
        ("size,qty,shape\n.1,2,round\n.2,3,round\n", [{"columns": "name=shape"}]),
    ],
)
def test_unknown_headers_have_a_cure(text: str, cures: list[dict[str, str]]) -> None:
    """Followed word for word, the advice works."""
    given: dict[str, str] = {}
    for cure in cures:
        with pytest.raises(InputError) as caught:
            record_of(text, ".csv", **given)
        assert caught.value.use == cure
        given |= cure
    assert record_of(text, ".csv", **given)


#: Tables from ten trades, and how many pieces of advice each takes.
TRADES = [
    ("Bestellung;Empfänger;Breitengrad;Längengrad\n11;Ada;50,11;8,68\n12;Bob;50,08;8,24\n", 1),
    ("Well ID,UTM East (m),UTM North (m),Depth\nW-1,500010.5,46.2,30\nW-2,500310,49.5,28\n", 1),
    ("School\tLat.\tLong.\tPupils\nNorth\t51.5\t-0.12\t200\nSouth\t51.4\t-0.10\t310\n", 1),
    ("Profile,Length (mm),Pieces\nHEA100,2400,3\nIPE80,3100,4\n", 1),
    ("Project,Budget (k€),Benefit\nA,120,300\nB,80,150\nC,60,90\n", 2),
    ("filename,bytes\nmovie.mkv,4700000000\nphotos.zip,1200000000\n", 2),
    ("Hole;X [mm];Y [mm]\nH1;1,5;2,5\nH2;10;3\nH3;4,2;8\n", 0),
    (",name,x,y\n0,a,1,2\n1,b,4,6\n2,c,5,1\n", 0),
    ("Crate;Mass kg;Worth EUR\nC1;12,5;300\nC2;7;150\n", 1),
    ("Stop No;Address;City;Lat;Lon\n1;Main St. 1;Bonn;50,73;7,10\n2;Ring 5;Aachen;50,77;6,08\n", 0),
]


@pytest.mark.parametrize(("text", "most"), TRADES, ids=[text.split("\n")[0] for text, _ in TRADES])
def test_tables_of_ten_trades_are_read_or_lead_there(text: str, most: int) -> None:
    """Whoever follows each line word for word gets there."""
    given: dict[str, Any] = {}
    for _ in range(most):
        with pytest.raises(InputError) as caught:
            record_of(text, ".csv", **given)
        assert caught.value.use
        given |= {key: 10**10 if value is None else value for key, value in caught.value.use.items()}
    assert record_of(text, ".csv", **given)


@pytest.mark.parametrize("columns", ["x=Easting,y", "x=Easting"])
def test_columns_that_are_not_there(columns: str) -> None:
    """A mix of both ways, and a header that no column has, are refused."""
    with pytest.raises(NsaError, match=r"WORD=HEADER for each|no column 'Easting'; the header has 'x, y'"):
        record_of("x,y\n1,2\n3,4\n", ".csv", columns=columns)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *(("0,12,20\n12,0,9\n20,9,0\n", False), ("0 12 20\n12 0 9\n20 9 0\n", False)),
        *(("3\n0 12 20\n12 0 9\n20 9 0\n", False), ("[[0, 12, 20], [12, 0, 9], [20, 9, 0]]", False)),
        ('{"distance_matrix": [[0, 12, 20], [12, 0, 9], [20, 9, 0]], "symmetric": true}', False),
        (",A,B,C\nA,0,12,20\nB,12,0,9\nC,20,9,0\n", True),
        ("from/to;A;B;C\nA;-;12;20\nB;12;-;9\nC;20;9;-\n", True),
        ("A\tB\tC\n0\t12\t20\n12\t0\t9\n20\t9\t0\n", True),
        ("A 0 12 20\nB 12 0 9\nC 20 9 0\n", True),
        ('{"distances": [[0, 12, 20], [12, 0, 9], [20, 9, 0]], "names": ["A", "B", "C"]}', True),
    ],
)
def test_distances_in_many_forms(text: str, names: bool) -> None:
    """A square with a zero diagonal is a matrix, whatever is around it."""
    expected: dict[str, Any] = {"matrix": MATRIX} | ({"names": ["A", "B", "C"]} if names else {})
    assert record_of(text) == expected


def test_arrays_that_are_square_are_distances() -> None:
    """A matrix without a name is not taken for coordinates."""
    records = read_records(decode(npy(np.array(MATRIX)), "f.npy", ".npy"))
    ((_, instance, _, _),) = read_each(records)  # type: ignore[misc]
    assert instance.record()["matrix"] == MATRIX


def test_great_circles_between_decimal_degrees() -> None:
    """A quarter of a meridian; metres are a thousand times kilometres; GEO stays TSPLIB's."""
    text = "city,latitude,longitude\nNorth,90,0\nNull,0,0\n"
    one = read_one(text, ".csv")
    instance = one.instance
    assert instance.objective(np.array([0, 1])) == pytest.approx(math.pi * EARTH)
    assert instance.details(np.array([0, 1]))["distance"] == "great circle (km, real)"
    assert record_of(json.dumps(instance.record())) == record_of(text, ".csv")
    assert record_of(text, ".csv", metric="haversine_m")["edge_weight_type"] == "HAVERSINE_M"
    assert record_of(text, ".csv", edge_weight_type="GEO")["edge_weight_type"] == "GEO"
    with pytest.raises(InputError, match=r"f\.csv:2: expected a latitude of -90 to 90 degrees, got 95"):
        record_of("lat,lon\n95,0\n0,0\n", ".csv")


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        *(("euclidean", None), ("manhattan", "MAN_2D"), ("chebyshev", "MAX_2D"), ("euc_2d", "EUC_2D")),
        ("great circle", "HAVERSINE_KM"),
    ],
)
def test_metrics_by_any_name(metric: str, kind: str | None) -> None:
    """A key `metric` is the type of the edges; whole Manhattan lengths are TSPLIB's."""
    data = record_of(json.dumps({"coords": [[0, 0], [3, 4]], "metric": metric}))
    assert data.get("edge_weight_type") == kind


def test_real_lengths_of_other_metrics() -> None:
    """Of decimals Manhattan lengths are not rounded, unless TSPLIB's type asks for it."""
    text = '{"coords": [[0, 0], [1.5, 2.25]], "metric": "manhattan"}'
    one = read_one(text)
    assert one.instance.objective(np.array([0, 1])) == 7.5
    assert record_of(json.dumps(one.instance.record()))["edge_weight_type"] == "MANHATTAN"


def test_a_third_coordinate_is_one() -> None:
    """In a table and in JSON, unless it could be an id."""
    assert record_of("x,y,z\n1,2,3\n4,5,6\n", ".csv")["edge_weight_type"] == "EXACT_3D"
    assert record_of('{"coords": [[5, 2, 3], [4, 5, 6]]}')["edge_weight_type"] == "EXACT_3D"
    with pytest.raises(InputError, match="cannot tell ids from a third coordinate"):
        record_of('{"coords": [[1, 2, 3], [2, 5, 6]]}')
    with pytest.raises(InputError, match="cannot tell distances from points in space"):
        record_of('{"coords": [[0, 12, 20], [12, 0, 9], [20, 9, 0]]}')
    with pytest.raises(InputError, match="expected 2 numbers, got 3"):
        record_of('{"coords": [[5, 2, 3], [4, 5, 6]], "edge_weight_type": "EUC_2D"}')


def test_degrees_that_are_no_minutes_are_questioned() -> None:
    """GEO is degrees and minutes; 48.85 would have 85 of them."""
    one = read_one('{"coords": [[48.85, 2.35], [40, 3]], "edge_weight_type": "GEO"}')
    (remark,) = one.instance.remarks()
    assert "48.85 would have 85 minutes" in remark


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"capacity": 10, "weights": [6, 4], "demands": [3, 2]}', [6, 6, 6, 4, 4]),
        ('{"bin_size": 10, "sizes": [6, 4], "Quantity": [3, 2]}', [6, 6, 6, 4, 4]),
        ('{"max_weight": 10, "pieces": [{"length": 6, "qty": 3}, {"length": 4, "qty": 2}]}', [6, 6, 6, 4, 4]),
        ("# roll width = 10\nwidth,demand\n6,3\n4,2\n", [6, 6, 6, 4, 4]),
        ('{"bin_capacity": 10, "weights": [6, 4], "items": [0, 1], "n": 2}', [6, 4]),
    ],
)
def test_words_for_weights_and_copies(text: str, expected: list[int]) -> None:
    """In all forms alike."""
    data = record_of(text)
    assert (data["capacity"], data["weights"]) == (10, expected)


REFUSED = {
    '{"capcity": 10, "weights": [6, 4]}': "'capcity' is not understood, .* nearest word is 'capacity'",
    '{"weights": [0.6, 0.4], "conflicts": [[1, 2]]}': "'conflicts' is not understood",
    '{"coords": [[0, 0], [1, 1]],\n"open": 3}': "f:2: open: expected true or false, got 3",
    '{"coords": [[0, 0], [1, 1]],\n"num_vehicles": 3}': "f:2: 'num_vehicles' 3 is not supported",
    '{"coords": [[0, 0], [1, 1]], "tabu_edges": [[1, 2]]}': "'tabu_edges' is not understood",
    '{"coords": [[0, 0], [1, 1]], "metric": "tropical"}': "edge_weight_type: expected .*got 'tropical'",
    '{"coords": [[0, 0], [1, 1]], "metric": "manhatan"}': "the nearest is MANHATTAN",
    '{"coords": [[0, 0], [1, 1]], "n": 3}': "n is 3, but there are 2 coords",
    '{"weights": [1], "sizes": [2], "capacity": 3}': "'weights' and 'sizes' mean the same",
    '{"x": [1, 2]}': "f:1: y is missing beside x",
    '{"lat": [1, 2], "lon": [1, 2], "metric": "EUC_2D"}': "EUC_2D measures x and y, got lat and lon",
    '{"wieghts": [1, 2]}': "cannot tell the problem .* nearest word to 'wieghts' is 'weights'",
    '{"items": [{"value": 1, "wieght": 2}]}': "nearest word to 'wieght' is 'weights'",
    '[{"x": 1, "y": 2},\n{"x": 1, "y": 2, "demand": 3}]': "f:2: 'demand' is not understood, .*; PyVRP",
    '{"distances": [0, 4, 5, 4, 0, 3, 5, 3, 0]}': "distances: expected rows .* list of 9; 3 rows of 3",
    "[[1, 2], [3, 4]]": "cannot tell the problem",
}


@pytest.mark.parametrize("text", list(REFUSED))
def test_what_is_not_understood_is_named(text: str) -> None:
    """With its line, and the nearest word where there is one."""
    with pytest.raises(InputError, match=REFUSED[text]):
        record_of(text)


ASKED = {
    "5,7,3\n8,9,1\n4,4,2\n": "id,x,y or x,y,id or x,y,z",
    "1,5,1\n2,8,2\n3,4,3\n": "id,x,y or x,y,id",
    "0,1\n1,0\n": "matrix or x,y",
    "0,1,2\n1,0,5\n2,5,0\n": "matrix or id,x,y",
    "A,0,4\nB,4,0\n": "matrix or name,x,y",
}


@pytest.mark.parametrize("text", list(ASKED))
def test_tables_that_allow_several_readings(text: str) -> None:
    """Are refused with the choice, and each of the choices is one."""
    with pytest.raises(InputError) as caught:
        record_of(text, ".csv", "tsp")
    assert f"the columns may be {ASKED[text]}" in caught.value.message
    read = [record_of(text, ".csv", "tsp", columns=columns) for columns in ASKED[text].split(" or ")]
    assert len({json.dumps(data) for data in read}) == len(read)
    assert record_of(text, ".csv", "tsp", columns=caught.value.use["columns"]) == read[0]


def test_a_column_that_counts_is_an_id() -> None:
    """From 0 or from 1, in the first place or the last."""
    assert record_of("0,5,7\n1,8,9\n2,4,4\n", ".csv", "tsp")["ids"] == [0, 1, 2]
    assert record_of("5,7,1\n8,9,2\n4,4,3\n", ".csv", "tsp")["ids"] == [1, 2, 3]
    assert record_of("CityId,X,Y\n0,1,2\n1,3,4\n", ".csv")["ids"] == [0, 1]


def test_cities_of_one_name_are_numbered() -> None:
    """As items are; ids stay ids, no two alike."""
    one = read_one("id,name,x,y\n7,Portland,0,0\n9,Portland,3,4\n", ".csv")
    instance = one.instance
    assert instance.to_ids(np.array([0, 1])) == ["Portland", "Portland (2)"]
    assert instance.from_ids([9, 7]).tolist() == [1, 0]
    with pytest.raises(InputError, match="city 7 occurs twice"):
        record_of("id,x,y\n7,0,0\n7,3,4\n", ".csv")


def test_a_malformed_line_is_one_error() -> None:
    """The other lines are read; a list that is malformed is an error of the whole."""
    items = found('{"weights": [1]}\n{"weights": [1}\n{"weights": [0.5]}\n')
    assert [type(item) for item in items] == [Found, Unread, Found]
    assert isinstance(items[1], Unread)
    assert str(items[1].error).startswith("f:2: not valid JSON")
    with pytest.raises(InputError, match="f:2: not valid JSON"):
        found('[{"weights": [1]},\n{"weights": [1}]\n')
    with pytest.raises(InputError, match="f:2: not valid JSON"):
        found('{"x": 1, "y": 2}\n{"x": 1, "y": }\n{"x": 3, "y": 2}\n')


def test_an_element_among_instances_is_one_error() -> None:
    """It is no instance, and the others are none of its elements."""
    items = found('{"weights": [1]}\n{"weights": [1]}\n{"weight": 1}\n')
    assert [type(item) for item in items] == [Found, Found, Unread]
    assert isinstance(items[2], Unread)
    assert str(items[2].error) == "f:3: weights: expected a list, got 1"


def test_settings_are_understood_as_keys_are() -> None:
    """Other words for a key, and the nearest word for what is none."""
    assert record_of('{"weights": [6, 4]}', bin_size=10)["capacity"] == 10
    with pytest.raises(UsageError, match="set: knapsack has no 'capcity'"):  # before what the file lacks
        record_of('{"weights": [6, 4], "values": [1, 2]}', capcity=10)
    bin_, tsp = find_problem("bin"), find_problem("tsp")
    check_settings([bin_, tsp], {"capacity": 5})
    with pytest.raises(UsageError, match="set: tsp has no 'capcity'"):
        check_settings([tsp], {"capcity": 5})
    with pytest.raises(UsageError, match=r"set: bin has no 'capcity'; .* the nearest is capacity"):
        check_settings([bin_], {"capcity": 5})
    with pytest.raises(UsageError, match="capacity: tsp has none"):
        check_settings([tsp], {"capacity": 5})


def test_headers_of_tsplib_that_are_not_tsplibs() -> None:
    """Are left out with a warning, unless they are misspelt or make another problem."""
    text = "NAME: a\nMADE_BY: us\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n"
    one = read_one(text)
    assert one.remarks == ("MADE_BY in line 2 is no TSPLIB keyword: left out",)
    for line, message in (
        ("DIMENSON: 2", "f:2: there is no TSPLIB keyword 'DIMENSON'; the nearest is DIMENSION"),
        ("VEHICLES: 3", "f:2: VEHICLES is not supported"),
        ("WINDOW_SECTION: 3", "f:2: WINDOW_SECTION is not supported"),
    ):
        with pytest.raises(InputError, match=message):
            found(text.replace("MADE_BY: us", line))
    assert isinstance(found(text.replace("MADE_BY: us", "VEHICLES: 1"))[0], Found)


@pytest.mark.parametrize("form", ["list", "lines", "table", "blanks"])
def test_many_elements_are_read_quickly(form: str) -> None:
    """Twenty thousand cities in a second or two of processor time, whatever the form."""
    rows = [{"name": f"c{i}", "x": i * 7 % 1000, "y": i * 13 % 999} for i in range(20_000)]
    separator = "," if form == "table" else " "
    text = {
        "list": json.dumps(rows),
        "lines": "\n".join(map(json.dumps, rows)),
    }.get(form, "\n".join([separator.join("nxy"), *(separator.join(map(str, r.values())) for r in rows)]))
    begin = time.process_time()
    data = record_of(text.replace("n,x,y", "name,x,y").replace("n x y", "name x y"))
    assert time.process_time() - begin < 3.0
    assert len(data["coords"]) == 20_000


def test_columns_are_for_tables() -> None:
    """What is said of columns is refused where there are none."""
    with pytest.raises(InputError, match=r"is read as JSON, which has no columns.*leave out decimal"):
        found('{"weights": [1]}', decimal=",")
    with pytest.raises(UsageError, match="separator: expected one of"):
        Reading(separator="x")


def test_no_word_means_two_things() -> None:
    """Of one number of axes a word means one key of a problem."""
    for problem in all_problems():
        words = vocabulary(problem)
        for key in [*words.columns, *problem.words]:
            for word in words.spelt[key]:
                axes = 1 if key in words.columns else problem.arrays.get(key, 0)
                assert words.key_of(word, axes) == key, (problem.name, word)
