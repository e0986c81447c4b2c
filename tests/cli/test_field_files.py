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


def half_up(x):
    return int(x + 0.5)


def att(dx, dy):
    real = math.sqrt((dx * dx + dy * dy) / 10)
    return half_up(real) + (half_up(real) < real)


def geo(a, b):
    """Measure kilometres between degrees and minutes, by the formulas of TSPLIB's documentation."""
    degrees = [[int(x) + 5 * (x - int(x)) / 3 for x in place] for place in (a, b)]
    (lat_a, lon_a), (lat_b, lon_b) = ([3.141592 * x / 180 for x in place] for place in degrees)
    q1, q2, q3 = math.cos(lon_a - lon_b), math.cos(lat_a - lat_b), math.cos(lat_a + lat_b)
    return int(6378.388 * math.acos(0.5 * ((1 + q1) * q2 - (1 - q1) * q3)) + 1)


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


def solved(nsa, tmp_path, text, *options, name="f.tsp", quick=QUICK):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return nsa("solve", path, *quick, *options)


@pytest.mark.parametrize("kind", [*METRICS, "GEO"])
def test_every_metric_rounds_as_the_library_does(nsa, tmp_path, kind):
    """Half up and never half to even; the convention is in the result."""
    metric = METRICS.get(kind)
    between = geo if metric is None else lambda a, b: metric(a[0] - b[0], a[1] - b[1])
    best = shortest(6, lambda i, j: between(POINTS[i], POINTS[j]))
    result = solved(nsa, tmp_path, tsp(kind, POINTS)).json
    assert (result["objective"], type(result["objective"])) == (best, int)
    assert kind in result["distance"]


def test_a_file_however_it_is_written(nsa, tmp_path):
    """Tabs, DOS line ends and a byte order mark, packed or not; cities have the file's numbers."""
    head, rows = "DIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\n", "0 0 0\n1 30 40\n2 0 40\n3 3E1 0\n"
    text = f"\ufeff{head}NODE_COORD_SECTION\n\n{rows}"
    data = text.replace("\n", "\t\r\n").replace(" ", "\t ").encode()
    for name, written in (("f.tsp", data), ("f.tsp.gz", gzip.compress(data))):
        result = solved(nsa, tmp_path, written, name=name).json
        assert (result["objective"], sorted(result["solution"])) == (140, [0, 1, 2, 3])


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
    "unknown type": (tsp("XRAY1", POINTS), ":4: EDGE_WEIGHT_TYPE 'XRAY1' is not supported"),
    "asymmetric": (tsp("EUC_2D", POINTS, "TYPE: ATSP\n"), ":1: TYPE 'ATSP' .*not supported"),
    "tour": ("TYPE: TOUR\nDIMENSION: 2\nTOUR_SECTION\n1\n2\n-1\n", ":1: expected an instance, got a tour"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_would_change_the_answer_is_refused(nsa, tmp_path, name):
    """By name, with the line."""
    text, message = REFUSED[name]
    done = solved(nsa, tmp_path, text)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search(message, done.err), done.err


FLOATS = '{"capacity": 1, "values": [0.7, 0.4, 0.4], "weights": [0.6, 0.5, 0.5]}'
SHEET = "\ufeffsep=;\r\nitem;price;weight\r\na;3,5;1,2\r\nb;2,25;0,8\r\nc;4,75;1,6\r\n"

#: name: text, suffix, options, value, items, gap; the answers were found by listing all selections.
SACKS = {
    "ten tenths": ("11 1\n" + "1 0.1\n" * 10 + "9.5 0.95\n", "txt", (), 10, list(range(1, 11)), None),
    "floats": (FLOATS, "json", (), 0.8, [2, 3], None),
    "blocks": ("b\nn 3\nc 9\nz 110\ntime 0\n1,45,3,0\n2,50,4,1\n3,60,5,1\n", "csv", (), 110, [2, 3], 0.0),
    "zeros": ("4 4\n3 0\n0 2\n5 4\n0 0\n", "txt", (), 8, None, None),
    "nothing fits": ('{"capacity": 1, "values": [5, 6], "weights": [2, 3]}', "json", (), 0, [], None),
    "spreadsheet": (SHEET, "csv", ("--capacity", "2.4"), 7.0, ["b", "c"], None),
    "or-library": ("1\n3 1 110\n45 50 60\n3 4 5\n9\n", "txt", (), 110, [2, 3], 0.0),
}


@pytest.mark.parametrize("name", list(SACKS))
def test_knapsacks(nsa, tmp_path, name):
    """Exact values, exact weights, the file's own ids; a known optimum gives the gap."""
    text, suffix, options, value, items, gap = SACKS[name]
    quick = ("--seed", 1, "--steps", 3000, "--chains", 8, "--no-bound")  # the best may be far from the next
    result = solved(nsa, tmp_path, text, *options, name=f"f.{suffix}", quick=quick).json
    assert result["objective"] == pytest.approx(value, abs=1e-12)
    assert items is None or result["solution"] == items
    assert result["gap"] == gap


PACKINGS = {
    "filled exactly": ('{"weights": [0.1, 0.2, 0.7, 0.3, 0.3, 0.4]}', "json", 2),
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
