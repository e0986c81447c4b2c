"""Peers, where they are installed."""

import os
import sys

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.bench.measure import Portion, measure
from nsa_cli.bench.solvers import Monitor, PeerSolver
from nsa_cli.bench.suites import find_contribution, suite_of_size
from nsa_cli.cli.main import exit_code
from nsa_cli.core.errors import NsaError
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


def solved(peer, problem, size):
    """Measure a peer on one instance of the paper's; give the instance, and the run."""
    suite = suite_of_size(nsa.find_problem(problem), size, 1)
    if not isinstance(peer, Peer):
        peer = Peer(peer, "", "")
    portion = Portion(suite, (PeerSolver(name="it", peer=peer, budget=1.0),), (0,), 1, timed=False)
    return suite.tasks[0].instance, measure(portion, Monitor())["runs"][0]


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


#: Stands in for Concorde and LKH: reads what they would, and writes cities from the last to the first.
PROGRAM = """#!{python}
import re, sys
from pathlib import Path
lines = Path("in.par").read_text().splitlines() if len(sys.argv) == 2 else []
parameters = dict(line.split(" = ") for line in lines)
text = Path(parameters.get("PROBLEM_FILE", sys.argv[-1])).read_text()
count = int(re.search(r"DIMENSION : (\\d+)", text)[1])
weights = text.split("EDGE_WEIGHT_SECTION")[1].split()[:-1]
assert len(weights) == count * count and "FULL_MATRIX" in text
sum(range(3_000_000))
print("banner")
if parameters:
    lines = ["NAME: it", "TOUR_SECTION", *map(str, range(count, 0, -1)), "-1", "EOF"]
    Path(parameters["OUTPUT_TOUR_FILE"]).write_text("\\n".join(lines))
elif {works}:
    out = sys.argv[sys.argv.index("-o") + 1]
    Path(out).write_text(" ".join(map(str, [count, *range(count - 1, -1, -1)])))
"""


def put_program(folder, name, monkeypatch, works=True):
    """Put a program on the path, alone."""
    (folder / name).write_text(PROGRAM.format(python=sys.executable, works=works))
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(("name", "program"), [("lkh", "LKH"), ("concorde", "concorde")])
def test_programs_are_started_where_a_user_has_them(name, program, tmp_path, monkeypatch, capfd):
    """They get the instance as a TSPLIB file; their words go nowhere, their processor time counts."""
    put_program(tmp_path, program, monkeypatch)
    instance, run = solved(PEERS["tsp", name], "tsp", 20)
    assert run["objective"] == instance.objective(np.arange(19, -1, -1))
    assert run["cpu_seconds"] > 0.02
    assert capfd.readouterr() == ("", "")


def test_a_program_that_is_missing_or_gives_up_is_one_line(tmp_path, monkeypatch, capfd):
    """Before anything runs in the one case, by its name in the other."""
    few = ["benchmark", "tsp", "--sizes", "20", "--count", "1", "--policies", "none", "--device", "cpu"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert exit_code([*few, "--against", "concorde"]) == 2
    assert "there is no program concorde on the path" in capfd.readouterr().err
    put_program(tmp_path, "concorde", monkeypatch, works=False)
    with pytest.raises(NsaError, match="concorde ended without a tour"):
        solved(PEERS["tsp", "concorde"], "tsp", 20)


def test_what_libraries_print_goes_nowhere(capfd):
    """Even if they know nothing of Python's stdout; before and after, it is open."""

    def chatty(instance, _seconds):
        os.write(1, b"banner")
        return np.arange(instance.size)

    print("before")
    solved(chatty, "bin", 50)
    print("after")
    assert capfd.readouterr().out == "before\nafter\n"


def test_an_infeasible_answer_is_named():
    """Whatever a solver says, its solution is checked."""
    with pytest.raises(NsaError, match=r"it returned an infeasible solution of bin50-1: bin 1 "):
        solved(lambda instance, _: np.zeros(instance.size, dtype=int), "bin", 50)


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
