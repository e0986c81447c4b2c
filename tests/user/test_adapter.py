"""Problems in one file: their class under the contract of built-in problems."""

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.contract import ContractError, check_problem
from nsa_cli.problems import as_problem, find_problem
from nsa_cli.user.calls import MistakeError

from user_problems import MAXCUT, Row, Teams


def test_the_example_finds_the_maximum_cut_of_a_square():
    """A cycle of four edges of weight 3 and a chord of weight 1: all four edges can be cut, 12."""
    problem = find_problem(MAXCUT)
    weights = [[0, 3, 1, 3], [3, 0, 3, 0], [1, 3, 0, 3], [3, 0, 3, 0]]
    instance = problem.from_record({"weights": weights})
    result = nsa.solve(nsa.Task(problem, instance), steps=100, seed=1)
    assert result.objective == 12
    assert isinstance(result.objective, int)
    assert result.to_dict()["solution"] in ([0, 1, 0, 1], [1, 0, 1, 0])


def _apply_in_place(self, data, x, action):
    return x.scatter_(1, action[0][:, None], ~x.gather(1, action[0][:, None]))


FAULTS = {
    "delta": lambda self, data, x, action: data.prices.gather(1, action[0][:, None])[:, 0],
    "apply": _apply_in_place,
    "reverse": lambda self, data, x, action: ((action[0] + 1) % x.shape[1],),
    "features": lambda self, data, x, chosen, temperature: data.prices.float(),
    "check": lambda self, data, x: "too many ones" if x.all() else None,
    "bound": lambda self, data: 1e6,
}


@pytest.mark.parametrize("made", [Row, Row(), as_problem(Row)], ids=["class", "instance", "adapted"])
def test_a_class_or_an_instance_of_it_can_be_checked(made):
    """As its author has it at hand; the class that the faults below spoil is sound itself."""
    check_problem(made, size=3)
    assert nsa.check_problem is check_problem


def test_what_is_no_problem_is_refused():
    """In one line that says what was expected."""
    with pytest.raises(nsa.UsageError, match=r"expected a subclass of nsa_cli.UserProblem, got str"):
        check_problem("maxcut")


@pytest.mark.parametrize("method", list(FAULTS))
def test_a_fault_in_a_problem_is_found_and_named(method):
    """The check says which method does not do what it should."""
    spoiled = type("Spoiled", (Row,), {method: FAULTS[method]})
    problem = as_problem(spoiled, "Spoiled")
    expected = {"check": "allowed|start"}.get(method, method)
    with pytest.raises((ContractError, MistakeError), match=expected):
        check_problem(problem, size=2)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "0 problems"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("import nsa_cli as nsa\nclass A(nsa.UserProblem): name = 'a'", "not complete"),
        ("class A: pass", "UserProblem"),
    ],
)
def test_files_without_a_problem_are_refused_in_one_line(tmp_path, text, word):
    """With the file's name and the reason."""
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(nsa.UsageError, match=word) as caught:
        find_problem(f"{path}:A" if "class" in text else str(path))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_data_of_a_users_problem_are_checked():
    """Missing, ragged and endless numbers name their key."""
    problem = find_problem(MAXCUT)
    for weights in (None, [[1, 2], [3]], [[float("inf")]], "x"):
        with pytest.raises(nsa.DataError, match="weights"):
            problem.from_record({"weights": weights})


def test_without_scalar_functions_the_reference_runs():
    """And says so; with them the kernel does."""
    found = {}
    for cls in (Row, Teams):
        problem = as_problem(cls)
        task = nsa.Task(problem, problem.generate(4, np.random.default_rng(0)))
        found[cls.name] = nsa.solve(task, steps=5, chains=2, device="cpu").backend
    assert found == {"row": "torch", "teams": "numba"}
