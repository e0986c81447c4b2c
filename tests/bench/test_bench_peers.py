"""Peers, where they are installed."""

import os

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.bench.measure import Portion, measure
from nsa_cli.bench.solvers import PeerSolver
from nsa_cli.bench.suites import find_contribution, suite_of_size
from nsa_cli.cli.main import exit_code
from nsa_cli.problems import builtin_names
from nsa_cli.problems.contribution import Peer
from nsa_cli.problems.knapsack.bench import integer_values
from nsa_cli.problems.tsp.bench import integer_matrix
from nsa_cli.problems.tsp.instance import TspInstance

PEERS = {
    (problem, name): peer
    for problem in builtin_names()
    for name, peer in find_contribution(nsa.find_problem(problem)).peers.items()
}

#: Swig's classes are not all that new Pythons want.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def installed(problem, name):
    if not PEERS[problem, name].installed:
        pytest.skip(f"needs {PEERS[problem, name].package}")
    return PEERS[problem, name]


def measured(solve):
    """Measure a peer on one instance of bin packing."""
    suite = suite_of_size(nsa.find_problem("bin"), 50, 1)
    measure(Portion(suite, (PeerSolver(name="it", peer=Peer(solve, "", ""), budget=1.0),), 1, timed=False))


@pytest.mark.parametrize(("problem", "name"), PEERS)
def test_peers_solve_small_instances(problem, name):
    """Feasibly, at least as well as the best heuristic here."""
    peer = installed(problem, name)
    for task in nsa.generate(problem, 9, 2, seed=1):
        instance = task.instance
        solution = peer.solve(instance, 0.2)
        assert instance.violation(solution) is None
        start = instance.objective(task.problem.start()(instance, lambda n: np.full(n, 0.5)))
        better = instance.objective(solution) - start
        assert (better if task.problem.sense == "max" else -better) >= -1e-6


@pytest.mark.parametrize("name", ["ortools-knapsack", "highs"])
def test_exact_knapsacks(name, shared):
    """To the last digit of the optima."""
    peer = installed("knapsack", name)
    optima = np.load(shared / "data" / "reference" / "knapsack50_opt.npy")
    for instance, best in zip(nsa.find_problem("knapsack").paper_set(50, 5), optima, strict=False):
        assert instance.objective(peer.solve(instance, 5.0)) == pytest.approx(best, abs=1e-12)


def test_a_peer_is_a_row_and_says_nothing(capfd):
    """Its banner stays out of the table; its limit is in the row."""
    installed("knapsack", "highs")
    few = ("--count", "2", "--policies", "none", "--device", "cpu")
    assert exit_code(["benchmark", "knapsack", "--sizes", "50", *few, "--against", "highs"]) == 0
    out, err = capfd.readouterr()
    assert "Running" not in out
    assert err == ""
    assert any(line.split()[1:3] == ["highs", "1s"] for line in out.splitlines())


def test_what_libraries_print_goes_nowhere(capfd):
    """Even if they know nothing of Python's stdout; before and after, it is open."""

    def chatty(instance, _seconds):
        os.write(1, b"banner")
        return np.arange(instance.size)

    print("before")
    measured(chatty)
    print("after")
    assert capfd.readouterr().out == "before\nafter\n"


def test_values_are_scaled_to_integers():
    """float32 draws by 2^24, decimals by 10^9, whole numbers not at all; others to what 64 bits hold."""
    assert integer_values(np.array([0.5, 2.0**-24])) == [2**23, 1]
    assert integer_values(np.array([0.1, 0.25])) == [10**8, 25 * 10**7]
    assert integer_values(np.array([3, 4])) == [3, 4]
    values = np.array([1 / 3, 2 / 3, 1e12])
    scaled = integer_values(values)
    assert sum(scaled) < 2**62
    assert np.array(scaled) / scaled[2] == pytest.approx(values / 1e12, abs=1e-12)


def test_edges_are_scaled_for_solvers_of_integers():
    """The longest edge is a million parts; small whole numbers stay."""
    square = TspInstance(coords=np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    assert integer_matrix(square).max() == 1_000_000
    assert integer_matrix(square)[0, 1] == round(1e6 / 2**0.5)
    assert integer_matrix(TspInstance(coords=np.array([[0, 0], [3, 4]]))).tolist() == [[0, 5], [5, 0]]
    assert (np.diag(integer_matrix(square)) == 0).all()
