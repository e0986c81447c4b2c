"""What a person is shown: six digits with the unit, names as they are, a tour as stops."""

import json

import pytest

import nsa_cli as nsa_python
from nsa_cli.core.words import quoted, readable

from helpers import QUICK

PLACES = 'place,lat,lon\n"Depot, main",48.5,9\nKöln,50.9375,6.9603\nB|C,49.25,8.5\n'


@pytest.fixture
def places(tmp_path):
    path = tmp_path / "round.v2.csv"
    path.write_text(PLACES)
    return path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((13570, "13570"), (10**17 + 1, "100000000000000001"), (5.0, "5"), (1573.2273, "1573.23")),
        *((1234567.8, "1234568"), (0.1 + 0.2, "0.3"), (1e200, "1e+200"), (4.25e-5, "4.25e-05")),
        *((-2.5, "-2.5"), (True, "yes"), (False, "no"), ("Oslo", "Oslo"), (float("inf"), "inf")),
    ],
)
def test_numbers_for_a_person(value, text):
    """Whole ones in full, others to six digits; no words of Python."""
    assert readable(value) == text


def test_a_list_of_names_can_be_told_apart():
    """As in a table: quotes where a name has a comma, a bar, or quotes."""
    assert quoted(["a b", "c, d", 'e"f', "g|h"]) == 'a b, "c, d", "e""f", "g|h"'


def test_a_table_has_units_plain_words_and_the_files_name(nsa, places, tmp_path):
    """And JSON every digit; the list of the table is read again."""
    done = nsa("solve", places, "--format", "table", *QUICK)
    rows = {line.split(None, 1)[0]: line.split(None, 1)[1] for line in done.out.splitlines()}
    length = nsa("solve", places, *QUICK).json["objective"]
    assert rows["objective"] == f"{length:.6g} km (smaller is better)"
    assert rows["bound"].startswith(f"{length:.6g} km (")
    assert (rows["name"], rows["distance"]) == ("round.v2", "great circles, in km")
    assert set(rows["solution"].replace('"', "|").split("|")) >= {"Depot, main"}
    (tmp_path / "list.txt").write_text(rows["solution"])
    checked = nsa("check", places, tmp_path / "list.txt")
    assert (checked.code, f"objective  {length:.6g} km (" in checked.out) == (0, True)


def test_a_name_is_the_instances_own_or_the_files(nsa, places, tmp_path):
    """Of standard input, and of several in a file, there is none."""
    assert nsa("solve", "-", *QUICK, data=PLACES).json["name"] is None
    assert nsa_python.read(places)[0].instance.name == "round.v2"
    own = tmp_path / "a.json"
    own.write_text('{"name": "own", "weights": [1, 2], "capacity": 3}')
    assert nsa("solve", own, *QUICK).json["name"] == "own"
    own.write_text('{"weights": [1, 2], "capacity": 3}\n' * 2)
    assert [task.instance.name for task in nsa_python.read(own)] == [None, None]


@pytest.mark.parametrize("ends", [(), ("--open",)])
def test_a_tour_as_stops(nsa, places, tmp_path, ends):
    """A line a stop, its leg and the length so far; a closed one returns. CSV has as much."""
    result = nsa("solve", places, *ends, *QUICK).json
    path = tmp_path / "out.stops"
    assert nsa("solve", places, *ends, *QUICK, "-o", path).code == 0
    head, *lines = path.read_text().splitlines()
    assert head.split("  ")[0] == "position"
    assert head.split()[-4:] == ["leg", "(km)", "length", "(km)"]
    stops = result["solution"] + ([] if ends else result["solution"][:1])
    assert [line.split(None, 1)[1].rsplit(None, 2)[0] for line in lines] == stops
    assert [int(line.split()[0]) for line in lines] == list(range(1, len(stops) + 1))
    assert lines[-1].split()[-1] == f"{result['objective']:.6g}"
    assert nsa("check", places, path, *ends, "--format", "json").json["objective"] == result["objective"]
    table = nsa("solve", places, *ends, *QUICK, "--format", "csv").out.splitlines()
    legs, so_far = zip(*(row.rsplit(",", 2)[1:] for row in table[1:]), strict=True)
    assert so_far[0] == "0.0"
    assert float(so_far[-1]) + float(legs[-1] or 0) == pytest.approx(result["objective"])


def test_lengths_so_far_are_sums_of_decimals(nsa, tmp_path):
    """Not of the binary numbers next to them."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"matrix": [[0, 0.1, 9], [9, 0, 0.2], [0.3, 9, 0]]}))
    table = nsa("solve", path, "--from", 1, "--to", 3, "--format", "csv", *QUICK).out
    assert table.splitlines()[1:] == ["1,1,0.1,0.0", "2,2,0.2,0.1", "3,3,,0.3"]


def test_a_result_prints_as_on_a_terminal(places):
    """In Python."""
    text = str(nsa_python.solve(places, seed=1))
    assert text.startswith("problem    tsp\nname       round.v2\n")
    assert "km (smaller is better)" in text


def test_what_was_chosen_is_told_without_words_of_python(nsa, places):
    """The schedule by words, the settings as a configuration."""
    done = nsa("solve", places, "-v", "--set", "best_known=5", *QUICK)
    assert "; schedule: steps " in done.err
    assert '"set": {"best_known": 5}' in done.err
    assert "{'" not in done.err


def test_a_policy_is_called_what_the_user_called_it(nsa, places):
    """Not by the place that it was found in."""
    done = nsa("solve", places, "--policy", "bin-es-best")
    assert done.err == "nsa: error: bin-es-best: is a policy for 'bin', the instance is tsp\n"
