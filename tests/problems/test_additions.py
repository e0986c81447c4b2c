"""Whatever is added to a valid file, it is read as what it says, or refused by the name of the addition."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from nsa_cli.core.errors import NsaError
from nsa_cli.core.words import squeezed
from nsa_cli.io.source import decode
from nsa_cli.problems import all_problems, find_problem
from nsa_cli.problems.files import read_instances
from nsa_cli.problems.vocabulary import HARMLESS, vocabulary


class Case(NamedTuple):
    """A file with an addition.

    Attributes
    ----------
    text, suffix : str
    problem : str or None
        What the user says it is.
    expected : dict
        What the instance must hold if the file is read.
    words : tuple of str
        One of which a refusal must have.
    harmless : bool
        Whether a refusal is a fault.
    settings : dict
        What the user gives beside the file.
    """

    text: str
    suffix: str
    problem: str | None
    expected: dict[str, Any]
    words: tuple[str, ...]
    harmless: bool
    settings: dict[str, Any] = {}


#: Keys and columns that mean something in other problems, and nothing here.
STRANGE = [
    *("capcity", "wieghts", "valeus", "cordinates", "opne_path", "too_city", "fixd_edges", "time_windows"),
    *("service_time", "priority", "num_trucks", "max_stops", "due_date", "fragile", "rotation", "height"),
    *("conflicts", "precedence", "penalty", "bonus", "min_load", "heigth", "weights2", "demandz", "lenght"),
    *("skills", "pickup", "delivery", "setup", "colour_class", "bin_types", "cardinality", "lower_bound"),
]
EXTRAS = sorted(HARMLESS - {"type", "file", "format"})


def instance_of(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """Draw a small instance: the problem and its record."""
    n = rng.randint(2, 6)
    whole = rng.random() < 0.5

    def numbers(low: int, high: int) -> list[Any]:
        return [rng.randint(low, high) if whole else round(rng.uniform(low, high), 2) for _ in range(n)]

    problem = rng.choice(["tsp", "knapsack", "bin"])
    if problem == "tsp":
        return problem, {"coords": [list(p) for p in zip(numbers(11, 999), numbers(11, 999), strict=True)]}
    data: dict[str, Any] = {"weights": numbers(2, 9), "capacity": rng.randint(10, 20)}
    return problem, {"values": numbers(1, 99), **data} if problem == "knapsack" else data


def elements(problem: str, data: dict[str, Any], rng: random.Random) -> dict[str, list[Any]]:
    """Give the columns of an instance, each under one of its words, in any order."""
    if problem == "tsp":
        x, y = (list(axis) for axis in zip(*data["coords"], strict=True))
        columns = {"x": x, "y": y}
    else:
        columns = {key: data[key] for key in ("values", "weights") if key in data}
    owner = vocabulary(find_problem(problem))
    spelt = {rng.choice(owner.columns[key].headers[:4]): numbers for key, numbers in columns.items()}
    return dict(rng.sample(sorted(spelt.items()), len(spelt)))


def addition(problem: str, n: int, rng: random.Random, *, column: bool) -> tuple[str, Any, bool | None]:
    """Draw a key or a column to add: its word, its value, and whether it is harmless (None: it is either)."""
    kind = rng.choice(["strange", "harmless", "count", "empty", "neutral"])
    value: Any = rng.choice([0, 1, 2.5, True, "text", [1, 2], {"a": 1}, [[1]]])
    if column:
        value = rng.choice([[rng.randint(1, 9) for _ in range(n)], [rng.choice("abc") for _ in range(n)]])
        kind = rng.choice(["strange", "harmless", "empty"])
    if kind == "strange":
        return rng.choice(STRANGE), value, False
    if kind == "harmless":
        return rng.choice(EXTRAS), value, True
    if kind == "empty":
        return rng.choice(STRANGE), [""] * n if column else rng.choice([None, [], {}, ""]), True
    if kind == "count":
        size = rng.choice([n, n, n + 1])
        return "n", size, size == n
    if problem == "tsp":
        word, neutral = rng.choice([("num_vehicles", 1), ("open", False), ("symmetric", True), ("depot", 0)])
        changed = rng.random() < 0.5
        other: Any = {"num_vehicles": 3, "open": "perhaps", "symmetric": False, "depot": [5, 5]}[word]
        return word, other if changed else neutral, not changed
    return rng.choice(STRANGE), value, False


def as_json(rng: random.Random) -> Case:
    """Draw a JSON object with parallel lists, with a key more."""
    problem, data = instance_of(rng)
    columns = elements(problem, data, rng)
    if problem == "tsp" and rng.random() < 0.5:
        columns = {rng.choice(["coords", "locations", "points", "Locs"]): data["coords"]}
    file = dict(columns)
    if "capacity" in data:
        word = rng.choice(["capacity", "Capacity", "max_weight", "bin_size", "bin-capacity"])
        file[word] = data["capacity"]
    word, value, harmless = addition(problem, len(next(iter(columns.values()))), rng, column=False)
    expected = dict(data)
    if problem != "tsp" and rng.random() < 0.3:
        word, value, harmless = rng.choice(["demands", "quantity", "copies", "Qty"]), None, True
        value = [rng.randint(1, 3) for _ in data["weights"]]
        for key in columns_of(data):
            expected[key] = [x for x, many in zip(data[key], value, strict=True) for _ in range(many)]
    file[word] = value
    file = dict(rng.sample(sorted(file.items()), len(file)))
    return Case(json.dumps(file), ".json", None, expected, (word,), bool(harmless))


def columns_of(data: dict[str, Any]) -> list[str]:
    return [key for key in ("values", "weights") if key in data]


def as_objects(rng: random.Random) -> Case:
    """Draw objects, an element each: in a list, in a key, or one a line, with a key more in each."""
    problem, data = instance_of(rng)
    columns = elements(problem, data, rng)
    n = len(next(iter(columns.values())))
    word, value, harmless = addition(problem, n, rng, column=True)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if harmless and value == [""] * n:
        value = [None] * n
    for row, x in zip(rows, value, strict=True):
        row[word] = x
    expected, form = dict(data), rng.choice(["list", "lines", "key"])
    if form == "key" or "capacity" in data:
        whole = {rng.choice(["elements", "things", "rows"]): rows}
        text = json.dumps(whole | ({"capacity": data["capacity"]} if "capacity" in data else {}))
    elif form == "list":
        text = json.dumps(rows)
    else:
        text = "\n".join(map(json.dumps, rows))
    return Case(text, ".json", None, expected, (word,), bool(harmless))


def written(x: Any, decimal: str, thousands: str) -> str:
    """Write a number with some signs."""
    if not isinstance(x, int | float):
        return str(x)
    text = f"{x:,}" if thousands else repr(x)
    return text.replace(",", "T").replace(".", decimal).replace("T", thousands)


def as_table(rng: random.Random) -> Case:
    """Draw a table with a header, with any separator and signs and a column or a note more."""
    problem, data = instance_of(rng)
    if problem == "tsp" and rng.random() < 0.3:
        data["coords"] = [[1000 * x, y] for x, y in data["coords"]]
    columns = elements(problem, data, rng)
    n = len(next(iter(columns.values())))
    separator = rng.choice([",", ";", "\t", "|", " "])
    decimal = rng.choice([".", ","]) if separator != "," else "."
    thousands = rng.choice(["", "", "." if decimal == "," else ","])
    if thousands == "." and all(float(x).is_integer() for numbers in columns.values() for x in numbers):
        thousands = ""  # 1.234 alone is a decimal point
    expected, words, notes = dict(data), ["nothing"], []
    harmless = True
    if "capacity" in data:
        notes.append(f"# {rng.choice(['capacity', 'Capacity', 'max_weight'])} = {data['capacity']}")
    kind = rng.choice(["nothing", "column", "ids", "names", "note", "copies"])
    if kind == "column":
        word, value, fine = addition(problem, n, rng, column=True)
        columns[word], words, harmless = value, [word], bool(fine)
    elif kind == "ids":
        first = rng.choice([0, 1, 7])
        expected["ids"] = list(range(first, first + n))
        columns[rng.choice(["id", "CityId" if problem == "tsp" else "item_id", "No"])] = expected["ids"]
    elif kind == "names":
        labels = [rng.choice(["a", "b", "Port Said", "x-1"]) for _ in range(n)]
        columns[rng.choice(["name", "Label"])] = labels
        expected["names"] = labels
    elif kind == "note":
        word, sign = rng.choice(["capcity", "capacty", "source", "made by"]), rng.choice(["=", ":"])
        notes.append(f"# {word} {sign} 12")
        near = word.startswith("cap") and problem != "tsp"
        words, harmless = [word], word == "source" or (sign == ":" and not near)
    elif kind == "copies" and problem != "tsp":
        many = [rng.randint(1, 3) for _ in range(n)]
        columns[rng.choice(["copies", "demand", "Qty"])] = many
        for key in columns_of(data):
            expected[key] = [x for x, times in zip(data[key], many, strict=True) for _ in range(times)]
    columns = dict(rng.sample(sorted(columns.items()), len(columns)))
    quote = '"{}"' if separator in (",", " ") else "{}"

    def cell(x: Any) -> str:
        text = written(x, decimal, thousands)
        return quote.format(text) if separator in text or (separator == " " and not text) else text

    header = separator.join(quote.format(h) if separator in h else h for h in columns)
    rows = [separator.join(map(cell, row)) for row in zip(*columns.values(), strict=True)]
    text = "\n".join([*notes, header, *rows, ""])
    signs = "cannot tell", "cannot be read with", "expected 1 cells"
    if thousands or decimal == ",":
        words, harmless = [*words, *signs], False
    return Case(text, rng.choice(["", ".csv"]), problem, expected, tuple(words), harmless)


def as_bare_rows(rng: random.Random) -> Case:
    """Draw rows without a header, with a column of ids in some place, or a first line with their number."""
    problem, data = instance_of(rng)
    if problem == "knapsack":
        problem, data = "tsp", {"coords": list(map(list, zip(data["values"], data["weights"], strict=True)))}
    rows = [list(row) for row in data.get("coords", [[w] for w in data.get("weights", [])])]
    settings = {"capacity": data["capacity"]} if "capacity" in data else {}
    n, expected = len(rows), dict(data)
    kind = rng.choice(["nothing", "id first", "id last", "numbers first", "names", "count"])
    words: tuple[str, ...] = ()
    harmless = kind != "numbers first"
    if kind in ("id first", "id last", "numbers first"):
        first = rng.choice([0, 1])
        ids = list(range(first, first + n)) if kind != "numbers first" else [5 + 3 * i for i in range(n)]
        rows = [[*row, i] if kind == "id last" else [i, *row] for row, i in zip(rows, ids, strict=True)]
        expected["ids"], words = ids, ("the columns may be", "cannot tell")
        other = rows[0][0] in (0, 1) and [row[0] for row in rows] == list(range(rows[0][0], rows[0][0] + n))
        harmless = harmless and (kind == "id first" or not other)
    elif kind == "names":
        labels = [f"p{i}" for i in range(n)]
        rows = [[label, *row] for label, row in zip(labels, rows, strict=True)]
        expected["names"] = labels
    if rng.random() < 0.4 and kind != "names":
        return Case(json.dumps(rows), ".json", problem, expected, words, harmless, settings)
    separator = rng.choice([",", ";", " ", "\t"])
    lines = [separator.join(map(str, row)) for row in rows]
    if kind == "count" and len(rows[0]) > 1:
        lines = [str(n), *lines]
    suffix = ".csv" if len(rows[0]) == 1 or separator == " " else ""
    return Case("\n".join([*lines, ""]), suffix, problem, expected, words, harmless, settings)


def as_matrix(rng: random.Random) -> Case:
    """Draw distances: bare, or with names of rows, columns or both; as JSON or a table."""
    n = rng.randint(3, 6)
    far = {frozenset(pair): rng.randint(3, 99) for pair in combinations(range(n), 2)}
    matrix = [[far.get(frozenset((i, j)), 0) for j in range(n)] for i in range(n)]
    labels = [f"p{i}" for i in range(n)]
    kind = rng.choice(["bare", "json", "key", "both", "rows", "columns", "count"])
    expected: dict[str, Any] = {"matrix": matrix}
    separator = rng.choice([",", ";", "\t"]) if kind == "both" else rng.choice([",", ";", "\t", " "])
    rows: list[list[Any]] = [list(row) for row in matrix]
    if kind in ("json", "key"):
        word, value, harmless = addition("tsp", n, rng, column=False)
        if kind == "json":
            return Case(json.dumps(matrix), ".json", None, expected, (), True)
        file = {rng.choice(["matrix", "distance_matrix", "Distances"]): matrix, word: value}
        return Case(json.dumps(file), ".json", None, expected, (word,), bool(harmless))
    if kind in ("both", "rows"):
        rows = [[label, *row] for label, row in zip(labels, rows, strict=True)]
        expected["names"] = labels
    if kind in ("both", "columns"):
        rows = [([""] if kind == "both" else []) + labels, *rows]
        expected["names"] = labels
    lines = [separator.join(map(str, row)) for row in rows]
    if kind == "count":
        lines = [str(n), *lines]
    suffix = rng.choice(["", ".csv"]) if separator != " " else ""
    return Case("\n".join([*lines, ""]), suffix, None, expected, (), True)


#: What stands for no number.
SENTINELS = ["n/a", "NaN", "inf", "-", "NULL", "None", "?", "#N/A", "1,2,3", "12 kg"]


def with_sentinel(rng: random.Random) -> Case:
    """Draw a file in which something else stands for one of the numbers."""
    problem, data = instance_of(rng)
    columns = elements(problem, data, rng)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    form = rng.choice(["json", "objects", "header", "bare", "ids"])
    sentinel: Any = rng.choice([*SENTINELS, None, True] if form in ("json", "objects") else SENTINELS)
    i, j = rng.randrange(len(rows)), rng.randrange(len(columns))
    rows[i][j] = sentinel
    words = (str(sentinel), "cannot tell", "expected", "is not understood")
    capacity = {"capacity": data["capacity"]} if "capacity" in data else {}
    if form == "json":
        parallel = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
        return Case(json.dumps(parallel | capacity), ".json", None, data, words, False)
    if form == "objects":
        objects = [dict(zip(columns, row, strict=True)) for row in rows]
        return Case(json.dumps({"rows": objects} | capacity), ".json", None, data, words, False)
    head = [",".join(columns)] if form == "header" else []
    if form == "ids":
        rows = [[i, *row] for i, row in enumerate(rows)]
    lines = [",".join(f'"{x}"' if "," in str(x) else str(x) for x in row) for row in rows]
    return Case("\n".join([*head, *lines, ""]), ".csv", problem, data, words, False, capacity)


def as_tsplib(rng: random.Random) -> Case:
    """Draw a TSPLIB file with a line more in its header, or a section more."""
    _, data = instance_of(rng)
    coords = data.get("coords") or [[x, x] for x in data["weights"]]
    lines = [f"DIMENSION : {len(coords)}", "EDGE_WEIGHT_TYPE : EUC_2D", "NODE_COORD_SECTION"]
    lines += [f"{i} {x} {y}" for i, (x, y) in enumerate(coords, start=1)]
    fine = ["MADE_BY", "COMMENT", "OPTIMUM"]
    other = ["VEHICLES", "SALESMEN", "DIMENSON", "EDGE_WEIGHT_TYP", "TYPE", "NODE_COORD_SECTIN"]
    sections = ["WINDOW_SECTION", "FIXED_EDGE_SECTION", "DEMAND_SECTION"]
    word = rng.choice(fine + other + sections)
    harmless = word in fine
    if word.endswith("_SECTION"):
        lines += [word, "1 2", "-1"]
    else:
        lines.insert(rng.randrange(3), f"{word} : {'CVRP' if word == 'TYPE' else 3}")
    expected = {"coords": coords, "edge_weight_type": "EUC_2D"}
    return Case("\n".join([*lines, "EOF", ""]), ".tsp", None, expected, (word,), harmless)


FORMS = (as_json, as_objects, as_table, as_bare_rows, as_matrix, with_sentinel, as_tsplib)


def outcome(case: Case) -> str:
    """Read a case: ``read`` as it should be, or ``refused`` by name; anything else fails."""
    problem = find_problem(case.problem) if case.problem else None
    source = decode(case.text.encode(), "f", case.suffix)
    try:
        ((_, instance),) = read_instances(source, problem, case.settings)
    except NsaError as found:
        error = str(found)
    else:
        record = instance.record()
        assert {key: record.get(key) for key in case.expected} == case.expected, f"{record}\n{case}"
        assert set(record) - {"problem"} <= {*case.expected, "capacity", "comment"}, f"{record}\n{case}"
        assert case.harmless or "cannot tell" in case.words, f"read\n{case}"
        return "read"
    named = any(word in error or squeezed(word) in squeezed(error) for word in case.words)
    assert named, f"{error}\n{case}"
    assert not case.harmless, f"{error}\n{case}"
    return "refused"


def run(count: int, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    return Counter(outcome(FORMS[i % len(FORMS)](rng)) for i in range(count))


def test_additions() -> None:
    """A few hundred; both outcomes occur."""
    counts = run(1000, 0)
    assert min(counts["read"], counts["refused"]) > 100


@pytest.mark.study
def test_twenty_thousand_additions() -> None:
    """The same at length."""
    counts = run(20_000, 1)
    assert counts.total() == 20_000
    print(dict(counts))


def test_every_strange_word_is_strange() -> None:
    """No problem understands what the refusals are tested with."""
    for problem in all_problems():
        words = vocabulary(problem)
        assert not [w for w in STRANGE if words.key_of(w, None) or words.is_harmless(w)]
