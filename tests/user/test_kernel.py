"""Scalar functions of a user's problem: compiled loops that say what tensors say, or one line why not."""

import dataclasses

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.contract import Case, ContractError, check_problem, scalar_functions_say_what_tensors_say
from nsa_cli.core.kernel.disk_cache import cache_folder
from nsa_cli.problems import as_problem
from nsa_cli.user.calls import MistakeError

from user_problems import Teams


def _spoiled(**methods):
    changed = {name: staticmethod(m) if callable(m) else m for name, m in methods.items()}
    return as_problem(type("Spoiled", (Teams,), changed))


def _case(problem):
    return Case(problem, problem.neighbourhood(), 5, 0)


def test_sound_scalar_functions_pass():
    """The class that the faults below spoil is good itself."""
    check_problem(_spoiled(), size=5)


def _forgets_the_factor(data, x, action):
    return data.costs[action[0], action[1]] - data.costs[action[0], x[action[0]]]


SCALAR_FAULTS = {
    "scalar_cost": lambda data, x: 1.0,
    "scalar_delta": _forgets_the_factor,
    "scalar_apply": lambda data, x, action: None,
    "scalar_allowed": lambda data, x, chosen, candidate: True,
    "scalar_features": lambda data, x, chosen, candidate, temperature, out: None,
    "scalar_reverse": lambda data, x, action: action,
}


@pytest.mark.parametrize("name", list(SCALAR_FAULTS))
def test_a_scalar_function_that_says_something_else_is_named(name):
    """Compiled chains would not be those of the reference."""
    with pytest.raises((ContractError, MistakeError), match=name):
        scalar_functions_say_what_tensors_say(_case(_spoiled(**{name: SCALAR_FAULTS[name]})))


def test_a_scalar_function_that_is_out_of_bounds_is_named():
    """In a compiled loop nobody looks."""
    beyond = _spoiled(scalar_cost=lambda data, x: data.costs[len(x), 0])
    with pytest.raises((ContractError, MistakeError), match=r"scalar_cost fails: IndexError"):
        scalar_functions_say_what_tensors_say(_case(beyond))


UNFIT = {
    "unsupported Python": ("scalar_delta", lambda data, x, action: eval("1.0")),
    "an array that is made": ("scalar_cost", lambda data, x: np.zeros(3).sum()),
    "unknown data": ("scalar_allowed", lambda data, x, chosen, candidate: data.nothing > 0),
    "too few arguments": ("scalar_apply", lambda data, x: None),
    "no number": ("scalar_delta", lambda data, x, action: action),
    "no flag": ("scalar_allowed", lambda data, x, chosen, candidate: 1.5),
    "a missing one": ("scalar_apply", None),
    "a missing reverse": ("scalar_reverse", None),
}


@pytest.mark.parametrize("fault", list(UNFIT))
def test_scalar_functions_that_do_not_compile_are_refused_in_one_line(fault):
    """The line names the function and the way out, which works."""
    name, function = UNFIT[fault]
    problem = _spoiled(**{name: function})
    task = nsa.Task(problem, problem.generate(5, np.random.default_rng(0)))
    with pytest.raises(nsa.UsageError, match=name) as caught:
        nsa.solve(task, steps=5, chains=2)
    assert "\n" not in str(caught.value)
    assert caught.value.use == {"backend": "torch"}
    assert ("makes an array" in str(caught.value)) == ("made" in fault)
    assert nsa.solve(task, steps=5, chains=2, backend="torch").backend == "torch"


def test_scalar_functions_with_self_are_refused():
    """A forgotten @staticmethod."""
    cls = type("Spoiled", (Teams,), {"scalar_cost": lambda self, data, x: 0.0})
    with pytest.raises(nsa.UsageError, match="@staticmethod"):
        as_problem(cls).neighbourhood().kernel()


def test_what_a_user_wrote_is_not_kept_on_disk():
    """An edit of it would go unnoticed."""
    task = nsa.Task(_spoiled(), _spoiled().generate(4, np.random.default_rng(0)))
    assert nsa.solve(task, steps=5, chains=2, device="cpu").backend == "numba"
    ours = nsa.generate("knapsack", 5, seed=0)[0]
    assert nsa.solve(ours, method="anneal", steps=5, device="cpu", bound=False).backend == "numba"
    folders = {path.name.partition("_")[0] for path in cache_folder().iterdir()}
    assert "anneal" in folders
    assert not folders & {"user", "tests"}


LEFT_OUT = {
    "three choices": {"slots": {"a": 1, "b": 1, "c": 1}},
    "a key that is no name": {"keys": ("costs", "fixed", "factor", "class")},
    "a solution of two axes": {"initial": lambda self, data, draws: np.zeros((2, 2))},
}


@pytest.mark.parametrize("what", list(LEFT_OUT))
def test_what_scalar_functions_are_not_for_is_refused_in_one_line(what):
    """With the way out."""
    problem = as_problem(type("Spoiled", (Teams,), LEFT_OUT[what]))
    sound = _spoiled().generate(2, np.random.default_rng(0))
    instance = dataclasses.replace(sound, owner=problem.owner)
    with pytest.raises(nsa.UsageError) as caught:
        problem.neighbourhood().kernel().arrays([instance], 1.0)
    assert caught.value.use == {"backend": "torch"}
    assert "\n" not in str(caught.value)


def test_more_candidates_than_elements_are_refused():
    """The compiled loop would not see them."""
    tensors = {"allowed": lambda self, data, x, chosen: torch.ones(len(x), x.shape[1] + 1, dtype=bool)}
    problem = as_problem(type("Spoiled", (Teams,), tensors))
    with pytest.raises(nsa.UsageError, match="6 candidates"):
        problem.neighbourhood().kernel().arrays([problem.generate(5, np.random.default_rng(0))], 1.0)


def test_learnt_policies_run_in_the_reference_without_scalar_features():
    """Uniform proposals need none."""
    assert list(_spoiled().neighbourhood().kernel().policies) == ["paper"]
    assert list(_spoiled(scalar_features=None).neighbourhood().kernel().policies) == []
