"""The contract that every problem keeps, whatever it is; run over all that are there and the example."""

import dataclasses

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.contract import CHECKS, Case, ContractError, check_problem, scalar_functions_say_what_tensors_say
from nsa_cli.core.kernel.jit import cache_folder
from nsa_cli.core.operations import DiscreteOperations
from nsa_cli.core.record import Record, Source
from nsa_cli.core.user import UserProblem
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.files import read_instances, write_instances

from helpers import random_instances, starts_of
from user_problems import MAXCUT, Teams

#: Every problem in each of its neighbourhoods, and the example.
CASES = [(name, n.name) for name in builtin_names() for n in find_problem(name).neighbourhoods]
CASES.append((MAXCUT, "paper"))

#: What a neighbourhood does not promise: a move between near cities may have no way back, and may
#: turn round the rest of a tour (tests/problems/tsp/test_nearest.py).
UNPROMISED = {("nearest:10", "reverse_leads_back")}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 17, 40])
@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize(("name", "neighbourhood"), CASES, ids=lambda n: n.rpartition(":")[2])
def test_every_problem_keeps_the_contract(name, neighbourhood, check, size):
    """Each check at odd and even, tiny and larger sizes."""
    problem = find_problem(name)
    if name == "rosenbrock" and size < 2:
        pytest.skip("the function has two variables at least")
    if (neighbourhood, check.__name__) in UNPROMISED:
        pytest.skip("is not promised")
    check(Case(problem, problem.neighbourhood(neighbourhood), size, 1))


@pytest.mark.parametrize("size", [2, 5, 30])
def test_every_written_format_gives_the_same_instance_back(problem, size):
    """Tables and the problem's own formats out and in lose nothing, not even a last bit."""
    (instance,) = random_instances(problem, size, 1)
    formats = ["jsonl"] + (["csv"] if problem.columns else []) + [f.name for f in problem.formats if f.write]
    for fmt in formats:
        text = write_instances(problem, [instance], fmt)
        suffix = {"csv": ".csv"}.get(fmt, "")
        ((_, other),) = read_instances(Source(f"x{suffix}", suffix, text))
        assert instance.record() == other.record(), fmt


def test_unit_free_instances_look_the_same(problem):
    """What a policy sees of an instance does not depend on the file's units."""
    (instance,) = random_instances(problem, 12, 1)
    data = dict(instance.record())
    scaled = {
        key: _scaled(value) if key in ("coords", "values", "weights", "capacity") else value
        for key, value in data.items()
    }
    other = Record(scaled, Source("x", "", "")).build(problem.from_record)
    operations = problem.neighbourhood("paper").operations()
    if not isinstance(operations, DiscreteOperations):
        pytest.skip("a function of real variables has no other unit")
    x = starts_of(problem, [instance])
    heat = torch.tensor(0.3, dtype=torch.float64)
    for feature_set in operations.feature_sets.values():
        seen = [feature_set.compute(operations.pack([i]), x, (), heat) for i in (instance, other)]
        torch.testing.assert_close(*seen, rtol=1e-5, atol=1e-6)


def _scaled(value):
    if isinstance(value, list):
        return [_scaled(x) for x in value]
    return value * 1024.0  # a power of two: scaling is exact


def test_the_same_seed_generates_the_same_instances(problem):
    """And the first of many are the few."""
    few = [i.record() for i in random_instances(problem, 5, 2, seed=9)]
    many = [i.record() for i in random_instances(problem, 5, 4, seed=9)]
    other = [i.record() for i in random_instances(problem, 5, 2, seed=10)]
    assert [{**r, "name": 0} for r in few] == [{**r, "name": 0} for r in many[:2]]
    assert few != other


def test_a_problem_says_what_it_is(problem):
    """Names, a summary and starts are there; the paper's start is among them."""
    assert problem.name
    assert problem.summary
    assert "paper" in problem.starts
    assert problem.sense in ("min", "max")


def test_an_unknown_start_is_refused_with_the_known_ones(problem):
    """The message lists the starts."""
    with pytest.raises(nsa.UsageError, match="paper"):
        problem.start("nonsense")


# --- a problem in one file ---------------------------------------------------------------------------


def test_the_example_finds_the_maximum_cut_of_a_square():
    """A cycle of four edges of weight 3 and a chord of weight 1: all four edges can be cut, 12."""
    problem = find_problem(MAXCUT)
    weights = [[0, 3, 1, 3], [3, 0, 3, 0], [1, 3, 0, 3], [3, 0, 3, 0]]
    instance = problem.from_record({"weights": weights})
    result = nsa.solve(nsa.Task(problem, instance), steps=100, seed=1)
    assert result.objective == 12
    assert isinstance(result.objective, int)
    assert result.to_dict()["solution"] in ([0, 1, 0, 1], [1, 0, 1, 0])


class Rotten(UserProblem):
    """Ones in a row; each test spoils one method."""

    name = "rotten"
    keys = ("prices",)
    slots = {"element": 1}

    def generate(self, size, rng):
        return {"prices": rng.random(size)}

    def initial(self, data, draws):
        return draws(len(data.prices)) < 0.5

    def cost(self, data, x):
        return (data.prices * x).sum(1)

    def allowed(self, data, x, chosen):
        return torch.ones_like(x)

    def features(self, data, x, chosen, temperature):
        return data.prices[:, :, None].float()

    def apply(self, data, x, action):
        return x.scatter(1, action[0][:, None], ~x.gather(1, action[0][:, None]))


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


def test_a_sound_problem_of_ones_own_passes():
    """The class that the faults below spoil is good itself."""
    check_problem(nsa.problems._as_problem(Rotten, "Rotten"), size=3)


@pytest.mark.parametrize("method", list(FAULTS))
def test_a_fault_in_a_problem_is_found_and_named(method):
    """The check says which method does not do what it should."""
    spoiled = type("Spoiled", (Rotten,), {method: FAULTS[method]})
    problem = nsa.problems._as_problem(spoiled, "Spoiled")
    expected = {"check": "allowed|start"}.get(method, method)
    with pytest.raises(ContractError, match=expected):
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


# --- scalar functions --------------------------------------------------------------------------------


def _spoiled(**methods):
    changed = {name: staticmethod(m) if callable(m) else m for name, m in methods.items()}
    return nsa.problems._as_problem(type("Spoiled", (Teams,), changed), "Spoiled")


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
    with pytest.raises(ContractError, match=name):
        scalar_functions_say_what_tensors_say(_case(_spoiled(**{name: SCALAR_FAULTS[name]})))


def test_a_scalar_function_that_is_out_of_bounds_is_named():
    """In a compiled loop nobody looks."""
    beyond = _spoiled(scalar_cost=lambda data, x: data.costs[len(x), 0])
    with pytest.raises(ContractError, match=r"scalar_cost fails: IndexError"):
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
    assert "--backend torch" in str(caught.value)
    assert ("makes an array" in str(caught.value)) == ("made" in fault)
    assert nsa.solve(task, steps=5, chains=2, backend="torch").backend == "torch"


def test_scalar_functions_with_self_are_refused():
    """A forgotten @staticmethod."""
    cls = type("Spoiled", (Teams,), {"scalar_cost": lambda self, data, x: 0.0})
    with pytest.raises(nsa.UsageError, match="@staticmethod"):
        nsa.problems._as_problem(cls, "Spoiled").neighbourhood().kernel()


def test_what_a_user_wrote_is_not_kept_on_disk():
    """An edit of it would go unnoticed."""
    task = nsa.Task(_spoiled(), _spoiled().generate(4, np.random.default_rng(0)))
    assert nsa.solve(task, steps=5, chains=2, device="cpu").backend == "numba"
    ours = nsa.generate("knapsack", 5, seed=0)[0]
    assert nsa.solve(ours, method="anneal", steps=5, device="cpu", bound=False).backend == "numba"
    assert list(cache_folder().rglob("kernel.*.nbi"))
    theirs = ("user.", "test_contract.")
    assert not [path for path in cache_folder().rglob("*") if path.name.startswith(theirs)]


LEFT_OUT = {
    "three choices": {"slots": {"a": 1, "b": 1, "c": 1}},
    "a key that is no name": {"keys": ("costs", "fixed", "factor", "class")},
    "a solution of two axes": {"initial": lambda self, data, draws: np.zeros((2, 2))},
}


@pytest.mark.parametrize("what", list(LEFT_OUT))
def test_what_scalar_functions_are_not_for_is_refused_in_one_line(what):
    """With the way out."""
    problem = nsa.problems._as_problem(type("Spoiled", (Teams,), LEFT_OUT[what]), "Spoiled")
    sound = _spoiled().generate(2, np.random.default_rng(0))
    instance = dataclasses.replace(sound, owner=problem.owner)
    with pytest.raises(nsa.UsageError, match=r"--backend torch") as caught:
        problem.neighbourhood().kernel().arrays([instance], 1.0)
    assert "\n" not in str(caught.value)


def test_more_candidates_than_elements_are_refused():
    """The compiled loop would not see them."""
    tensors = {"allowed": lambda self, data, x, chosen: torch.ones(len(x), x.shape[1] + 1, dtype=bool)}
    problem = nsa.problems._as_problem(type("Spoiled", (Teams,), tensors), "Spoiled")
    with pytest.raises(nsa.UsageError, match="6 candidates"):
        problem.neighbourhood().kernel().arrays([problem.generate(5, np.random.default_rng(0))], 1.0)


def test_learnt_policies_run_in_the_reference_without_scalar_features():
    """Uniform proposals need none."""
    assert list(_spoiled().neighbourhood().kernel().policies) == ["paper"]
    assert list(_spoiled(scalar_features=None).neighbourhood().kernel().policies) == []


def test_without_scalar_functions_the_reference_runs():
    """And says so; with them the kernel does."""
    found = {}
    for cls in (Rotten, Teams):
        problem = nsa.problems._as_problem(cls, cls.name)
        task = nsa.Task(problem, problem.generate(4, np.random.default_rng(0)))
        found[cls.name] = nsa.solve(task, steps=5, chains=2, device="cpu").backend
    assert found == {"rotten": "torch", "teams": "numba"}
