"""Many elements: limits that are too short, memory, interrupts; no worse than classical heuristics."""

import json
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.problems.files import write_instances

#: Limit of the address space of a process, in bytes.
MEMORY = 8 * 2**30


def tours(rng, size):
    """Cities in the unit square."""
    return "tsp", {"coords": rng.random((size, 2)).tolist()}


def coincident(rng, size):
    """Cities on a few places, at whole distances."""
    side = int(size**0.5) // 3
    return "tsp", {"coords": rng.integers(0, side, (size, 2)).tolist(), "edge_weight_type": "EUC_2D"}


def strong(rng, size):
    """Items that are worth a little more than they weigh."""
    weights = rng.integers(1, 10**9, size)
    values, capacity = weights + 10**8, int(weights.sum()) // 2
    return "knapsack", {"values": values.tolist(), "weights": weights.tolist(), "capacity": capacity}


def decimals(rng, size):
    """Items with decimals, some of which are whole."""
    values, weights = (np.round(rng.random(size) * 100, 1) for _ in range(2))
    return "knapsack", {"values": values.tolist(), "weights": weights.tolist(), "capacity": size}


def pieces(rng, size):
    """Pieces of any size."""
    return "bin", {"weights": rng.random(size).tolist(), "capacity": 1}


def tiny_and_huge(rng, size):
    """Pieces that fill a bin nearly, and dust."""
    weights = np.where(
        rng.random(size) < 0.5, rng.integers(1, 10, size), rng.integers(9 * 10**8, 10**9, size)
    )
    return "bin", {"weights": weights.tolist(), "capacity": 10**9}


KINDS = (tours, coincident, strong, decimals, pieces, tiny_and_huge)


def instance_of(kind, size):
    """An instance with its problem."""
    name, record = kind(np.random.default_rng(size), size)
    problem = nsa.find_problem(name)
    return problem, problem.from_record(record)


def run(*words, memory=None):
    """Run the command; its exit code, and seconds by the clock and of the processor."""
    limit = None if memory is None else lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "nsa_cli", *map(str, words)]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done, wall, used


def is_no_worse(problem, instance, objective):
    """Tell whether an objective is as good as that of the constructive heuristic."""
    classical = instance.objective(problem.start("greedy")(instance, None))
    return objective <= classical if problem.sense == "min" else objective >= classical


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=() if k in (tours, decimals) else pytest.mark.slow) for k in KINDS]
)
def test_with_too_little_time_the_constructive_heuristic_is_the_least(kind, tmp_path):
    """A hundred thousand elements within hardly any time."""
    problem, instance = instance_of(kind, 100_000)
    path, out = tmp_path / "many.json", tmp_path / "out.json"
    path.write_text(write_instances(problem, [instance], "json"))
    done, _, _ = run("solve", path, "--time-limit", "100ms", "--seed", 1, "-o", out)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert is_no_worse(problem, instance, found["objective"])
    assert run("check", path, out, "--no-bound")[0].returncode == 0


@pytest.mark.parametrize(
    ("kind", "fmt"), [(tours, "tsplib"), (tours, "csv"), (strong, "csv"), (decimals, "csv")]
)
def test_files_of_many_elements_are_what_was_written(kind, fmt, tmp_path):
    """Whatever the format."""
    problem, instance = instance_of(kind, 20_000)
    path = tmp_path / f"many.{fmt}"
    path.write_text(write_instances(problem, [instance], fmt))
    (task,) = nsa.read(path)
    assert task.instance.record() == instance.record()


def test_a_decimal_comma_in_many_rows(tmp_path):
    """Is read as in few."""
    rng = np.random.default_rng(0)
    rows = np.round(rng.random((5_000, 2)) * 100, 3)
    text = "\n".join(";".join(f"{x:.3f}".replace(".", ",") for x in row) for row in rows)
    path = tmp_path / "cities.csv"
    path.write_text("x;y\n" + text + "\n")
    (task,) = nsa.read(path)
    assert np.array_equal(task.instance.coords, rows)


def test_an_interrupt_while_the_instance_is_read(interrupted):
    """Has a line that says that there is no solution, and the exit code of the signal."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    found = interrupted("solve", "-", numbers=numbers, after=3, stdin=subprocess.PIPE)
    assert {done.err for done in found} == {"nsa: interrupted before there was a solution\n"}
    assert [done.code for done in found] == [128 + number for number in numbers]


@pytest.mark.study
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [2, 20])
def test_a_million_within_eight_gibibytes(kind, limit, tmp_path):
    """From the file to a checked answer, no worse than the heuristic's, and a second late at most.

    What waits for other work on the machine is not counted; 2 s are less than a first solution takes.
    """
    problem, instance = instance_of(kind, 1_000_000)
    path, out = tmp_path / "million.json", tmp_path / "out.json"
    path.write_text(write_instances(problem, [instance], "json"))
    done, wall, used = run("solve", path, "--time-limit", limit, "--seed", 1, "-o", out, memory=MEMORY)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert is_no_worse(problem, instance, found["objective"])
    assert min(wall, used) < (21 if limit == 20 else 12)
    if found["found_by"] == "start" and wall > limit + 2:
        assert "late" in done.stderr
    checked = run("check", path, out, "--no-bound", memory=MEMORY)[0]
    assert checked.returncode == 0, checked.stdout
