"""Problems in one file: their class under the contract of built-in problems."""

import re

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.contract import check_problem, faults
from nsa_cli.core.errors import NsaError
from nsa_cli.problems import as_problem, find_problem
from nsa_cli.user import UserProblem, assignment, flip, permutation, reals, reassign, subset, swap
from nsa_cli.user.calls import MistakeError
from nsa_cli.user.check import walk

from user_problems import MAXCUT, Bowl, Jobs, Purses, Row, Teams


@pytest.mark.parametrize(
    ("cls", "optimum"),
    [
        (Teams, lambda d, n: 1.5 * sum(min(d.costs[i]) for i in range(n) if not d.fixed[i])),
        (Row, lambda d, n: 0.0),
        (Bowl, lambda d, n: 0.0),
        (Purses, lambda d, n: 1.0),  # or 2: one too many each, which takes nine rises
    ],
)
def test_each_kind_of_solutions_and_moves_gets_to_its_optimum(cls, optimum):
    """Assignments, subsets, real numbers; own moves of three choices; several moves."""
    problem = as_problem(cls)
    instance = problem.generate(6, np.random.default_rng(3))
    result = nsa.solve(nsa.Task(problem, instance), steps=20_000, chains=4, seed=1)
    fixed = 0.0
    if cls is Teams:
        kept, costs = instance.data.fixed == 1, instance.data.costs
        fixed = 1.5 * costs[np.arange(6), result.solution][kept].sum()
    assert result.objective == pytest.approx(
        optimum(instance.data, 6) + fixed, abs=1.0 if cls is Purses else 2e-3
    )
    assert instance.violation(result.solution) is None


def test_orders_are_by_smiths_rule_where_ends_count_once():
    """Three types of moves; a problem whose optimum is a sort."""

    class Ends(Jobs):
        def cost(data, x):
            end, total = 0, 0
            for i in x:
                end += data.times[i]
                total += data.weights[i] * end
            return total

    problem = as_problem(Ends)
    instance = problem.generate(12, np.random.default_rng(1))
    order = np.argsort(instance.data.times / instance.data.weights)
    result = nsa.solve(nsa.Task(problem, instance), steps=20_000, chains=4, seed=1)
    assert result.objective == instance.objective(order)


def test_a_class_or_an_instance_of_it_can_be_checked():
    """As its author has it at hand; the first fault is raised, and other problems are refused."""
    for made in (Row, Row(), as_problem(Row)):
        nsa.check_problem(made, size=3)
    with pytest.raises(MistakeError, match=r"Spoiled\.delta: expected the change of cost"):
        check_problem(type("Spoiled", (Teams,), {"delta": lambda data, x, move: 1e6}))
    with pytest.raises(nsa.UsageError, match=r"expected a subclass of nsa_cli.UserProblem, got str"):
        check_problem("maxcut")
    with pytest.raises(nsa.UsageError, match=r"tsp: is checked by its tests"):
        check_problem(find_problem("tsp"))


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
    for weights in (None, [[1, 2], [3]], [[float("inf")]], "x", [[2**64]], []):
        with pytest.raises(nsa.DataError, match="weights"):
            problem.from_record({"weights": weights})


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (permutation("n"), ([0, 0, 0], [0, 1, 3], [0, 1], [0.5, 1, 2], [-1, 0, 1])),
        (subset("n"), ([0, 2, 0], [0, 1], [0.5, 0, 1])),
        (assignment("n", 2), ([0, 1, 2], [0, -1, 0], [1])),
        (reals("n", 0.0, 1.0), ([0.0, 2.0, 0.5], [0.0], [float("nan"), 0.0, 0.0])),
        (subset("n", exactly=2), ([0, 1, 0], [1, 1, 1])),
        (reals("n", "low", "high"), ([0.0, 1.0, 1.5], [0.5, 0.5, 2.5])),
    ],
    ids=lambda k: type(k).__name__,
)
def test_answers_of_another_kind_are_refused(kind, wrong):
    """Nobody has to write a check for that; all zeros are no permutation."""
    cls = type(
        "Any",
        (UserProblem,),
        {
            "name": "any",
            "keys": ("n", "low", "high"),
            "solution": kind,
            "moves": (_any_move(kind),),
            "cost": lambda data, x: 0,
        },
    )
    instance = as_problem(cls).from_record({"n": 3, "low": [0, 1, 2], "high": [1, 1, 3]})
    assert instance.violation(instance.typical) is None
    for ids in wrong:
        with pytest.raises(nsa.DataError):
            instance.from_ids(ids)


def _any_move(kind):
    return flip if kind == subset("n") else swap


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"backend": "torch"}, "run as compiled code only, got torch"),
        ({"device": "cuda"}, "run on a CPU only, got cuda|no CUDA device"),
    ],
)
def test_own_problems_run_as_compiled_code_on_a_cpu(options, why):
    """What they do not have is refused in a line."""
    task = nsa.Task(as_problem(Row), as_problem(Row).generate(4, np.random.default_rng(0)))
    with pytest.raises(nsa.UsageError, match=why):
        nsa.solve(task, steps=10, **options)


def test_what_a_problem_does_not_have_is_refused_by_name():
    """Random instances, features; nothing of that is needed for solving."""

    class Least(UserProblem):
        name, keys, solution, moves = "least", ("n",), permutation("n"), (swap,)

        def cost(data, x):
            return x[0]

    problem = as_problem(Least)
    with pytest.raises(nsa.UsageError, match=r"has no generate"):
        problem.generate(3, np.random.default_rng(0))
    assert nsa.solve(nsa.Task(problem, problem.from_record({"n": 5})), steps=100, seed=1).objective == 0


class Loads(UserProblem):
    """Jobs on machines, the fullest of which counts: a load for each machine."""

    name = "loads"
    keys = ("times", "machines")
    solution = assignment("times", "machines")
    moves = (reassign,)
    scratch = "machines"

    def generate(size, rng):
        return {"times": rng.integers(1, 20, size), "machines": 1 + size // 3}

    def cost(data, x):
        for k in range(data.machines):
            data.scratch[k] = 0
        for i in range(len(x)):
            data.scratch[x[i]] += data.times[i]
        most = 0.0
        for k in range(data.machines):
            most = max(most, data.scratch[k])
        return most


class Named(Loads):
    """The same with an array of whole numbers, and one that is not used."""

    scratch = {"loads": ("machines", int), "rest": (lambda data: 2, float)}

    def cost(data, x):
        for k in range(data.machines):
            data.loads[k] = 0
        for i in range(len(x)):
            data.loads[x[i]] += data.times[i]
        most = 0
        for k in range(data.machines):
            most = max(most, data.loads[k])
        return most


@pytest.mark.parametrize("cls", [Loads, Named])
def test_functions_have_scratch(cls):
    """Of each chain's own: threads and instances of other sizes do not disturb each other."""
    problem = as_problem(cls)
    assert faults(problem)[1] == []
    for size in (7, 12):
        task = nsa.Task(problem, problem.generate(size, np.random.default_rng(size)))
        found = [nsa.solve(task, steps=300, chains=4, seed=1, threads=threads) for threads in (1, 2)]
        assert found[0].solution.tolist() == found[1].solution.tolist()
        loads = np.bincount(found[0].solution, task.instance.data.times)
        assert found[0].objective == loads.max()


def test_what_was_in_scratch_is_not_relied_on():
    """In Python it is NaN before each call, whatever a call has left; whole numbers change."""

    def cost(data, x):
        data.scratch[0] += 1
        return data.scratch[0]

    found = faults(as_problem(type("Counts", (Loads,), {"cost": cost})))[1]
    assert any("expected a finite number" in str(fault) for fault in found)

    def total(data, x):
        data.loads[0] += 1
        return data.loads[0]

    found = faults(as_problem(type("Sums", (Named,), {"cost": total})))[1]
    assert any("expected the same number each time" in str(fault) for fault in found)


class Chosen(UserProblem):
    """The k cheapest: a choice that a swap makes, for one that goes out comes one in."""

    name = "chosen"
    keys = ("prices", "k")
    solution = subset("prices", exactly="k")
    moves = (swap,)

    def generate(size, rng):
        return {"prices": rng.integers(1, 100, size), "k": size // 2}

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            if x[i]:
                total += data.prices[i]
        return total


def test_a_set_of_exactly_k_keeps_its_size():
    """And each move changes it."""
    problem = as_problem(Chosen)
    assert faults(problem)[1] == []
    instance = problem.generate(30, np.random.default_rng(4))
    result = nsa.solve(nsa.Task(problem, instance), steps=5_000, chains=2, seed=1)
    assert result.objective == np.sort(instance.data.prices)[:15].sum()
    for state in walk(instance, 50):
        after = state.moved()
        assert (after.sum(), (after != state.x).sum()) == (15, 2)
    with pytest.raises(nsa.DataError, match="expected at most the 2 elements in the set, got 3"):
        problem.from_record({"prices": [1, 2], "k": 3})


def test_each_real_number_has_bounds_of_its_own():
    """Steps never leave them, and reach them."""

    class Box(Bowl):
        keys = ("centre", "low", "top")
        solution = reals("centre", "low", "top")

    problem, data = as_problem(Box), {"centre": [0.5, 3.0, -1.0], "low": [0, 0, 0], "top": [1, 2, 0.5]}
    result = nsa.solve(nsa.Task(problem, problem.from_record(data)), steps=20_000, chains=2, seed=1)
    assert result.solution == pytest.approx([0.5, 2.0, 0.0], abs=0.01)
    with pytest.raises(nsa.DataError, match=r"expected low <= high, got 2 and 1 of element 0"):
        problem.from_record({**data, "low": [2, 0, 0]})
    with pytest.raises(nsa.DataError, match="low: expected a number or a list of 3, got one of shape"):
        problem.from_record({**data, "low": [0, 0]})


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"scratch": 1.5}, "scratch: expected a number, a key, or a function of the data, got 1.5"),
        ({"scratch": {"load": 3}}, "scratch: load: expected a pair such as (10, int), got 3"),
        ({"scratch": {"not a name": (3, int)}}, "scratch: expected names that Python can have"),
        ({"scratch": {"times": (3, int)}}, "keys: 'times' is taken"),
        ({"scratch": "nothing"}, "scratch: there is no key 'nothing'; there are times, machines"),
        ({"scratch": 0}, "scratch: expected a whole number from 1 on, got 0"),
        ({"scratch": lambda data: -1}, "scratch: expected a whole number from 1 on, got -1"),
        ({"keys": ("times", "machines", "scratch")}, "keys: 'scratch' is taken"),
    ],
)
def test_wrong_scratch_is_named(attributes, why):
    """When the class is read, or when an instance says how much it is; it is no key."""

    def solve():
        problem = as_problem(type("Wrong", (Loads,), attributes))
        nsa.solve(nsa.Task(problem, problem.generate(5, np.random.default_rng(1))), steps=5)

    with pytest.raises(NsaError, match=re.escape(why)):
        solve()
