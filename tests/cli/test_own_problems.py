"""Mistakes in a problem of one's own are named with file and line, and are no faults of ours."""

from __future__ import annotations

import json

import pytest

from nsa_cli.problems import find_problem

SOUND = """import numba
import numpy as np
import torch
import nsa_cli as nsa


class Halves(nsa.UserProblem):
    name = "halves"
    keys = ("numbers",)
    slots = {"number": 1}

    def generate(self, size, rng):
        return {"numbers": rng.integers(1, 1000, size)}

    def initial(self, data, draws):
        return draws(len(data.numbers)) < 0.5

    def cost(self, data, x):
        return (data.numbers * (2 * x.long() - 1)).sum(1).abs()

    def allowed(self, data, x, chosen):
        return torch.ones_like(x)

    def features(self, data, x, chosen, temperature):
        return torch.stack([x.float()], 2)

    def apply(self, data, x, action):
        at = action[0][:, None]
        return x.scatter(1, at, ~x.gather(1, at))

    def check(self, data, x):
        return None

    def bound(self, data):
        return 0
"""

SCALARS = """
    @staticmethod
    def scalar_cost(data, x):
        total = 0.0
        for i in range(len(x)):
            total += data.numbers[i] if x[i] else -data.numbers[i]
        return abs(total)

    @staticmethod
    def scalar_delta(data, x, action):
        total = 0.0
        for i in range(len(x)):
            total += data.numbers[i] if x[i] else -data.numbers[i]
        i = action[0]
        change = -2 * data.numbers[i] if x[i] else 2 * data.numbers[i]
        return abs(total + change) - abs(total)

    @staticmethod
    def scalar_apply(data, x, action):
        x[action[0]] = not x[action[0]]

    @staticmethod
    def scalar_allowed(data, x, chosen, candidate):
        return True
"""

COST = "return (data.numbers * (2 * x.long() - 1)).sum(1).abs()"
NEW_COST = """    def delta(self, data, x, action):
        return self.cost(data, self.apply(data, x, action)).double()

"""
START = "return draws(len(data.numbers)) < 0.5"

#: What is replaced by what, the method that is named, words of the message, and text at the line that is.
MISTAKES = {
    "no return": (COST, f"y = {COST[7:]}", "Halves.cost", "got None; is its return missing", "def cost"),
    "a key": (
        COST,
        COST.replace("numbers", "numbrs"),
        "Halves.cost",
        "no 'numbrs'; they have numbers",
        "numbrs",
    ),
    "one number": (COST, "return 1.0", "Halves.cost", "one a chain", "def cost"),
    "a sum of all": (COST, COST.replace("sum(1)", "sum()"), "Halves.cost", "one a chain", "def cost"),
    "division": (COST, "return x / (1 / 0)", "Halves.cost", "ZeroDivisionError", "1 / 0"),
    "exit": (COST, "raise SystemExit", "Halves.cost", "SystemExit", "raise SystemExit"),
    "start": (START, "pass", "Halves.initial", "got None", "def initial"),
    "texts": (
        "return draws(len(data.numbers)) < 0.5",
        "return ['a']",
        "Halves.initial",
        "list",
        "def initial",
    ),
    "allowed": ("torch.ones_like(x)", "x.long()", "Halves.allowed", "bool[", "def allowed"),
    "apply": ("return x.scatter(1, at, ~x.gather(1, at))", "x.flip(0)", "Halves.apply", "None", "def apply"),
    "in place": ("x.scatter(1", "x.scatter_(1", "Halves.apply", "change of its argument", "def apply"),
    "check": ("return None", "return True", "Halves.check", "a text that says why not", "def check"),
    "infeasible": ("return None", "return 'never'", "halves", "infeasible", None),
    "bound": ("return 0\n", "return 'x'\n", "Halves.bound", "a finite number", "def bound"),
    "a false bound": ("return 0\n", "return 10**6\n", "halves", "beats the bound", None),
    "new cost": (
        "    def check",
        NEW_COST + "    def check",
        "Halves.delta",
        "the change of cost",
        "def delta",
    ),
    "syntax": ("def cost(self", "def cost(self,,", "cannot be imported", "SyntaxError", "def cost(self,,"),
    "import": ("import numba\n", "import numbra\n", "cannot be imported", "ModuleNotFound", "import numbra"),
    "exit of the file": (
        "import numba\n",
        "raise SystemExit\n",
        "cannot be imported",
        "SystemExit",
        "raise System",
    ),
}

SCALAR_MISTAKES = {
    "new cost": ("- abs(total)\n", "\n", "scalar_delta: expected the change of scalar_cost", ""),
    "index": ("not x[action[0]]\n", "not x[action[0] + 1000]\n", "scalar_apply fails: IndexError", "+ 1000"),
    "key": (
        "data.numbers[i] if x[i] else",
        "data.numbrs[i] if x[i] else",
        "scalar_cost cannot be compiled",
        "",
    ),
}


@pytest.fixture
def solved(nsa, tmp_path):
    """Solve eight numbers with a text as the problem."""

    def run(text, *words):
        path, numbers = tmp_path / "mine.py", tmp_path / "numbers.json"
        find_problem.cache_clear()  # the same file with another text
        path.write_text(text)
        numbers.write_text(json.dumps({"numbers": [221, 403, 968, 753, 670, 32, 455, 22]}))
        return nsa("solve", numbers, "-p", f"{path}:Halves", "--seed", 1, "--steps", 50, "-q", *words)

    return run


def line_of(text, words):
    return next(i for i, line in enumerate(text.splitlines(), start=1) if words in line)


def test_a_sound_problem_is_solved(solved):
    """In both engines."""
    assert solved(SOUND).code == 0
    assert solved(SOUND + SCALARS).json["backend"] == "numba"


@pytest.mark.parametrize("how", list(MISTAKES))
def test_a_mistake_is_named(solved, how):
    """The method, what it should give, and the line."""
    old, new, method, words, at = MISTAKES[how]
    text = SOUND.replace(old, new, 1)
    assert text != SOUND
    done = solved(text)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "fault of nsa" not in done.err
    assert method in done.err
    assert words in done.err
    if at is not None:
        assert f"mine.py:{line_of(text, at)}: " in done.err


@pytest.mark.parametrize("how", list(SCALAR_MISTAKES))
@pytest.mark.parametrize("method", ["anneal", "large-step"])
def test_a_mistake_in_a_scalar_function_is_named(solved, how, method):
    """Before compiled code runs with it."""
    old, new, words, at = SCALAR_MISTAKES[how]
    text = SOUND + SCALARS.replace(old, new, 1)
    done = solved(text, "--method", method)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err
    assert f"mine.py:{line_of(text, at)}: " in done.err or not at


def test_the_cases_of_others(nsa, shared):
    """A cost without its return, a key with a typing error, a change of cost that is the new cost."""
    cases = shared / "cases" / "second"
    for name, code, words in (
        ("ok", 0, ""),
        ("none", 2, "c12_none.py:21: Halves.cost: expected"),
        ("typo", 2, "c12_typo.py:22: Halves.cost fails: AttributeError"),
        ("delta", 2, "Halves.delta: expected the change of cost"),
    ):
        done = nsa("solve", cases / "c12.json", "-p", f"{cases}/c12_{name}.py:Halves", "--seed", 1, "-q")
        assert done.code == code, done.err
        assert words in done.err
