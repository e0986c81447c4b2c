"""From a file to instances and back, whatever it holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsa_cli.core.errors import InputError, NsaError, UsageError
from nsa_cli.core.instance import Instance
from nsa_cli.io.source import decode, read_source
from nsa_cli.problems import all_problems, builtin_names, find_problem
from nsa_cli.problems.files import instance_formats, read_instances, read_solution, write_instances

EXAMPLES = Path(__file__).parents[2] / "examples"


def read(
    text: str, suffix: str = "", problem: str | None = None, **settings: Any
) -> list[tuple[str, Instance]]:
    found = read_instances(
        decode(text.encode(), f"f{suffix}", suffix), find_problem(problem) if problem else None, settings
    )
    return [(owner.name, instance) for owner, instance in found]


@pytest.mark.parametrize(
    ("text", "suffix", "problem"),
    [
        ('{"coords": [[0, 0], [1, 1]]}', ".json", "tsp"),
        ('{"matrix": [[0, 1], [1, 0]]}', ".txt", "tsp"),
        ('{"values": [1], "weights": [1], "capacity": 1}', "", "knapsack"),
        ('{"weights": [1]}', "", "bin"),
        ('{"sizes": [1], "capacity": 2}', "", "bin"),
        ('{"a": 1, "b": 100}', "", "rosenbrock"),
        ('{"problem": "bin", "weights": [1], "values": [1]}', "", "bin"),
        ("x,y\n0,0\n1,1\n", ".csv", "tsp"),
        ("id;Y;X\n1;0,5;0\n2;1;1\n", "", "tsp"),
        ("# capacity = 3\nname,weight,value\na,1,2\n", ".csv", "knapsack"),
        ("weight\n0.5\n0.25\n", "", "bin"),
        ("2 5\n1 2\n3 4\n", ".txt", "knapsack"),
        ("2\n5\n3\n4\n", ".txt", "bin"),
        ("2\n1 5 3\n2 4 1\n5\n", ".txt", "knapsack"),
        ("1\nx\n5 1 1\n3\n", ".txt", "bin"),
        ("TYPE: TSP\nDIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n", ".txt", "tsp"),
    ],
)
def test_problems_are_recognised(text: str, suffix: str, problem: str) -> None:
    """A file tells by its keys, its header or its shape what it holds."""
    ((found, _),) = read(text, suffix)
    assert found == problem


def test_a_known_ending_asks_no_other_problem() -> None:
    """A TSPLIB file goes straight to its reader: the packages of other problems are not imported."""
    code = f"import sys, nsa_cli; nsa_cli.read({str(EXAMPLES / 'capitals.tsp')!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {f"nsa_cli.problems.{name}" for name in builtin_names()}
    assert packages & set(done.stdout.split()) == {"nsa_cli.problems.tsp"}


@pytest.mark.parametrize(
    ("text", "suffix", "problem", "objective"),
    [
        ("0,0\n3,4\n", ".csv", "tsp", 10.0),  # there and back
        ("2;3\n4;5\n", ".csv", "knapsack", 6),  # both: 2 + 4, weight 8
        ("2\n4\n5\n", ".csv", "bin", 3),  # three items, not two of capacity 4
        ("2\t3\n4\t5\n", ".tsv", "knapsack", 6),  # two items, not one header
    ],
)
def test_tables_without_a_header_need_the_problem(
    text: str, suffix: str, problem: str, objective: float
) -> None:
    """Numbers alone are read in the order of the contract once the problem is named."""
    ((_, instance),) = read(text, suffix, problem, **({} if problem == "tsp" else {"capacity": 8}))
    solution = {"tsp": [1, 2], "knapsack": [1, 2], "bin": [[i] for i in range(1, instance.size + 1)]}[problem]
    assert instance.objective(instance.from_ids(solution)) == objective
    expected = (
        r"^f\.[ct]sv:1: cannot tell the problem: .*, got a table separated by .* no header; use problem$"
    )
    with pytest.raises(InputError, match=expected):
        read(text, suffix)


@pytest.mark.parametrize(
    ("text", "suffix", "line", "message"),
    [
        ('{"problem": "sat"}', "", 1, "problem: expected one of bin, knapsack, rosenbrock, tsp, got 'sat'"),
        ('{\n"problem":\n3}', "", 3, "problem: expected one of bin, knapsack, rosenbrock, tsp, got 3"),
        ('[{"weights": [1]},\n{"heights": [1]}]', "", 2, "cannot tell the problem"),
        ("\nheight,width\n1,2\n", ".csv", 2, "'height' is not understood, and an answer may depend on it"),
        ("once upon a time\n", "", None, "is no instance: expected JSON, a table with a header, or a text"),
        ("17\n", "", None, "is no instance"),
        ("once upon a time\n", ".tsp", 1, "there is no TSPLIB keyword 'once'"),
        ('{"weights": [\n1,\n2]}', "", 2 + 1, "item 2 does not fit any bin: weight 2 > capacity 1"),
        ('{"sizes": [\n1,\n2]}', "", 3, "item 2 does not fit any bin: weight 2 > capacity 1"),
        ('{"weights": [\n1,\n-2]}', "", 3, "weights, element 2: expected a number >= 0, got -2"),
        ('{"weights": [\n1,\n"2"\n]}', "", 3, "weights, element 2: expected a number, got '2'"),
        ('{"weights": [\n1,\n1e400]}', "", 3, "weights, element 2: expected a finite number, got inf"),
        ('{"weights": [1],\n"capacity": [1, 2]}', "", 2, "capacity: expected a number, got [1, 2]"),
        ('{"weights": [1],\n\n"best_known": true}', "", 3, "best_known: expected a number, got True"),
        ('{"coords": [[0, 0],\n[1, 2, 3]]}', "", 2, "coords, element 2: expected 2 numbers, got 3"),
        ('{"coords": [[0, 0],\n[1,\nnull]]}', "", 2, "coords, element 2: expected a number, got None"),
        ('{"coords": [[0, 0],\n5]}', "", 2, "coords, element 2: expected 2 numbers, got 5"),
        ('{"coords": []}', "", 1, "expected either coords or matrix, got neither"),
        ('{"symmetric": true, "matrix": [[0, 1],\n[2, 0]]}', "", 1, "matrix is not symmetric: entry (1, 2)"),
        ('{"matrix": [[0, 1],\n[1]]}', "", 2, "matrix, element 2: expected 2 numbers, got 1"),
        ('{"coords": [[0, 0]],\n"edge_weight_type": "XRAY1"}', "", 2, "edge_weight_type: expected EXPLICIT"),
        ('{"coords": [[0, 0]], "matrix": [[0]]}', "", 1, "expected either coords or matrix, got both"),
        ('{"coords": [[0, 0], [1, 1]],\n"ids": [1,\n1]}', "", 3, "ids, element 2: city 1 occurs twice"),
        ('{"problem": "tsp", "x": [1, 2],\n"y": [1,\n"b"]}', "", 3, "y, element 2: expected a number, got"),
        ('{"problem": "tsp", "x": [1, 2],\n"y": [1]}', "", 2, "y: expected 2 numbers as in x, got 1"),
        ('{"a": 1, "b": -1}', "", 1, "b: expected a number >= 0, got -1"),
        ('{"a": 1, "b": 1,\n"x0": [1, "z"]}', "", 2, "x0, element 2: expected a number, got 'z'"),
        ('{"a": 1, "b": 1,\n"dim": 1}', "", 2, "dim: expected 2 to 1000000, got 1"),
        ("# capacity = ten\nvalue,weight\n1,2\n", ".csv", 1, "capacity: expected a number, got 'ten'"),
        ("value,weight\n1,2\n", ".csv", None, "capacity is missing"),
        ("weight\n0.5\n-1\n", ".csv", 3, "weights, element 2: expected a number >= 0, got -1"),
        ("name,weight\na,0.5\nb,1.5\n", ".csv", 3, "item 'b' does not fit any bin: weight 1.5 > capacity 1"),
        ("x,y,id\n1,2,a\n3,4,a\n", ".csv", 3, "ids, element 2: city 'a' occurs twice"),
    ],
)
def test_faults_have_lines(text: str, suffix: str, line: int | None, message: str) -> None:
    """Whatever is wrong, the message names the line, what was expected and what was found."""
    with pytest.raises(InputError) as caught:
        read(text, suffix)
    assert (caught.value.line, caught.value.message[: len(message)]) == (line, message)
    assert "\n" not in str(caught.value)


def test_a_claim_against_the_users_is_refused() -> None:
    """A file that says what it holds is not read as something else."""
    with pytest.raises(InputError, match=r"^f:2: expected an instance of tsp, got one of 'bin'$"):
        read('{"weights": [1],\n"problem": "bin"}', problem="tsp")


def test_what_the_user_says_wins() -> None:
    """Settings replace what the file says, and a fault in them has no line in it."""
    ((_, instance),) = read('{"weights": [1, 2],\n"capacity": 1}', capacity=2, name="n")
    assert (instance.record()["capacity"], instance.name) == (2, "n")
    with pytest.raises(InputError, match=r"^f: capacity: expected a number >= 0, got -1$"):
        read('{"weights": [1, 2],\n"capacity": 1}', capacity=-1)
    with pytest.raises(InputError, match=r"^f\.csv: weights, element 9: expected a number, got 'x'$"):
        read("weight\n0.5\n", ".csv", weights=[0] * 8 + ["x"])


def test_remarks_above_a_table_are_not_data() -> None:
    """A remark with a colon in it is no setting of the problem."""
    text = "# problem: the hard one\n# coords: real\n# weights: 3\n# capacity: 3\nvalue,weight\n1,2\n"
    ((problem, instance),) = read(text, ".csv")
    assert (problem, instance.record()["capacity"]) == ("knapsack", 3)


@pytest.mark.parametrize("depth", [50, 500, 900, 950, 980, 990, 995])
def test_deep_nesting_is_an_error_of_the_input(depth: int) -> None:
    """Lists in lists are refused in one line, however deep."""
    with pytest.raises(NsaError) as caught:
        read('{"weights": ' + "[" * depth + "]" * depth + "}")
    assert "\n" not in str(caught.value)


# --- writing ---------------------------------------------------------------------------------------

RECORDS: dict[str, list[dict[str, Any]]] = {
    "tsp": [
        {"coords": [[0.1 + 0.2, 1 / 3], [5e-324, 1e149]], "name": "two words"},
        {"coords": [[1, 2], [3, 4]], "edge_weight_type": "EUC_2D", "best_known": 6, "ids": [0, 9]},
        {"coords": [[48.51, 2.21], [1.5, -3]], "edge_weight_type": "GEO"},
    ],
    "knapsack": [
        {"values": [2**62, 3], "weights": [2**53 + 1, 0], "capacity": 2**60, "best_known": 5},
        {"values": [0.1 + 0.2, 1e-300], "weights": [1 / 3, 5], "capacity": 2 / 3, "name": "007"},
        {"values": [1, 2], "weights": [3, 4], "capacity": 5.5, "names": ["#1", 'a;"b", c']},
    ],
    "bin": [
        {"weights": [0.1, 1 / 3], "capacity": 1, "name": "1e3"},
        {"weights": [5, 4, 3], "capacity": 7.25, "names": [3, 1, 2], "best_known": 2},
    ],
    "rosenbrock": [{"a": 0.1 + 0.2, "b": 100, "x0": [1e-300, 1 / 3, 2]}],
}
CASES = [
    (name, fmt, i)
    for name in RECORDS
    for fmt in instance_formats(find_problem(name))
    for i in range(len(RECORDS[name]))
]


@pytest.mark.parametrize(("name", "fmt", "index"), CASES)
def test_what_is_written_reads_back(name: str, fmt: str, index: int, tmp_path: Path) -> None:
    """Every format keeps every digit, id and setting that it can hold."""
    problem = find_problem(name)
    instance = problem.from_record(RECORDS[name][index])
    if fmt == "tsplib":
        instance = problem.from_record({k: v for k, v in RECORDS[name][index].items() if k != "best_known"})
    path = tmp_path / f"f.{fmt}"
    path.write_text(write_instances(problem, [instance], fmt))
    ((found, back),) = read_instances(read_source(path))
    assert (found.name, back.record()) == (name, instance.record())


@pytest.mark.parametrize("name", builtin_names())
@pytest.mark.parametrize("fmt", ["json", "jsonl"])
def test_several_instances_keep_their_order(name: str, fmt: str) -> None:
    """Lists and lines hold any number of instances."""
    problem = find_problem(name)
    rng = np.random.default_rng(0)
    instances = [problem.generate(5, rng, f"i{k}") for k in range(3)]
    text = write_instances(problem, instances, fmt)
    assert [i.record() for _, i in read(text)] == [i.record() for i in instances]
    assert fmt == "jsonl" or len(json.loads(text)) == 3


def test_what_a_format_cannot_hold_is_refused() -> None:
    """Unknown formats, several instances in a table, and matrices in a table are usage errors."""
    tsp = find_problem("tsp")
    matrix = tsp.from_record({"matrix": [[0, 1], [1, 0]]})
    with pytest.raises(UsageError, match="expected one of json, jsonl, csv, tsplib for tsp, got 'xml'"):
        write_instances(tsp, [matrix], "xml")
    with pytest.raises(UsageError, match="csv holds one instance, got 2"):
        write_instances(tsp, [matrix, matrix], "csv")
    with pytest.raises(UsageError, match="a table holds cities with coordinates only"):
        write_instances(tsp, [matrix], "csv")


# --- solutions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "record", "ids"),
    [
        ("tsp", {"coords": [[0, 0], [3, 4], [0, 4]], "ids": ["a", "b", "c"]}, ["c", "a", "b"]),
        ("knapsack", {"values": [1, 2], "weights": [1, 1], "capacity": 1}, [2]),
        ("bin", {"weights": [0.5, 0.5, 1]}, [[1, 2], [3]]),
        ("rosenbrock", {"a": 1, "b": 1}, [0.5, 0.25]),
    ],
)
@pytest.mark.parametrize("shape", ['{{"objective": 1, "solution": {}}}', "{}", "\n {}\n"])
def test_solutions_in_json(name: str, record: dict[str, Any], ids: list[Any], shape: str) -> None:
    """A result of ours or a bare list of ids is read back as the solution it was."""
    problem = find_problem(name)
    instance = problem.from_record(record)
    solution = read_solution(decode(shape.format(json.dumps(ids)).encode(), "s", ""), problem, instance)
    assert instance.to_ids(solution) == ids


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"objective": 3}', "s: expected a list under the key 'solution'"),
        ('{"solution": 3}', "s: expected a list under the key 'solution'"),
        ("[1, 2]", "s: is not feasible: weight 2 exceeds the capacity 1"),
        ("[2, 2]", "s: item 2 occurs twice in the solution"),
        ("[3]", "s: there is no item 3 in the instance, which has 1 to 2"),
        ("[true]", "s: there is no item True in the instance, which has 1 to 2"),
        ("[1, 1]", "s: is not feasible: weight 2 exceeds the capacity 1"),
        ("[1,\n2", "s:2: not valid JSON: Expecting ',' delimiter"),
        ("1 2", "s: is not feasible: weight 2 exceeds the capacity 1"),
    ],
)
def test_solutions_refused(text: str, message: str) -> None:
    """What is no feasible solution says why."""
    problem = find_problem("knapsack")
    instance = problem.from_record({"values": [1, 2], "weights": [1, 1], "capacity": 1})
    with pytest.raises(InputError) as caught:
        read_solution(decode(text.encode(), "s", ""), problem, instance)
    assert str(caught.value) == message


def test_every_problem_is_tested() -> None:
    """A new problem needs records here."""
    assert {problem.name for problem in all_problems()} == set(RECORDS)
