"""Whatever a file holds, a reader answers with instances or with one line, and soon."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nsa_cli as nsa
from nsa_cli.core.errors import NsaError
from nsa_cli.io.source import decode
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.files import instance_formats, read_instances, read_solution, write_instances

from helpers import npy, npz

#: Seconds that a short text may take, far above what any takes.
PATIENCE = 3.0

TSPLIB = (
    "NAME : n\nCOMMENT : c\nTYPE : TSP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : {}\n"
    "NODE_COORD_SECTION\n1 0 0\n2 3 4.5\n3 1e2 7\nEOF\n"
)
MATRIX = (
    "TYPE : TSP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : {}\n"
    "EDGE_WEIGHT_SECTION\n{}\nDISPLAY_DATA_SECTION\n1 0 0\n2 1 1\n3 2 2\nEOF\n"
)

#: A valid file of every format, with its suffix.
VALID = [
    (TSPLIB.format("EUC_2D"), ".tsp"),
    (TSPLIB.format("GEO"), ""),
    (MATRIX.format("FULL_MATRIX", "0 1 2 1 0 3 2 3 0"), ".tsp"),
    (MATRIX.format("LOWER_DIAG_ROW", "0 1 0 2.5 3 0"), ""),
    ("NAME : t\nTYPE : TOUR\nDIMENSION : 3\nTOUR_SECTION\n1 2 3\n-1\nEOF\n", ".tour"),
    ("3 7\n6 2\n5 3\n6 4\n", ".txt"),
    ("2\n1 6 2\n2 5 3\n7\n", ".in"),
    ("s\nn 2\nc 7\nz 6\ntime 0.0\n1,6,2,1\n2,5,3,1\n-----\n", ".csv"),
    ("3\n10\n6\n5\n4\n", ".bpp"),
    ("2\n10\n6 1\n5 2\n", ".csp"),
    ("2\na\n10 2 1\n6\n4\nb\n1.0 1 1\n0.5\n", ""),
    ("# capacity = 3\nvalue;weight;name\n1,5;2;a\n2;1;b\n", ".csv"),
    ("sep=;\nx;y;id\n0,5;1;1\n2;3;2\n", ".csv"),
    ("weight\n0.5\n0.25\n", ".csv"),
    ('{"problem": "tsp", "coords": [[0, 0], [3, 4]], "ids": ["a", 2], "edge_weight_type": "ATT"}', ".json"),
    ('{"matrix": [[0, 1.5], [1.5, 0]], "name": "m", "comment": "c"}', ".json"),
    ('[{"values": [1, 2.5], "weights": [2, 1e1], "capacity": 3, "names": ["a", "a"]}]', ".json"),
    ('{"sizes": [0.5, 0.25], "best_known": 1}\n{"weights": [3], "capacity": 4}\n', ".jsonl"),
    ('{"a": 1, "b": 100, "dim": 3, "x0": [0, 0.5, 1]}', ".json"),
    ('{"solution": [[1, 2], [3]], "objective": 2}', ".json"),
    ("[1, 2, 3]", ".json"),
    ("2\n3 1 9\n5 6\n4\n1 2\n3\n4\n1 1 0\n5 2 2\n", ".txt"),
    ("3 7\n6 2\n5 3\n6 4\n0 1 1\n", ".txt"),
    ("2 10 6 1 5 2", ".csp"),
    ("# capacity = 7\nquantity,weight,value\n2,3,4\n1,2,5\n", ".csv"),
    ('{"weights": [5, 6], "copies": [2, 1], "profits": [1, 2], "max_weight": 9}', ".json"),
    ('{"capacity": 5, "items": [{"name": 1, "value": 3, "weight": 2}]}', ".json"),
    ('[{"pieces": [{"length": 0.3, "quantity": 2}], "name": "n"}]', ".json"),
    ("# bins\n3 10 # n C\n6\n5\n4\n", ".txt"),
    ("name;weight;capacity\na;0,3;0,5\nb;0,2;0,5\n", ".csv"),
    ("0 0 0.3 0.4 0 0.4 output 1 3 2 1\n0 0 1 1 output 1 2\n", ".txt"),
]


_LOCS = np.arange(12, dtype=float).reshape(2, 3, 2) / 8

#: A valid data set of every binary form.
BINARY = [
    *(pickle.dumps(_LOCS.tolist(), protocol) for protocol in (2, 3, 4, 5)),
    *(pickle.dumps({"locs": _LOCS.tolist(), "best_known": [1, 2.5]}, protocol) for protocol in (2, 4)),
    pickle.dumps([(1.5, 2**70, "text", None, True, 0.5)], 4),
    npz(locs=_LOCS.astype(np.float32)),
    npz(values=_LOCS[:, :, 0], weights=_LOCS[:, :, 1], capacity=3.5),
    npy(_LOCS),
    npy(np.asfortranarray(_LOCS[0])),
    gzip.compress(npz(weights=[0.5, 0.25], copies=[2, 3])),
]

#: Keys that our readers know.
KEYS = """problem name best_known coords matrix x y ids edge_weight_type comment display values weights sizes
capacity names a b dim x0 solution copies profits bin_capacity locs"""

NUMBERS = """nan NaN Infinity -inf 1e400 -1e200 1e150 5e-324 -1 -0 0 1_0 0x1 1D3 12345678901234567890 ٣ ²
9007199254740993 99999999999 0.1 1,5 1.000,5"""
SIGNS = r"""true null [] {} [[ ]] { } [ ] : , ; | # = - . ( ) " \ é 😀 "name" "weights" "ids": "\ud800" \u"""
WORDS = """EOF TYPE DIMENSION TOUR_SECTION NODE_COORD_SECTION: FIXED_EDGES_SECTION EXPLICIT ATSP EUC_3D XRAY1
sep=; #1 -----"""
BLANKS = "\0,\r,\n,\n\n,\t,\x0b,\x0c,\x1a,\x1b,\x85,\u2028,\ufeff,\ud7ff"

#: What is likely to hit a weak place when it is put somewhere.
PIECES = [
    *f"{NUMBERS} {SIGNS} {WORDS} {KEYS}".split(),
    *BLANKS.split(","),
    *("9" * 50, "9" * 4500, "[" * 1200, "(" * 300, " " * 300, "1 " * 300),
]


def mutated(text: str, rng: random.Random) -> bytes:
    """Change a text a few times: cut, double, swap, put pieces in, flip bytes."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        lines = text.split("\n")
        k = rng.randrange(len(lines))
        piece, signs = rng.choice(PIECES), rng.sample("123 \n,.;:[]", 2)
        put = text[:i] + piece + text[i:], text[:i] + piece + text[min(j, i + 8) :]
        cut = text[:i] + text[j:], text[:j] + text[i:j] + text[j:], text[:i]
        by_line = "\n".join(lines[:k] + lines[k + 1 :]), "\n".join([*lines[: k + 1], *lines[k:]])
        text = rng.choice([*put, *cut, *by_line, text.replace(*signs)])
    data = text.encode("utf-8", "surrogatepass")
    if data and rng.random() < 0.1:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if rng.random() < 0.05:
        data = gzip.compress(data)
        data = data[: rng.randrange(len(data) + 1)]
    return data


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Change bytes a few times: overwrite, cut, double, put in what is an operation of pickles."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        i, j = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        operation, byte = bytes([rng.choice(b"(cRbio02PQ.\x81\x93\x94")]), bytes([rng.randrange(256)])
        piece = rng.choice([operation, byte, b"cos\nsystem\n", struct.pack("<Q", 2**40)])
        over, into = data[:i] + piece + data[i + len(piece) :], data[:i] + piece + data[i:]
        cut = data[:i] + data[min(j, i + 8) :], data[:j] + data[i:j] + data[j:], data[:i]
        data = rng.choice([over, over, over, into, *cut])
    return gzip.compress(data) if rng.random() < 0.1 else data


SOLVED = {
    "tsp": {"coords": [[0, 0], [3, 4], [0, 4]]},
    "knapsack": {"values": [1, 2, 3], "weights": [1, 1, 1], "capacity": 2},
    "bin": {"weights": [0.5, 0.5, 1]},
    "rosenbrock": {"a": 1, "b": 1, "dim": 3},
}


def check(data: bytes, suffix: str) -> None:
    """Read bytes as every thing they might be; what can be read can be written and measured."""
    begin = time.perf_counter()
    for name in (None, *builtin_names()):
        try:
            source = decode(data, "f", suffix)
            for problem, instance in read_instances(source, find_problem(name) if name else None):
                usable(problem, instance)
        except NsaError as error:
            one_line(error)
    for name, record in SOLVED.items():
        problem = find_problem(name)
        try:
            instance = problem.from_record(record)
            assert instance.violation(read_solution(decode(data, "f", suffix), problem, instance)) is None
        except NsaError as error:
            one_line(error)
    assert time.perf_counter() - begin < PATIENCE, data[:200]


def usable(problem, instance) -> None:
    """An instance that was read is finite and can be written and read again."""
    if instance.size > 10_000:
        return
    if problem.name != "rosenbrock":
        solution = np.zeros(instance.size, dtype=bool) if problem.sense == "max" else np.arange(instance.size)
        assert np.isfinite(float(instance.objective(solution)))
        assert instance.violation(solution) is None
        assert instance.from_ids(instance.to_ids(solution)).tolist() == solution.tolist()
    assert all("\n" not in remark for remark in instance.remarks())
    for fmt in instance_formats(problem):
        try:
            text = write_instances(problem, [instance], fmt)
            back = read_instances(decode(text.encode(), "f", f".{fmt}"), problem)
        except NsaError as error:
            one_line(error)
            assert fmt not in ("json", "jsonl")
        else:
            assert fmt in ("csv", "tsplib") or back[0][1].record() == instance.record()


def one_line(error: NsaError) -> None:
    """A message is one line of moderate length that a terminal can show."""
    message = str(error)
    assert message
    assert len(message) < 1000
    assert message.isprintable(), message
    message.encode()


def mutants(count: int, seed: int) -> Iterator[tuple[bytes, str]]:
    rng = random.Random(seed)
    for i in range(count):
        at = i % (len(VALID) + len(BINARY))
        if at < len(VALID):
            text, suffix = VALID[at]
            yield mutated(text, rng), rng.choice([suffix, suffix, "", ".csv"])
        else:
            yield damaged(BINARY[at - len(VALID)], rng), ""


@pytest.mark.parametrize(("text", "suffix"), VALID)
def test_what_is_mutated_was_valid(text: str, suffix: str) -> None:
    """The files that are changed are read without an error before they are."""
    if "solution" in text or suffix == ".tour" or text == "[1, 2, 3]":
        return
    settings = {"capacity": 9} if suffix == ".csv" and "capacity" not in text else {}
    assert read_instances(decode(text.encode(), "f", suffix), None, settings)


@pytest.mark.parametrize("data", BINARY)
def test_what_is_damaged_was_whole(data: bytes) -> None:
    """The data sets that are changed hold instances before they are, or no problem's."""
    if b"text" in data:
        with pytest.raises(NsaError):
            read_instances(decode(data, "f", ""))
    else:
        assert read_instances(decode(data, "f", ""))


def at_length(few: int, many: int) -> list[Any]:
    """Seeds and numbers of inputs: few among the quick tests, many in a study."""
    quick = [(seed, few) for seed in range(5)]
    return quick + [pytest.param(seed, many, marks=pytest.mark.study) for seed in range(100, 110)]


@pytest.mark.parametrize(("seed", "count"), at_length(400, 10_000))
def test_changed_files(seed: int, count: int) -> None:
    """A valid file with a few faults is read or refused in one line."""
    for data, suffix in mutants(count, seed):
        check(data, suffix)


#: Valid sets of files, by their names.
SETS = [
    {"q_c.txt": "10\n", "q_w.txt": "6\n5\n4\n", "q_p.txt": "3.5\n2\n2.5\n", "q_s.txt": "1\n0\n1\n"},
    {"q_c.txt": "10\n", "q_w.txt": "6\n5\n4\n", "q_s.txt": "1\n2\n1\n"},
    {"items.csv": "ID,X,COPIES\n0,6,1\n1,5,2\n", "bins.csv": "ID,X,COST,COPIES\n0,10,-1,-1\n"},
]


@pytest.mark.parametrize(("seed", "count"), at_length(60, 2000))
def test_changed_sets_of_files(seed: int, count: int, tmp_path: Path) -> None:
    """Instances in several files, some of them changed or gone, read from any of them."""
    rng = random.Random(seed)
    for i in range(count):
        files = SETS[i % len(SETS)]
        for old in tmp_path.iterdir():
            old.unlink()
        for name, text in files.items():
            data = mutated(text, rng) if rng.random() < 0.4 else text.encode()
            if rng.random() < 0.95:
                (tmp_path / name).write_bytes(data)
        try:
            for task in nsa.read(tmp_path / rng.choice(list(files)), rng.choice([None, "bin", "knapsack"])):
                usable(task.problem, task.instance)
        except NsaError as error:
            one_line(error)


TOKENS = st.one_of(
    st.sampled_from(PIECES),
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(repr),
    st.text(max_size=5),
    st.sampled_from([" ", "\n", ",", ";", ": "]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TOKENS, max_size=30), st.sampled_from(["", ".tsp", ".csv", ".json", ".bpp", ".tour"]))
def test_heaps_of_tokens(tokens: list[str], suffix: str) -> None:
    """Tokens without any order are read or refused in one line."""
    check(" ".join(tokens).encode("utf-8", "surrogatepass"), suffix)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda children: st.one_of(
        st.lists(children, max_size=4),
        st.dictionaries(st.sampled_from(KEYS.split()), children, max_size=5),
    ),
    max_leaves=15,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
@example([[[]], None])
def test_any_json(value: object) -> None:
    """Any JSON value, with our keys in any place, is read or refused in one line."""
    check(json.dumps(value).encode(), ".json")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["", ".tsp", ".gz", ".json", ".csv"]))
def test_any_bytes(data: bytes, suffix: str) -> None:
    """Any bytes are read or refused in one line."""
    check(data, suffix)
    check(b"\x1f\x8b" + data, suffix)
    check(b"\xff\xfe" + data, suffix)
