"""What strangers do: files a little beside every format, options that make no sense, outputs onto inputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

QUICK = ("--seed", 1, "--steps", 200, "--chains", 1)

RECTANGLE = (
    "DIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION{}\n1 0 0\n2 30 40\n3 0 40\n4 30 0{}\nEOF\n"
)


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def one_line(done, *words):
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert all(word in done.err for word in words), done.err


@pytest.mark.parametrize(
    "remarks", [("", " # the last one"), (" # id x y", ""), ("\n# a\n  # b 1 2 3", "\n#")]
)
def test_remarks_among_tsplib_data(nsa, tmp_path, remarks):
    """What follows a number sign is no coordinate."""
    path = written(tmp_path, "f.tsp", RECTANGLE.format(*remarks))
    assert nsa("solve", path, *QUICK).json["objective"] == 140


TEXTS = {
    "knapsack with remarks": ("# items\n3 50 # n C\n60 10\n100 20\n# best\n120 30\n", 220),
    "bins with remarks": ("# bins\n3\n10 # capacity\n6\n5\n4\n", 2),
    "bins, n and C in one line": ("5 10\n6\n5\n4\n4\n1\n", 2),
    "bins, C and n in one line": ("10 5\n6\n5\n4\n4\n1\n", 2),
    "a column of capacities": ("name,weight,capacity\na,.3,.5\nb,.3,.5\n", 2),
    "a note with a decimal comma": ("# capacity = 3,5\nname;value;weight\na;60,5;1,5\nb;100;2\n", 160.5),
    "decimal values": ('{"values": [0.1, 0.2, 0.7], "weights": [1, 1, 1], "capacity": 2}', 0.9),
    "a matrix of decimals": ('{"matrix": [[0, 0.1, 0.2], [0.1, 0, 0.3], [0.2, 0.3, 0]]}', 0.6),
}


@pytest.mark.parametrize("name", list(TEXTS))
def test_a_little_beside_the_formats(nsa, tmp_path, name):
    """What can mean one thing only is read, and decimals sum as on paper."""
    text, objective = TEXTS[name]
    path = written(tmp_path, "f.csv" if "name" in text else "f", text)
    assert nsa("solve", path, *QUICK).json["objective"] == objective


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"capacity": 5, "items": [{"value": 1, "weight": 1},\n{"value": "x", "weight": 1}]}', 2, "values"),
        ('{"capacity": 5, "items": [\n{"value": 1, "weight": 1},\n{"value": 2}]}', 3, "weights, element 2"),
        ('{"items": [{"value": 1, "weight": 1}]}', 1, "capacity is missing"),
        ('{"items": [{"colour": 1}]}', 1, "cannot tell the problem from the keys 'items'"),
        ('{"items": [{"value": 1, "profit": 2, "weight": 1}], "capacity": 1}', 1, "'value' and 'profit'"),
    ],
)
def test_faults_of_objects_have_lines(nsa, tmp_path, text, line, words):
    """The place is that of the object."""
    path = written(tmp_path, "f.json", text)
    one_line(nsa("solve", path), f"{path}:{line}: ", words)


@pytest.mark.parametrize("name", ["f.txt", "f.bpp", "f.tsp", "q_w.txt", "q_c.txt"])
def test_nothing_but_remarks(nsa, tmp_path, name):
    """Whatever the file is called, alone or in a set."""
    for part in ("q_c.txt", "q_w.txt", "q_p.txt"):
        written(tmp_path, part, "10\n")
    one_line(nsa("solve", written(tmp_path, name, "# 10\n# 5\n")), f"{tmp_path / name}")


def test_a_column_of_several_capacities_has_none(nsa, tmp_path):
    """Bins of several sizes are another problem."""
    path = written(tmp_path, "f.csv", "name,weight,capacity\na,3,10\nb,7,12\n")
    one_line(nsa("solve", path), f"{path}:3: capacity: expected '10' in all rows, got '12'")


def test_a_capacity_is_for_those_that_have_one(nsa, square, tmp_path):
    """Tours do not mind the capacity of what is solved beside them."""
    items = written(tmp_path, "k.csv", "value,weight\n1,1\n2,2\n")
    done = nsa("solve", square, items, "--capacity", 2, *QUICK)
    assert [json.loads(line)["objective"] for line in done.out.splitlines()] == [140, 2]


def test_more_than_the_machine_holds_is_not_tried(nsa, square, monkeypatch):
    """Linux would end the process, or another one."""
    monkeypatch.setattr("nsa_cli.core.machine.os.sysconf", lambda _: 2**15)  # pages of so many bytes
    for arguments in (("solve", square, "--chains", 10**7), ("generate", "bin", "-n", 9, "--count", 10**12)):
        done = nsa(*arguments)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "out of memory; give fewer chains, fewer instances" in done.err


@pytest.mark.parametrize("key", ["a", "b"])
def test_a_function_that_is_finite_nowhere(nsa, key):
    """Parameters whose squares are no numbers are refused."""
    one_line(nsa("solve", "rosenbrock", "--set", f"{key}=1e300"), f"{key}: expected a number of at most")


def test_a_file_without_a_name(nsa):
    """An empty variable of a script is no directory."""
    one_line(nsa("solve", ""), "'': expected the name of a file")


@pytest.mark.parametrize("option", ["-o", "--curve", "--plot"])
def test_an_instance_is_never_replaced(nsa, tmp_path, option):
    """Not by its answer, nor under another name."""
    path = written(tmp_path, "f.png", RECTANGLE.format("", ""))
    (tmp_path / "link.png").symlink_to(path)
    for output in (path, tmp_path / "link.png", tmp_path / "." / "f.png"):
        one_line(nsa("solve", path, option, output, *QUICK), f"{option} {output}: would replace a file")
    assert path.read_text() == RECTANGLE.format("", "")


def test_a_directory_of_answers_may_not_be_that_of_instances(nsa, tmp_path):
    """A result in JSON has the name of its instance, which may be there."""
    path = written(tmp_path, "f.json", '{"weights": [0.5]}')
    one_line(nsa("solve", path, "-o", f"{tmp_path}/", *QUICK), "would replace a file")
    assert json.loads(path.read_text()) == {"weights": [0.5]}
    tour = written(tmp_path, "f.tour", "TYPE : TOUR\nTOUR_SECTION\n1 3 2 4 -1\n")
    one_line(nsa("check", written(tmp_path, "f.tsp", RECTANGLE), tour, "-o", tour), "would replace")


OWN = """from nsa_cli.user import UserProblem, flip, subset
from beside import SIGN


class P(UserProblem):
    name = "p"
    keys = ("weights",)
    solution = subset("weights")
    moves = (flip,)

    def cost(data, x):
        return SIGN * x[0]
"""


@pytest.mark.parametrize("option", ["-o", "--curve", "--plot"])
@pytest.mark.parametrize("read", ["own.py", "beside.py", "config.yaml", "policy.json", "start.json"])
def test_nothing_that_is_read_is_replaced(nsa, tmp_path, monkeypatch, option, read):
    """The problem's source with what it imports, the configuration, the policy, the start."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "own.py", OWN)
    written(tmp_path, "beside.py", "SIGN = 1\n")
    written(tmp_path, "config.yaml", "seed: 1\n")
    written(tmp_path, "start.json", "[1, 0]")
    policy = Path(__file__).parents[2] / "checkpoints" / "knapsack-es-paper.json"
    written(tmp_path, "policy.json", policy.read_text())
    written(tmp_path, "w.json", '{"weights": [1, 2]}')
    written(tmp_path, "k.json", '{"values": [1, 2], "weights": [1, 2], "capacity": 2}')
    command = ["solve", "k.json" if read == "policy.json" else "w.json", "--format", "json", *QUICK]
    if read == "policy.json":
        command += ["--policy", read]
    else:
        command += ["--problem", "own.py:P", "--config", "config.yaml", "--init", "start.json"]
    before = Path(read).read_text()
    one_line(nsa(*command, option, read), f"{option} {read}: would replace a file that is read")
    assert Path(read).read_text() == before


def test_two_outputs_are_two_files(nsa, tmp_path):
    """The second one would replace the first."""
    path = written(tmp_path, "f.tsp", RECTANGLE.format("", ""))
    out = tmp_path / "out.csv"
    one_line(nsa("solve", path, "-o", out, "--curve", out, *QUICK), "several options would write to it")


def test_a_gap_is_below_one(nsa, tmp_path):
    """5 is five per cent to most people, and was 500."""
    path = written(tmp_path, "f.tsp", RECTANGLE.format("", ""))
    one_line(nsa("solve", path, "--gap", 5), "--gap: expected a share below 1 such as 1% or 0.01, or 5%, got")
    one_line(nsa("solve", path, "--gap", "150%"), "expected a share below 1 such as 1% or 0.01, got '150%'")
    assert nsa("solve", path, "--gap", "99%").code == 0


def test_ignore_may_be_repeated(nsa, tmp_path):
    """As well as have commas: each counts."""
    path = written(tmp_path, "f.json", '{"coords": [[0, 0], [3, 0], [3, 4]], "one": 1, "two": 2, "three": 3}')
    assert nsa("solve", path, "--ignore", "one,two", "--ignore", "three").code == 0
    one_line(nsa("solve", path, "--ignore", "one", "--ignore", "three"), "'two' is not understood")


INSTANCES = {
    "tsp": '{"coords": [[0, 0], [9, 1], [1, 1], [8, 0]], "ids": ["d", "007", "7", "a b"]}',
    "knapsack": '{"values": [3, 2, 1], "weights": [1, 1, 1], "capacity": 2, "names": ["x", "1.0", "y"]}',
    "bin": '{"weights": [6, 5, 4, 5], "capacity": 10, "names": ["x", "x", "b c", "12"]}',
    "rosenbrock": '{"a": 1, "b": 100, "dim": 3}',
}


@pytest.mark.parametrize("name", list(INSTANCES))
def test_a_table_of_an_answer_is_one(nsa, tmp_path, name):
    """What `--format csv` writes can be checked, and can be the start of another run."""
    path, table = written(tmp_path, "f.json", INSTANCES[name]), tmp_path / "f.csv"
    assert nsa("solve", path, *QUICK, "-o", table).code == 0
    solved = nsa("solve", path, "--init", table, "--no-bound", "--steps", 0, "--seed", 1).json
    checked = nsa("check", path, table, "--format", "json")
    assert (checked.code, checked.json["objective"]) == (0, solved["objective"])
    assert nsa("check", path, written(tmp_path, "g.csv", table.read_text().replace(",", ";"))).code == 0


def test_rows_of_a_tour_may_be_sorted(nsa, square, tmp_path):
    """The order is that of the positions, whatever a spreadsheet did to the rows."""
    table = written(tmp_path, "t.csv", "position,id,length_to_next\n1,1,40\n4,4,30\n3,2,40\n2,3,30\n")
    assert nsa("check", square, table, "--format", "json").json["objective"] == 140


def test_an_empty_selection_is_a_table_without_rows(nsa, tmp_path):
    """Nothing fits, nothing is taken, and that is feasible."""
    path = written(tmp_path, "k.json", '{"values": [1], "weights": [2], "capacity": 1}')
    assert nsa("check", path, written(tmp_path, "k.csv", "item,value,weight\n")).code == 0


def test_a_solution_of_something_else(nsa, square, tmp_path):
    """Another problem is refused, another instance is told."""
    other = written(tmp_path, "o.json", '{"problem": "knapsack", "solution": [1, 2, 3, 4]}')
    for command in (("check", square, other), ("solve", square, "--init", other)):
        one_line(nsa(*command), f"{other}: holds a solution of 'knapsack', expected one of tsp")
    other = written(tmp_path, "o.json", '{"name": "circle", "solution": [1, 2, 3, 4]}')
    done = nsa("check", square, other)
    assert (done.code, done.err) == (0, "nsa: warning: square: the file says that it solves 'circle'\n")


def test_a_start_is_chosen_by_name(nsa, square, tmp_path):
    """Of several solutions in a file the one of the instance is taken, or none."""
    lines = '{"name": "circle", "solution": [1, 2, 3, 4]}\n{"name": "square", "solution": [1, 3, 2, 4]}\n'
    start = ("--steps", 0, "--no-bound", "--seed", 1)
    path = written(tmp_path, "s.jsonl", lines)
    assert nsa("solve", square, "--init", path, *start).json["objective"] == 140
    written(tmp_path, "s.jsonl", lines.replace("square", "disc"))
    one_line(
        nsa("solve", square, "--init", path, *start), "holds 2 solutions; expected one, or one of 'square'"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("solve f.tsp --time-limit 1 --time-limit 2", "--time-limit: is given 2 times; give it once"),
        ("solve f.tsp -q --quiet", "--quiet: is given 2 times; give it once"),
        ("solve f.tsp --set best_known=1 --set best_known=2", "--set: best_known is given twice"),
        ("solve f.tsp --capacity 1 --set capacity=2", "--set: capacity is given by --capacity, too"),
        ("check f.tsp f.tsp --format json --format text", "--format: is given 2 times"),
        ("generate tsp -n 5 --size 6", "--size: is given 2 times"),
        ("plot policy tsp-es-best -o a.png --output b.png", "--output: is given 2 times"),
        ("train tsp --seed 1 --seed 2", "--seed: is given 2 times"),
        ("benchmark tsp --sizes 20 --sizes 50", "--sizes: is given 2 times"),
    ],
)
def test_an_option_is_given_once(nsa, tmp_path, monkeypatch, words, told):
    """Whose last value would win without a word; a default from a file is none."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "f.tsp", RECTANGLE.format("", ""))
    one_line(nsa(*words.split()), told)


def test_what_may_be_repeated_adds_up(nsa, tmp_path):
    """Words to leave out, and keys."""
    path = written(tmp_path, "w.json", '{"weights": [1, 2], "foo": 1, "bar": 2}')
    more = ("--set", "capacity=3", "--set", "name=n", *QUICK)
    result = nsa("solve", path, "--ignore", "foo", "--ignore", "bar", *more).json
    assert (result["objective"], result["name"]) == (1, "n")


@pytest.mark.parametrize("name", ["x.xlsx", "x.json.gz", "x.tour"])
def test_an_ending_that_means_no_format_is_refused(nsa, tmp_path, name):
    """Nothing is guessed; a name without an ending is JSON, and a format that is given holds."""
    path, out = written(tmp_path, "w.json", '{"weights": [1, 2], "capacity": 3}'), tmp_path / name
    one_line(nsa("solve", path, "-o", out, *QUICK), f"got {str(out)!r}"[:30], "use --format")
    assert nsa("solve", path, "-o", out, "--format", "csv", *QUICK).code == 0
    report = tmp_path / "report.json"
    one_line(nsa("check", path, out, "-o", f"{report}.gz"), ".txt, .json, .jsonl, got", "use --format")
    assert nsa("solve", path, "-o", tmp_path / "plain", *QUICK).code == 0
    assert nsa("check", path, tmp_path / "plain", "-o", report).code == 0
    assert json.loads(report.read_text())["feasible"]


@pytest.mark.parametrize("name", ["README.md", "notes.txt", "code.py"])
def test_prose_with_commas_is_no_table(nsa, tmp_path, name):
    """Whatever its ending says."""
    text = "# Notes\n\nFirst, second, and third.\nThen a line, of 3 words.\nAnd another one.\n"
    one_line(nsa("solve", written(tmp_path, name, text)), "is no instance: expected JSON, a table")


@pytest.mark.parametrize(
    ("text", "advice"),
    [("1,2\n3,4\n5,7\n", "--problem"), ("[3, 4]", "--problem"), ("1 2 3 4\n2 3 4 5\n", "--columns")],
)
def test_the_problem_is_asked_for_where_that_helps(nsa, tmp_path, text, advice):
    """Else what the columns are."""
    name = "f.json" if text[0] == "[" else "f.txt"
    done = nsa("solve", written(tmp_path, name, text))
    one_line(done, "cannot tell the problem")
    assert done.err.endswith(f"use {advice}\n")
