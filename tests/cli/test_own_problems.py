"""Mistakes in a problem of one's own are named with file and line, and are no faults of ours."""

from __future__ import annotations

import json

import pytest

from user_problems import VALLEY

SOUND = """import numpy as np
from nsa_cli.user import UserProblem, assignment, elements, flip, move, permutation, subset, swap


class Halves(UserProblem):
    name = "halves"
    keys = ("numbers",)
    solution = subset("numbers")
    moves = (flip,)
    feature_names = ("number", "temperature")

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            total += data.numbers[i] if x[i] else -data.numbers[i]
        return abs(total)

    def delta(data, x, move):
        total = 0
        for i in range(len(x)):
            total += data.numbers[i] if x[i] else -data.numbers[i]
        i = move[0]
        change = -2 * data.numbers[i] if x[i] else 2 * data.numbers[i]
        return abs(total + change) - abs(total)

    def allowed(data, x, chosen, candidate):
        return True

    def features(data, x, chosen, candidate, temperature):
        return data.numbers[candidate] / data.scale, temperature

    def generate(size, rng):
        return {"numbers": rng.integers(1, 1000, size)}

    def start(data, draws):
        return draws(len(data.numbers)) < 0.5

    def check(data, x):
        return None

    def bound(data):
        return 0
"""

MOVES = "moves = (flip,)"
OWN_MOVE = """@move(number=elements)
def turn(data, x, move):
    x[move[0]] = not x[move[0]]


class Halves"""

#: What is replaced by what, words of the message, and text at the line that is named. Of each: solving and
#: checking.
MISTAKES = {
    "no return": ("return abs(total)\n", "abs(total)\n", "a number, got None; is its return", "def cost"),
    "a key": (
        "data.numbers[i] if",
        "data.numbrs[i] if",
        "there is no key 'numbrs'; the nearest is numbers",
        "numbrs",
    ),
    "a dictionary's way": (
        "total += data.numbers[i]",
        "total += data['numbers'][i]",
        "write data.numbers",
        "['numbers']",
    ),
    "another's name": ("def cost(", "def energy(", "the nearest is cost", "def energy"),
    "a text": ("return abs(total)\n", "return 'low'\n", "cost: expected a number, got str", "def cost"),
    "not finite": ("return abs(total)\n", "return total / 0.0 if total else 1e999\n", "Halves.cost", None),
    "division": ("return abs(total)\n", "return 1 // int(total - total)\n", "Halves.cost", "int(total -"),
    "exit": ("return abs(total)\n", "raise SystemExit\n", "SystemExit", "raise SystemExit"),
    "self": ("def cost(data, x)", "def cost(self, data, x)", "take no self", "def cost(self"),
    "parameters": ("(data, x, move)", "(data, x)", "expected delta(data, x, move)", "def delta"),
    "a typing error": ("def delta(", "def detla(", "no such function of a problem; the nearest", "def detla"),
    "no cost": ("def cost(", "def _cost(", "has no cost(data, x)", None),
    "no moves": (MOVES, "", "has no moves", None),
    "no moves in it": (MOVES, "moves = ()", "moves: expected a tuple", None),
    "another's move": (MOVES, "moves = (swap, flip, flip)", "two are called flip", None),
    "a move that does not fit": ("subset(", "permutation(", "flip is for solutions that are subset", None),
    "no such key": ('subset("numbers")', 'subset("numbrs")', "there is no key 'numbrs'", None),
    "no solution": ('subset("numbers")', "3", "solution: expected permutation", None),
    "start": ("return draws(len(data.numbers)) < 0.5", "pass", "start: expected an array of", "def start"),
    "another length": ("len(data.numbers)) < 0.5", "3) < 0.5", "expected a solution, got one", "def start"),
    "texts": ("return draws(len(data.numbers)) < 0.5", "return ['a']", "Halves.start", "def start"),
    "allowed": ("        return True\n", "        return candidate > 10_000\n", "no move is allowed", None),
    "check": ("return None", "return True", "Halves.check: expected None, or a text", "def check"),
    "bound": ("return 0\n", "return 'x'\n", "Halves.bound", None),
    "a false bound": ("return 0\n", "return 10**6\n", "bound", None),
    "new cost": ("- abs(total)\n", "\n", "expected the change of cost by the move", "def delta"),
    "index": ("i = move[0]\n", "i = move[0] + 1000\n", "Halves.delta fails: IndexError", "if x[i] else 2"),
    "data are changed": ("total = 0\n", "total = 0; data.numbers[0] += 1\n", "changes the data", "+= 1"),
    "x is changed": ("change = -2", "x[0] = not x[0]; change = -2", "expected x as it was", "def delta"),
    "x is changed by the cost": (
        "total = 0\n",
        "total = 0; x[0] = not x[0]\n",
        "expected x as it was",
        "def cost",
    ),
    "syntax": ("def cost(data", "def cost(data,,", "cannot be imported: SyntaxError", "def cost(data,,"),
    "import": ("import numpy as np\n", "import numbra\n", "ModuleNotFound", "import numbra"),
    "exit of the file": ("import numpy as np\n", "raise SystemExit\n", "SystemExit", "raise System"),
    "an own move": ("class Halves", OWN_MOVE.replace("[move[0]]", "[move[0] + 99]"), "IndexError", "+ 99"),
}

#: Seen by checking only.
CHECKED = {
    "NaN": (
        "candidate] / data.scale",
        "candidate] * float('nan')",
        "a finite number, got nan",
        "def features",
    ),
    "too few": (
        "/ data.scale, temperature",
        "/ data.scale",
        "2 numbers (number, temperature)",
        "def features",
    ),
    "a key is left out": ('"numbers": rng', '"nummers": rng', "a dict with the keys numbers", "def generate"),
    "no rng": ("rng.integers(", "np.random.default_rng().integers(", "from the same rng", "def generate"),
    "no generate": ("def generate(", "def _generate(", "has no generate(size, rng)", None),
}


@pytest.fixture
def own(nsa, tmp_path):
    """Run a command on a text as the problem."""
    numbers = tmp_path / "numbers.json"
    numbers.write_text(json.dumps({"numbers": [221, 403, 968, 753, 670, 32, 455, 22]}))

    def run(text, command, *words):
        path = tmp_path / "mine.py"
        path.write_text(text)
        if command == "check":
            return nsa("check-problem", f"{path}:Halves")
        words = words or ("--steps", 50, "-q")
        return nsa("solve", numbers, "-p", f"{path}:Halves", "--seed", 1, *words)

    return run


def spoiled(table, how):
    old, new, words, at = table[how]
    text = SOUND.replace(old, new) if old in ("total = 0\n",) else SOUND.replace(old, new, 1)
    if how == "an own move":
        text = text.replace(MOVES, "moves = (turn,)")
    assert text != SOUND
    return text, words, at


def assert_named(done, text, words, at):
    assert (done.code, done.out) == (2, "")
    assert "fault of nsa" not in done.err
    assert "Traceback" not in done.err
    told = [line for line in done.err.splitlines() if "error: " in line]
    assert any(words in line for line in told), done.err
    assert all(line.count("error: ") == 1 for line in told)
    if at is not None:
        lines = [i for i, line in enumerate(text.splitlines(), start=1) if at in line]
        assert any(f"mine.py:{i}: " in line for i in lines for line in told), done.err


def test_a_sound_problem_is_solved_and_checked(own):
    """By compiled code; the check says what it has looked at."""
    done = own(SOUND, "solve")
    assert (done.code, done.json["backend"]) == (0, "numba")
    checked = own(SOUND, "check")
    assert checked.code == 0
    assert checked.out.startswith("halves: good, on instances of size 2, 3, 4, 5, 8: ")


@pytest.mark.parametrize("text", ["3 4\n1 2 3\n", "numbers\n1\n2\n", "[[1, 2], [3, 4]]"])
def test_what_an_own_problem_reads_is_said(nsa, tmp_path, text):
    """JSON with its keys, whatever other form a file has."""
    (tmp_path / "mine.py").write_text(SOUND)
    (tmp_path / "f.txt").write_text(text)
    done = nsa("solve", tmp_path / "f.txt", "-p", f"{tmp_path / 'mine.py'}:Halves")
    assert (done.code, done.out) == (2, "")
    assert "halves is read from JSON with the keys numbers, got " in done.err


#: What a search does not look for, or meets in another place.
UNSEEN = ("allowed", "x is changed", "not finite", "a false bound")


def sampled(mistakes, each):
    """Mark all but some as slow: to compile a problem takes seconds."""
    marks = [() if k % each == 0 else pytest.mark.slow for k in range(len(mistakes))]
    return [pytest.param(how, marks=mark) for how, mark in zip(mistakes, marks, strict=True)]


@pytest.mark.parametrize("how", sampled([how for how in MISTAKES if how not in UNSEEN], 5))
def test_a_mistake_is_named_in_solving(own, how):
    """What it should give, and the line."""
    text, words, at = spoiled(MISTAKES, how)
    assert_named(own(text, "solve"), text, words, at)


@pytest.mark.parametrize("how", sampled([*MISTAKES, *CHECKED], 4))
def test_a_mistake_is_named_by_the_check(own, how):
    """With the smallest case where it takes one."""
    table = MISTAKES if how in MISTAKES else CHECKED
    text, words, at = spoiled(table, how)
    assert_named(own(text, "check"), text, words, at)


def test_the_smallest_case_is_shown(own):
    """Size, solution and move."""
    text, *_ = spoiled(MISTAKES, "new cost")
    assert "at size 2, x = [" in own(text, "check").err
    assert "flip (" in own(text, "check").err


def test_several_faults_are_several_lines(own):
    """A wrong change of cost does not hide wrong features."""
    text = SOUND.replace("- abs(total)\n", "\n").replace("/ data.scale, temperature", "/ data.scale")
    assert own(text, "check").err.count("error: ") == 2


def test_zeros_are_no_permutation(nsa, tmp_path):
    """Nobody has to write a check for that."""
    data, answer = tmp_path / "q.json", tmp_path / "x.txt"
    data.write_text(json.dumps({"flow": [[0, 1], [1, 0]], "distance": [[0, 2], [2, 0]]}))
    for text, code in (("0 0", 3), ("1 0", 0), ("0 1 2", 2), ("0 5", 3)):
        answer.write_text(text)
        done = nsa("check", data, answer, "-p", "examples/qap.py:QAP")
        assert (done.code != 0) == (code != 0), (text, done.out, done.err)


PENALTY = SOUND.replace("return None", "return 'too many' if sum(x) > 1 else None").replace(
    "return 0\n", "return None\n"
)


def test_an_answer_that_check_refuses_is_written(own):
    """With exit code 3: a penalty may keep a search from that, and may fail to."""
    done = own(PENALTY, "solve")
    said = [done.json[key] for key in ("status", "feasible", "violation", "gap")]
    assert (done.code, said) == (3, ["infeasible", False, "too many", None])
    assert len(done.json["solution"]) == 8


def test_a_penalty_keeps_an_answer_feasible(own):
    """Of the chains' answers a feasible one is taken; the check of the problem says what it has seen."""
    text = PENALTY.replace("return abs(total)\n", "return abs(total) + 10_000 * max(sum(x) - 1, 0)\n")
    text = text.replace("    def delta(", "    def _delta(")
    assert own(text, "solve").json["status"] == "feasible"
    assert "check (which refuses what moves lead to: measure that by violation)" in own(text, "check").out


def test_the_least_violation_is_written_where_there_is_no_feasible_answer(nsa, tmp_path):
    """With exit code 3, of the command that checks it, too; the objective is the cost alone."""
    data, answer = tmp_path / "data.json", tmp_path / "answer.json"
    distance = [[0, 1, 1], [1, 0, 9], [1, 9, 0]]
    record = {"distance": distance, "demand": [4, 5], "capacity": 4, "vehicles": 2}
    data.write_text(json.dumps(record))
    done = nsa("solve", data, "-p", "examples/routes.py:CVRP", "--steps", 500, "--seed", 1, "-o", answer)
    assert (done.code, "the answer is infeasible: the violation is 1, expected 0; search" in done.err) == (
        3,
        True,
    )
    found = json.loads(answer.read_text())
    assert (found["objective"], sorted(found["solution"])) == (4, [[0], [1]])
    assert nsa("check", data, answer, "-p", "examples/routes.py:CVRP").code == 3


@pytest.mark.parametrize("size", [20, 3000])
def test_scratch_that_is_too_small_is_a_line_at_any_size(nsa, tmp_path, size):
    """Where it once was a crash, or a fault of ours."""
    (tmp_path / "w.json").write_text(json.dumps({"numbers": list(range(size))}))
    text = SOUND.replace("        total = 0\n", "        total = data.scratch[5]\n", 1)
    (tmp_path / "mine.py").write_text(text.replace(MOVES, f"{MOVES}\n    scratch = 4"))
    done = nsa("solve", tmp_path / "w.json", "-p", f"{tmp_path / 'mine.py'}:Halves", "--steps", 9)
    assert_named(done, (tmp_path / "mine.py").read_text(), "Halves.cost fails: IndexError", "data.scratch[5]")


def test_an_index_that_is_seldom_out_of_range_is_found_by_compiled_code(own):
    """Random moves with indices checked come before the search; Python names the line."""
    text = SOUND.replace(
        "return abs(total)\n", "return abs(total) + (data.numbers[10**9] if sum(x) == 7 else 0)\n", 1
    )
    text = text.replace("    def delta(", "    def _delta(")
    assert_named(own(text, "solve"), text, "Halves.cost fails: IndexError", "sum(x) == 7")


def test_what_is_printed_goes_to_standard_error(own):
    """It hung for ever in compiled code, and is Python now."""
    text = SOUND.replace(
        "        return abs(total)\n", "        print('total', total)\n        return abs(total)\n", 1
    )
    done = own(text, "solve")
    assert (done.code, done.json["backend"]) == (0, "python")
    assert done.err.count("total ") > 50
    assert "Python alone" in own(text, "check").out


#: What Numba cannot compile: text before the class, what the cost looks up, and words of the reason.
PYTHON = {
    "a dictionary": ("TABLE = {1: 2}", "TABLE[1]", "it looks up TABLE, a dict"),
    "an array": ("", "np.zeros(3).sum()", "it makes an array; a loop over numbers would do"),
    "a generator": ("", "sum(i for i in range(3))", "it has a generator"),
    "a module": ("import bisect", "bisect.bisect([1], 2)", "it calls bisect.bisect"),
    "recursion": ("def rec(n):\n    return n and rec(n - 1)", "rec(3)", "rec calls itself"),
    "a global": (
        "COUNT = 0\ndef count():\n    global COUNT\n    COUNT += 1\n    return 0",
        "count()",
        "global variable",
    ),
}


@pytest.mark.parametrize("how", sampled(PYTHON, 3))
def test_what_cannot_be_compiled_is_python_and_a_line_says_why(nsa, tmp_path, monkeypatch, how):
    """With the line of the user's."""
    from nsa_cli.kernels.toolchain import kept

    monkeypatch.setattr(kept, "_said", set())
    before, value, words = PYTHON[how]
    text = SOUND.replace("return abs(total)\n", f"return abs(total) + 0 * {value}\n", 1)
    text = text.replace("    def delta(", "    def _delta(").replace(
        "\n\nclass Halves", f"{before}\n\n\nclass Halves"
    )
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "n.json").write_text(json.dumps({"numbers": [221, 403, 968, 753]}))
    done = nsa("solve", tmp_path / "n.json", "-p", tmp_path / "mine.py", "--seed", 1, "--steps", 50)
    assert (done.code, done.json["backend"]) == (0, "python"), done.err
    (told,) = [line for line in done.err.splitlines() if "the search is in Python" in line]
    assert words in told
    assert "mine.py:" in told


#: Steps that visit every solution.
HOT = ("--steps", 4000, "--t-start", 5, "--t-end", 1, "--no-bound")


def test_a_change_that_is_seldom_wrong_is_told_at_the_end(own):
    """The answer is evaluated by itself; a warning names a case."""
    wrong = "return abs(total + change) - abs(total) - (50 if not x[:3].any() else 0)\n"
    text = SOUND.replace("return abs(total + change) - abs(total)\n", wrong).replace(
        "    def cost(", "    compiled = False\n\n    def cost("
    )
    done = own(text.replace("len(data.numbers)) < 0.5", "len(data.numbers)) < 2"), "solve", *HOT)
    assert done.code == 0
    assert "warning: " in done.err
    assert "Halves.delta: expected the change of cost by the move" in done.err


def test_a_number_that_gets_too_large_is_named(own):
    """In Python; and where Python counts on, compiled code must say the same."""
    text = SOUND.replace("total = 0\n", "total = data.numbers[0] * 10**17\n", 1)
    text = text.replace("    def delta(", "    def _delta(")
    assert_named(own(text, "solve"), text, "a whole number has 64 bits", "10**17")


def test_a_problem_without_data_needs_no_file(nsa, tmp_path, monkeypatch):
    """It is named as a file is, or by the option."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "valley.py").write_text(VALLEY)
    for words in (["valley.py:Valley"], ["-p", "valley.py"], ["-p", "valley.py:Valley"]):
        done = nsa("solve", *words, "--steps", 100, "--seed", 1)
        assert (done.code, done.json["problem"]) == (0, "valley"), done.err
    assert nsa("check-problem", "valley.py").code == 0
    assert "expected a FILE" in nsa("solve").err


def test_a_cost_that_is_no_number_blames_no_delta(own):
    """Where nobody wrote one."""
    text = SOUND.replace("return abs(total)\n", "return abs(total) if sum(x) else float('nan')\n", 1)
    done = own(text.replace("    def delta(", "    def _delta("), "solve")
    assert "delta" not in done.err
    if done.code:
        assert "finite number" in done.err
        assert "got nan" in done.err
