"""Own problems in Python: what is not compiled, problems without data, classes that are typed in."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.core.draws import stream_keys
from nsa_cli.kernels.toolchain import kept
from nsa_cli.problems import as_problem
from nsa_cli.user import UserProblem, gaussian, permutation, reals, swap
from nsa_cli.user.scalar import PlainChains

from user_problems import VALLEY

WEIGHTS = [7, 70, 83, 18, 82, 64, 55, 32, 39, 10]
TABLE = dict(enumerate(WEIGHTS))
BEST = sum(i * w for i, w in enumerate(sorted(WEIGHTS, reverse=True)))


class Order(UserProblem):
    """The heaviest first; a NumPy expression."""

    name = "order"
    keys = ("weights",)
    solution = permutation("weights")
    moves = swap

    def cost(data: Any, x: Any) -> Any:
        return np.dot(np.arange(len(x)), data.weights[x])


class FromTable(Order):
    """A dictionary."""

    def cost(data: Any, x: Any) -> Any:
        return sum(i * TABLE[v] for i, v in enumerate(x))


class Declared(Order):
    """It could be compiled."""

    compiled = False

    def cost(data: Any, x: Any) -> Any:
        total = 0
        for i in range(len(x)):
            total += i * data.weights[x[i]]
        return total


class Elsewhere(Order):
    """Another process."""

    compiled = False

    def cost(data: Any, x: Any) -> Any:
        words = ["expr", *" + ".join(f"{i} * {w}" for i, w in enumerate(data.weights[x].tolist())).split()]
        return int(subprocess.run(words, capture_output=True, check=True).stdout)


@pytest.fixture
def said(monkeypatch):
    """What is said to a user of compilation."""
    found: list[str] = []
    monkeypatch.setattr(kept, "_said", set())
    monkeypatch.setattr(kept, "listeners", [found.append])
    return found


@pytest.mark.parametrize("cls", [Order, FromTable, Declared])
def test_what_is_not_compiled_is_annealed_in_python(cls, said):
    """To the optimum, the same again; a line names the one of the user's, unless he says so himself."""
    options = {"problem": cls, "steps": 3000, "seed": 3}
    one, again = (nsa.solve({"weights": WEIGHTS}, **options) for _ in range(2))
    assert (one.objective, one.backend, one.method, one.status) == (BEST, "python", "anneal", "feasible")
    assert (one.solution == again.solution).all()
    assert one.steps == 3000
    why = [text for text in said if "cannot be compiled by Numba" in text]
    assert len(why) == (cls is not Declared)
    assert all(f"{__file__}:" in text and "the search is in Python" in text for text in why)


def test_a_simulator_is_a_cost():
    """Few steps, by their own pace; a limit is kept."""
    begin = time.monotonic()
    found = nsa.solve({"weights": WEIGHTS}, problem=Elsewhere, time_limit=1.0, seed=1)
    assert (found.backend, found.stop_reason) == ("python", "time_limit")
    assert found.objective == found.instance.cost(found.raw)
    assert time.monotonic() - begin < 3.0


def test_python_can_be_asked_for_and_means_the_same():
    """Equal answers, with equal steps and temperatures."""
    options: Any = {"steps": 400, "chains": 3, "t_start": 1.0, "t_end": 0.1, "unit": 10.0, "seed": 2}

    class Compiled(Declared):
        compiled = True

    data = {"weights": WEIGHTS * 2}
    one, other = (nsa.solve(data, problem=Compiled, backend=b, **options) for b in ("python", "numba"))
    assert (one.backend, other.backend) == ("python", "numba")
    assert (one.raw == other.raw).all()
    assert one.accepted == other.accepted


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": "x.json"}, "policy"),
        ({"method": "large-step"}, "large-step"),
    ],
)
def test_what_needs_compiled_code_says_so(options, words):
    """In a line."""
    with pytest.raises(nsa.NsaError, match=words):
        nsa.solve({"weights": WEIGHTS}, problem=Declared, backend="python", **options)


def test_built_in_problems_have_no_search_in_python():
    """They need none."""
    with pytest.raises(nsa.UsageError, match=r"^backend: python is for problems of one's own"):
        nsa.solve("examples/capitals.tsp", backend="python")


class Valley(UserProblem):
    """A problem without data."""

    name = "valley"
    keys = ()
    solution = reals(3, -5.0, 5.0)
    moves = (gaussian(1.0, "far"), gaussian(0.1, "near"))

    def cost(data: Any, x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            total += (x[i] - 1.0) * (x[i] - 1.0)
        return total


def test_a_problem_without_data_is_solved_by_itself():
    """Its class alone, or with no keys."""
    assert nsa.solve(Valley, steps=2000, seed=1, backend="python").objective < 0.1
    assert nsa.solve({}, problem=Valley, steps=100, backend="python").raw.shape == (3,)


def test_several_instances_of_a_class_share_a_call():
    """Each has the answer that it has alone."""
    data = [{"weights": WEIGHTS}, {"weights": WEIGHTS[::-1]}]
    found = nsa.solve_many(data, problem=Declared, steps=300, seed=1)
    alone = [nsa.solve(one, problem=Declared, steps=300, seed=1) for one in data]
    assert [r.objective for r in found] == [r.objective for r in alone]


def test_a_class_that_was_typed_in_is_solved():
    """As in a notebook: there is no file."""
    text = f"import nsa_cli as nsa\n{VALLEY}\nprint(nsa.solve(Valley, steps=50, seed=1).backend)\n"
    done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("python\n", "")


class Sharp(Declared):
    """It is no number for some orders."""

    def cost(data: Any, x: Any) -> Any:
        return math.nan if x[0] == 3 else float(np.dot(np.arange(len(x)), data.weights[x]))


def test_what_is_met_in_the_search_is_named():
    """With the function's line; a list is not what fails."""
    with pytest.raises(nsa.UsageError, match=r"Sharp\.cost: expected a finite number"):
        nsa.solve({"weights": WEIGHTS}, problem=Sharp, steps=5000, seed=1)


class Loose(Declared):
    """A list and an array have other costs, for some orders."""

    def cost(data: Any, x: Any) -> Any:
        total = 0
        for i, v in enumerate(x):
            total += i * WEIGHTS[v]
        return total + (1 if x[0] % 2 and isinstance(x, list) else 0)


def test_a_list_that_means_something_else_is_given_up():
    """The costs are those of arrays."""
    instance = as_problem(Loose).from_record({"weights": WEIGHTS})
    chains = PlainChains([instance], np.arange(10)[None], stream_keys(1, np.arange(1)), 1.0)
    chains.takes_lists = dict.fromkeys(chains.takes_lists, True)
    for _ in range(20):
        chains.advance(np.full(50, 100.0))
    assert not any(chains.takes_lists.values())
    assert chains.energy[0] == instance.cost(chains.x[0])
