"""Reading takes a time that grows with the length of a file, whatever is in it: two seconds a megabyte."""

import contextlib
import json
import time

import numpy as np
import pytest

from nsa_cli.core.errors import NsaError
from nsa_cli.io.source import decode
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.files import read_each, read_instances, read_records, read_solution

#: Bytes of a text, and seconds that one reader may take for it of the processor.
LENGTH, PATIENCE = 200_000, 3.0

#: Between bars: pieces of every format.
TOKENS = [
    *("\n", "  ", "[", "{", "[],", "{},", '"', '"a":', '{"a":', ",", ";", "\t", "#", "# a\n", "1 ", "-1\n"),
    *("0.1,", "1e5 ", "1 2\n", "a,b\n", "a ", ":", "-", ".", "\\u0041", "TYPE", "TYPE   ", "TYPE :\n"),
    *("TYPE : TOUR\n", "TOUR_SECTION\n", "NODE_COORD_SECTION\n", "EOF\n", "DIMENSION : 3\n", "output "),
    *("=", "sep=;\n", "1;2\n", '"a""b",', "é", "()", "(kg)", "x,y\n", "value,weight\n", "bin,item\n1,2\n"),
    *("- ", "a=1 ", "# capacity = 3\n", "\x0b", "\f", "1", "9"),
]

BEGINNINGS = (b"", b"[", b'{"weights": [', b"1 2\n", b"TYPE : TSP\nDIMENSION : 3\n")


def seconds_of(read, data, suffix, *arguments):
    """Seconds to read bytes, or to refuse them."""
    begin = time.process_time()
    with contextlib.suppress(NsaError):
        read(decode(data, "f", suffix), *arguments)
    return time.process_time() - begin


@pytest.mark.parametrize(
    "token",
    [*TOKENS[::7], *(pytest.param(token, marks=pytest.mark.slow) for i, token in enumerate(TOKENS) if i % 7)],
)
def test_repeated_pieces(token):
    """Read as instances, and as a solution."""
    problem = find_problem("tsp")
    instance = problem.from_record({"coords": [[0, 0], [3, 4], [0, 4]]})
    text = (token * (LENGTH // len(token) + 1))[:LENGTH].encode()
    for begin in BEGINNINGS:
        for suffix in (".json", ".csv", ""):
            assert seconds_of(read_instances, begin + text, suffix) < PATIENCE
        assert seconds_of(read_solution, begin + text, "", problem, instance) < PATIENCE


@pytest.mark.parametrize("name", builtin_names())
@pytest.mark.parametrize("text", ["\n" * 60_000 + "1", " " * 60_000 + "1", "TYPE" + " " * 60_000 + "x"])
def test_blanks_are_looked_at_once(name, text):
    """A regular expression that tries every beginning and every end takes forty seconds for these."""
    problem = find_problem(name)
    instance = problem.samples(np.random.default_rng(0))[0]
    assert seconds_of(read_solution, text.encode(), "", problem, instance) < 1.0


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    "record",
    [{"values": [1, 2], "weights": [1, -2], "capacity": 3}, {"weights": [-1]}, {"coords": [[1]]}],
)
def test_many_bad_records(lines, record):
    """The place of each is found without reading the others again."""
    pieces = [json.dumps(record) + " " * 100] * 8000
    text = "\n".join(pieces) if lines else "[" + ",\n".join(pieces) + "]"
    begin = time.process_time()
    found = read_each(read_records(decode(text.encode(), "f", ".json")))
    assert [error.line for _, error in found] == list(range(1, 8001))
    assert time.process_time() - begin < 2 * PATIENCE


def test_a_table_of_many_bins():
    """A solution with as many groups as rows."""
    problem = find_problem("bin")
    instance = problem.from_record({"weights": [1] * 20_000, "capacity": 1})
    text = "bin,item,weight\n" + "".join(f"{i},{i},1\n" for i in range(1, 20_001))
    begin = time.process_time()
    solution = read_solution(decode(text.encode(), "f", ".csv"), problem, instance)
    assert instance.objective(solution) == 20_000
    assert time.process_time() - begin < PATIENCE


WORDS = {f"k{i}": 1 for i in range(30_000)}


@pytest.mark.parametrize("text", [json.dumps(WORDS), json.dumps([{"x": 1, "y": 2} | WORDS]), ",".join(WORDS)])
def test_many_strange_words(text):
    """The nearest ones are looked for a few of them only, and each is compared with the others once."""
    suffix = ".json" if text.startswith(("{", "[")) else ".csv"
    assert seconds_of(read_instances, text.encode(), suffix) < PATIENCE
