"""`nsa solve` as a user meets it."""

import json
import re

import numpy as np
import pytest

from nsa_cli.problems.tsp.instance import TspInstance

from helpers import KEYS, QUICK


def test_the_result_has_the_keys_of_the_contract(nsa, square):
    """All of them, in one strict JSON document."""
    done = nsa("solve", square, "--seed", 1, *QUICK)
    assert (done.code, done.err) == (0, "")
    result = done.json
    assert set(result) >= KEYS
    assert (result["problem"], result["name"], result["n"]) == ("tsp", "square", 4)
    assert (result["status"], result["stop_reason"]) == ("optimal", "optimal")
    assert (result["objective"], result["distance"]) == (140, "EUC_2D (rounded)")
    assert (result["gap"], result["best_known"]) == (0.0, None)
    assert isinstance(result["objective"], int)
    assert sorted(result["solution"]) == [1, 2, 3, 4]
    assert (result["bound"]["value"], result["bound"]["method"]) == (140, "enumeration")
    assert set(result["seconds"]) == {"load", "setup", "solve", "bound", "total"}


def test_the_same_seed_gives_the_same_answer_whatever_else_is_asked(nsa, tmp_path):
    """Log level and threads change nothing; another seed does; a drawn seed is told."""
    path = tmp_path / "cities.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(0).random((40, 2)).tolist()}))
    quick = ("solve", path, "--steps", 300, "--init", "random")
    first, *others, drawn = (
        nsa(*quick, *more).json
        for more in (("--seed", 1), ("--seed", 1, "-v"), ("--seed", 1, "--threads", 2), ())
    )
    for again in others:
        assert (again["solution"], again["objective"]) == (first["solution"], first["objective"])
    assert drawn["solution"] != first["solution"]
    assert nsa(*quick, "--seed", drawn["seed"]).json["solution"] == drawn["solution"]


@pytest.mark.parametrize(
    ("fmt", "suffix", "beginning"),
    [
        ("json", "json", "{\n"),
        ("jsonl", "jsonl", '{"problem"'),
        ("table", "txt", "problem    tsp\n"),
        ("csv", "csv", "position,id,length_to_next,length_so_far\n"),
        ("tour", "tour", "NAME : square.tour\nCOMMENT : Length = 140\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SE"),
    ],
)
def test_every_format_is_written(nsa, square, tmp_path, fmt, suffix, beginning):
    """On stdout, alone, or to a file whose name tells the format."""
    done = nsa("solve", square, "--format", fmt, *QUICK)
    assert (done.code, done.out[-1]) == (0, "\n")
    assert done.out.startswith(beginning)
    output = tmp_path / f"x.{suffix}"
    done = nsa("solve", square, "-o", output, *QUICK)
    assert (done.code, done.out) == (0, "")
    assert output.read_text().startswith(beginning)


GPX = """<gpx xmlns="http://www.topografix.com/GPX/1/1">
<wpt lat="0" lon="0"><name>Home</name></wpt><wpt lat="0" lon="1"><name>Shop</name></wpt>
<wpt lat="1" lon="1"><name>Pub</name></wpt><wpt lat="1" lon="0"/>
</gpx>
"""


@pytest.mark.parametrize("fmt", ["gpx", "geojson"])
def test_places_become_a_tour_for_maps(nsa, square, tmp_path, fmt):
    """Which can be checked; a plane is refused before anything is computed."""
    places, tour = tmp_path / "stops.gpx", tmp_path / f"tour.{fmt}"
    places.write_text(GPX)
    assert nsa("solve", places, "-o", tour, *QUICK).code == 0
    assert nsa("solve", places, "--format", fmt, *QUICK).out == tour.read_text()
    assert "feasible   yes" in nsa("check", places, tour).out
    done = nsa("solve", square, "-o", tmp_path / f"x.{fmt}", *QUICK)
    assert (done.code, "latitude and longitude, which these cities lack" in done.err) == (2, True)


def test_a_written_answer_starts_the_next_run(nsa, square, tmp_path):
    """As a tour and as a result in JSON."""
    for name in ("x.tour", "x.json"):
        assert nsa("solve", square, "-o", tmp_path / name, *QUICK).code == 0
        result = nsa("solve", square, "--init", tmp_path / name, "--steps", 0).json
        assert (result["objective"], result["start"]) == (140, "given")


STARTS = {
    "tsp": ({"coords": [[0, 0], [3, 4], [0, 4], [3, 0]]}, [1, 2, 3, 4], "[1, 2, 2, 4]", "city 2"),
    "knapsack": ({"values": [6, 10, 12], "weights": [1, 2, 3], "capacity": 5}, [1, 2], "[1, 7]", "item 7"),
    "bin": ({"weights": [4, 8, 1, 4], "capacity": 10}, [[1, 3, 4], [2]], "[[1, 2, 3], [4]]", "bin 1"),
    "rosenbrock": ({"a": 1, "b": 100}, [1.0, 1.01], "[1.0]", "coordinates"),
}


@pytest.mark.parametrize("name", list(STARTS))
def test_a_start_from_a_file_is_never_made_worse_and_a_broken_one_is_refused(nsa, tmp_path, name):
    """For every problem, at a temperature that accepts everything; the message names the element."""
    data, start, broken, word = STARTS[name]
    path, file = tmp_path / "instance.json", tmp_path / "start.json"
    path.write_text(json.dumps(data))
    file.write_text(json.dumps(start))
    options = ("--init", file, "--seed", 1, "--no-bound")
    first = nsa("solve", path, *options, "--steps", 0).json
    assert first["solution"] == start
    hot = nsa("solve", path, *options, "--steps", 50, "--t-start", 1e6, "--t-end", 1e6, "--chains", 1).json
    sign = 1 if hot["sense"] == "min" else -1
    assert sign * hot["objective"] <= sign * first["objective"]
    file.write_text(broken)
    refused = nsa("solve", path, *options)
    assert refused.code == 2
    assert word in refused.err
    assert str(file) in refused.err


def test_missing_data_are_given_by_options(nsa, tmp_path):
    """A capacity beside a table; parameters beside a problem's name."""
    table = tmp_path / "items.csv"
    table.write_text("weight,value\n4,8\n5,10\n8,15\n3,4\n")
    result = nsa("solve", table, "--capacity", 11).json
    assert (result["objective"], result["solution"]) == (19, [3, 4])
    refused = nsa("solve", table, "--problem", "knapsack")
    assert (refused.code, "--capacity" in refused.err) == (2, True)
    valley = nsa("solve", "rosenbrock", "--set", "a=2", "--set", "b=1", "--seed", 1).json
    assert valley["a"] == 2
    assert valley["solution"] == pytest.approx([2, 4], abs=0.1)
    typo = nsa("solve", table, "--capacity", 11, "--set", "capcity=11")
    assert (typo.code, "capcity" in typo.err) == (2, True)


BAD = {
    "no such file": (None, "no such file"),
    "blank": (b" \n\n", "is empty"),
    "binary": (b"\x00\x01\x02", "is binary"),
    "prose": (b"Dear sir,\nplease find a tour.\n", "is no instance|cannot tell|cells"),
    "broken json": (b'{"weights": [1,\n 2', ":2: not valid JSON"),
    "oversize item": (b'{"capacity": 3,\n "weights": [1,\n 2,\n 5]}', ":4: item 3 .* 5 > capacity 3"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input_is_one_line_with_the_place(nsa, tmp_path, case):
    """Exit code 2, file and line on stderr, nothing on stdout, no output file; one that is there stays."""
    content, pattern = BAD[case]
    path, output = tmp_path / "bad.txt", tmp_path / "out.json"
    if content is not None:
        path.write_bytes(content)
    done = nsa("solve", path, "-o", output)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert str(path) in done.err
    assert re.search(pattern, done.err), done.err
    assert not output.exists()
    output.write_text("precious")
    assert nsa("solve", path, "-o", output).code == 2
    assert output.read_text() == "precious"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--policy", "nonsense"], "nonsense"),
        (["--greedy", "--policy", "uniform"], "--greedy"),
        (["--t-start", "0"], "geometric"),
        (["--init", "nonsense"], "nonsense"),
        (["--problem", "nonsense"], "nonsense"),
        (["--problem", "knapsack"], "square.tsp"),
        (["--format", "xml"], "xml"),
        (["--set", "x"], "KEY=VALUE"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_options_are_one_line(nsa, square, options, word):
    """Exit code 2, the option's name or the value on stderr, nothing on stdout."""
    done = nsa("solve", square, *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search(word, done.err), done.err


def test_internal_faults_are_one_line_and_code_1(nsa, square, monkeypatch):
    """Even a fault of ours is no traceback for the user."""

    def broken(self, solution):
        raise RuntimeError("broken\nin two lines")

    monkeypatch.setattr(TspInstance, "objective", broken)
    done = nsa("solve", square, *QUICK)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "RuntimeError" in done.err


def test_help_version_and_wrong_commands(nsa):
    """Help and version on stdout; a wrong command is one line."""
    assert "Usage" in nsa("--help").out
    assert nsa().out == nsa("--help").out
    assert re.search(r"--init .*greedy, random", " ".join(nsa("solve", "--help").out.split()))
    assert nsa("--version").out.startswith("nsa ")
    wrong = nsa("nonsense")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)


def test_warnings_do_not_reach_stdout(nsa, square):
    """Coordinates too small for a rounding type: an answer, and a word on stderr."""
    square.write_text(square.read_text().replace("30", ".1").replace("40", ".1"))
    done = nsa("solve", square, *QUICK)
    assert done.json["objective"] == 0
    assert "warning" in done.err
    assert nsa("solve", square, "-q", *QUICK).err == ""
