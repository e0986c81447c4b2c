"""Files as they are met in the field, from the command line to the right answer.

Every kind of trouble that users of other programs have reported, on small inputs whose answers were found
by listing all solutions with the formulas of the formats' descriptions.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re

import pytest

QUICK = ("--seed", 1, "--steps", 300, "--chains", 2)

POINTS = [(0.5, 1), (7.5, 2), (6, 8.5), (1, 6.5), (3.5, 3.5), (9, 5)]
SQUARE = "1 0 0\n2 30 40\n3 0 40\n4 30 0\n"
MATRIX = [[0, 3, 14, 9, 21], [3, 0, 5, 18, 2], [14, 5, 0, 8, 16], [9, 18, 8, 0, 6], [21, 2, 16, 6, 0]]


def half_up(x):
    return int(x + 0.5)


def att(dx, dy):
    real = math.sqrt((dx * dx + dy * dy) / 10)
    return half_up(real) + (half_up(real) < real)


METRICS = {
    "EUC_2D": lambda dx, dy: half_up(math.hypot(dx, dy)),
    "CEIL_2D": lambda dx, dy: math.ceil(math.hypot(dx, dy)),
    "MAN_2D": lambda dx, dy: half_up(abs(dx) + abs(dy)),
    "MAX_2D": lambda dx, dy: max(half_up(abs(dx)), half_up(abs(dy))),
    "ATT": att,
}


def shortest(size, distance):
    """List all tours."""
    tours = ((0, *rest) for rest in itertools.permutations(range(1, size)))
    return min(sum(distance(tour[i - 1], tour[i]) for i in range(size)) for tour in tours)


def tsp(kind, rows, head="NAME : n\nTYPE : TSP\n"):
    size = len(rows)
    lines = "".join(f"{i} {' '.join(map(str, row))}\n" for i, row in enumerate(rows, start=1))
    return f"{head}DIMENSION : {size}\nEDGE_WEIGHT_TYPE : {kind}\nNODE_COORD_SECTION\n{lines}EOF\n"


def explicit(shape, tokens):
    head = "NAME: m\nTYPE: TSP\nDIMENSION: 5\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
    return f"{head}EDGE_WEIGHT_FORMAT: {shape}\nEDGE_WEIGHT_SECTION:\n{tokens}\nEOF\n"


def solved(nsa, tmp_path, text, *options, name="f.tsp"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return nsa("solve", path, *QUICK, *options)


@pytest.mark.parametrize("kind", list(METRICS))
def test_every_metric_rounds_as_the_library_does(nsa, tmp_path, kind):
    """Half up and never half to even; the convention is in the result."""
    metric = METRICS[kind]
    best = shortest(6, lambda i, j: metric(POINTS[i][0] - POINTS[j][0], POINTS[i][1] - POINTS[j][1]))
    result = solved(nsa, tmp_path, tsp(kind, POINTS)).json
    assert (result["objective"], type(result["objective"])) == (best, int)
    assert kind in result["distance"]


SHAPES = {
    "FULL_MATRIX": [x for row in MATRIX for x in row],
    "UPPER_ROW": [MATRIX[i][j] for i in range(5) for j in range(i + 1, 5)],
    "LOWER_ROW": [MATRIX[i][j] for i in range(5) for j in range(i)],
    "UPPER_DIAG_ROW": [MATRIX[i][j] for i in range(5) for j in range(i, 5)],
    "LOWER_DIAG_ROW": [MATRIX[i][j] for i in range(5) for j in range(i + 1)],
    "UPPER_COL": [MATRIX[i][j] for j in range(5) for i in range(j)],
    "LOWER_COL": [MATRIX[i][j] for j in range(5) for i in range(j + 1, 5)],
    "UPPER_DIAG_COL": [MATRIX[i][j] for j in range(5) for i in range(j + 1)],
    "LOWER_DIAG_COL": [MATRIX[i][j] for j in range(5) for i in range(j, 5)],
}


@pytest.mark.parametrize(
    ("shape", "width"), [*((shape, 7) for shape in SHAPES), ("LOWER_ROW", 1), ("FULL_MATRIX", 25)]
)
def test_every_matrix_format_wherever_its_lines_break(nsa, tmp_path, shape, width):
    """Row breaks mean nothing, and columns are not rows."""
    tokens = [str(x) for x in SHAPES[shape]]
    text = "\n".join(" ".join(tokens[i : i + width]) for i in range(0, len(tokens), width))
    result = solved(nsa, tmp_path, explicit(shape, text)).json
    assert result["objective"] == shortest(5, lambda i, j: MATRIX[i][j])


HEAD = "DIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\n"
SQUARES = {
    "colons and blanks": f"NAME:s\nCOMMENT : a:b\nTYPE :TSP  \n{HEAD}NODE_COORD_SECTION\n{SQUARE}EOF\n",
    "no newline at the end": f"{HEAD}NODE_COORD_SECTION\n{SQUARE.strip()}",
    "no newline after EOF": f"{HEAD}NODE_COORD_SECTION\n{SQUARE}EOF",
    "tabs, CR LF, blank lines": f"{HEAD}NODE_COORD_SECTION\n\n{SQUARE}".replace("\n", "\t\r\n").replace(
        " ", "\t "
    ),
    "keys after the data": f"NODE_COORD_SECTION\n{SQUARE}{HEAD}EOF\n",
    "scientific notation": f"{HEAD}NODE_COORD_SECTION\n1 0.0e0 0\n2 3.0E+01 4e1\n3 0 40\n4 3.000e+1 0\n",
    "from zero": f"{HEAD}NODE_COORD_SECTION\n0 0 0\n1 30 40\n2 0 40\n3 30 0\n",
    "byte order mark": "\ufeff" + f"TYPE: TSP\n{HEAD}NODE_COORD_SECTION\n{SQUARE}",
}


@pytest.mark.parametrize("name", list(SQUARES))
def test_one_square_however_it_is_written(nsa, tmp_path, name):
    """A rectangle of 30 by 40 is 140 around, and its cities have the file's numbers."""
    result = solved(nsa, tmp_path, SQUARES[name]).json
    first = 0 if name == "from zero" else 1
    assert (result["objective"], sorted(result["solution"])) == (140, list(range(first, first + 4)))
    packed = solved(nsa, tmp_path, gzip.compress(SQUARES[name].encode()), name="f.tsp.gz").json
    assert packed["objective"] == 140


def test_degenerate_tours(nsa, tmp_path):
    """One city, two, cities in one place, and a third dimension."""
    assert solved(nsa, tmp_path, tsp("EUC_2D", [(1, 1)])).json["objective"] == 0
    assert solved(nsa, tmp_path, tsp("EUC_2D", [(0, 0), (6, 8)])).json["objective"] == 20
    twice = solved(nsa, tmp_path, tsp("EUC_2D", [(0, 0), (3, 4), (0, 0), (3, 4)])).json
    assert (twice["objective"], sorted(twice["solution"])) == (10, [1, 2, 3, 4])
    box = [(0, 0, 0), (3, 4, 0), (3, 4, 24), (0, 0, 24)]
    assert solved(nsa, tmp_path, tsp("EUC_3D", box)).json["objective"] == 58


def test_real_lengths_without_a_type(nsa, tmp_path):
    """JSON and CSV are not rounded, and the answer does not depend on their unit."""
    real = shortest(6, lambda i, j: math.dist(POINTS[i], POINTS[j]))
    for scale, shift in ((1e-3, 0), (1, 0), (1e3, 5e3)):
        points = [[x * scale + shift, y * scale + shift] for x, y in POINTS]
        table = "y;x\n" + "".join(f"{y};{x}\n".replace(".", ",") for x, y in points)
        text, name = (table, "f.csv") if shift else (json.dumps({"coords": points}), "f.json")
        result = solved(nsa, tmp_path, text, name=name).json
        assert result["objective"] == pytest.approx(real * scale, rel=1e-9)


REFUSED = {
    "fewer cities": (f"DIMENSION: 5\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n{SQUARE}", r":7: .*5.*4"),
    "no type": (f"NODE_COORD_SECTION\n{SQUARE}", "EDGE_WEIGHT_TYPE is missing"),
    "unknown type": (tsp("XRAY1", POINTS), ":4: EDGE_WEIGHT_TYPE 'XRAY1' is not supported"),
    "asymmetric": (tsp("EUC_2D", POINTS, "TYPE: ATSP\n"), ":1: TYPE 'ATSP' .*not supported"),
    "not symmetric": (
        explicit("FULL_MATRIX", " ".join(map(str, SHAPES["FULL_MATRIX"])).replace("3 0", "4 0", 1)),
        r"not symmetric: entry \(1, 2\) is 3, entry \(2, 1\) is 4",
    ),
    "fixed edges": (
        tsp("EUC_2D", POINTS).replace("EOF", "FIXED_EDGES_SECTION\n1 9\n-1\nEOF"),
        ":13: fixed_edges, element 1: there is no city 9",
    ),
    "tour": ("TYPE: TOUR\nDIMENSION: 2\nTOUR_SECTION\n1\n2\n-1\n", ":1: expected an instance, got a tour"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_would_change_the_answer_is_refused(nsa, tmp_path, name):
    """By name, with the line."""
    text, message = REFUSED[name]
    done = solved(nsa, tmp_path, text)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search(message, done.err), done.err


#: name: text, suffix, options, value, items; the answers were found by listing all selections.
SACKS = {
    "fills exactly": ("3 9\n45 3\n50 4\n60 5\n", "txt", (), 110, [2, 3]),
    "capacity first": ("9 3\n45 3\n50 4\n60 5\n", "txt", (), 110, [2, 3]),
    "ten tenths": ("11 1\n" + "1 0.1\n" * 10 + "9.5 0.95\n", "txt", (), 10, list(range(1, 11))),
    "floats": (
        '{"capacity": 1, "values": [0.7, 0.4, 0.4], "weights": [0.6, 0.5, 0.5]}',
        "json",
        (),
        0.8,
        [2, 3],
    ),
    "columns by name": ("weight,id,value\n4,a,8\n5,b,10\n8,c,15\n", "csv", ("--capacity", 9), 18, ["a", "b"]),
    "blocks": ("b\nn 3\nc 9\nz 110\ntime 0\n1,45,3,0\n2,50,4,1\n3,60,5,1\n-----\n", "csv", (), 110, [2, 3]),
    "ids and capacity last": ("3\n1 45 3\n2 50 4\n3 60 5\n9\n", "in", (), 110, [2, 3]),
    "zeros": ("4 4\n3 0\n0 2\n5 4\n0 0\n", "txt", (), 8, None),
    "nothing fits": ('{"capacity": 1, "values": [5, 6], "weights": [2, 3]}', "json", (), 0, []),
    "spreadsheet": (
        "\ufeffsep=;\r\nitem;price;weight\r\na;3,5;1,2\r\nb;2,25;0,8\r\nc;4,75;1,6\r\n",
        *("csv", ("--capacity", "2.4"), 7.0, ["b", "c"]),
    ),
    "or-library": ("1\n3 1 110\n45 50 60\n3 4 5\n9\n", "txt", (), 110, [2, 3]),
}


@pytest.mark.parametrize("name", list(SACKS))
def test_knapsacks(nsa, tmp_path, name):
    """Exact values, exact weights, the file's own ids; a known optimum gives the gap."""
    text, suffix, options, value, items = SACKS[name]
    more = (
        "--steps",
        3000,
        "--chains",
        8,
        "--no-bound",
    )  # the best of few items may be far from the next best
    result = solved(nsa, tmp_path, text, *options, *more, name=f"f.{suffix}").json
    assert result["objective"] == pytest.approx(value, abs=1e-12)
    assert items is None or result["solution"] == items
    assert result["gap"] == (0.0 if name in ("blocks", "or-library") else None)


PACKINGS = {
    "filled exactly": ('{"weights": [0.1, 0.2, 0.7, 0.3, 0.3, 0.4]}', "json", 2),
    "list": ("6\n100\n70\n30\n60\n40\n50\n50\n", "txt", 3),
    "demands": ("3\n100\n70 1\n30 2\n35 2\n", "csp", 2),
    "table": ("# capacity = 100\nname;size\na;70,5\nb;29,5\nc;60\n", "csv", 2),
}


@pytest.mark.parametrize("name", list(PACKINGS))
def test_packings(nsa, tmp_path, name):
    """Each item once, no bin too full, none empty."""
    text, suffix, best = PACKINGS[name]
    result = solved(nsa, tmp_path, text, name=f"f.{suffix}").json
    assert (result["objective"], len(result["solution"])) == (best, best)
    assert all(result["solution"])
    assert sum(len(members) for members in result["solution"]) == result["n"]


def test_several_packings_in_a_file(nsa, tmp_path):
    """OR-Library's form: names, known optima, gaps."""
    done = solved(nsa, tmp_path, " 2\n u_1\n 10 4 2\n6\n5\n5\n4\n t_2\n 1.0 2 1\n0.7\n0.3\n", name="f.txt")
    results = [json.loads(line) for line in done.out.splitlines()]
    assert [(r["name"], r["objective"], r["best_known"], r["gap"]) for r in results] == [
        ("u_1", 2, 2, 0.0),
        ("t_2", 1, 1, 0.0),
    ]


def test_an_item_larger_than_a_bin(nsa, tmp_path):
    """Is named, with both numbers; there is no answer."""
    done = solved(nsa, tmp_path, '{"capacity": 90, "weights": [50, 120]}', name="f.json")
    assert (done.code, done.out) == (2, "")
    assert re.search("item 2 .*120 > capacity 90", done.err)
