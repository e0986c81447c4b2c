"""`nsa generate` as a user meets it."""

import json

import pytest

from nsa_cli.core.record import Source
from nsa_cli.problems.files import read_instances


def test_the_same_seed_writes_the_same_text(nsa):
    """And it is strict JSON that solve reads."""
    first, again, other = (nsa("generate", "bin", "--size", 6, "--seed", seed) for seed in (4, 4, 5))
    assert first.code == 0
    assert first.out == again.out != other.out
    ((problem, instance),) = read_instances(Source("x", "", first.out))
    assert (problem.name, instance.size) == ("bin", 6)


@pytest.mark.parametrize(("size", "capacity"), [(50, 12.5), (100, 25), (200, 25), (500, 62.5), (80, 10)])
def test_knapsack_capacities_are_the_papers(nsa, size, capacity):
    """12.5, 25, 25, then N / 8 (Appendix A)."""
    assert json.loads(nsa("generate", "knapsack", "--size", size).out)["capacity"] == capacity


def test_several_instances_are_lines_or_files(nsa, tmp_path):
    """One object a line on stdout; one file each in a directory."""
    done = nsa("generate", "bin", "--size", 5, "--count", 3, "--seed", 2)
    assert len(done.out.splitlines()) == 3
    assert nsa("generate", "tsp", "--size", 5, "--count", 3, "-o", tmp_path, "--format", "tsplib").code == 0
    assert len(list(tmp_path.glob("*.tsp"))) == 3


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nonsense", "--size", 5], "nonsense"),
        (["bin", "--size", 0], "size"),
        (["bin", "--size", 5, "--count", 0], "count"),
        (["bin", "--size", 51, "--paper"], "51"),
        (["bin", "--size", 50, "--paper", "--seed", 1], "--seed"),
        (["bin", "--size", 5, "--format", "tsplib"], "tsplib"),
        (["bin", "--size", 5, "--count", 2, "--format", "csv"], "one instance"),
        (["rosenbrock", "--size", 1], "dim"),
        (["bin"], "size"),
        (["bin", "--size", 5, "-o", "/nowhere/x.json"], "/nowhere"),
        (["bin", "--size", 5, "-o", "x.xlsx"], "--output: expected a file name that ends in .json, .jsonl, "),
        (["rosenbrock", "--size", 5, "-o", "x.csv"], "got 'x.csv'; use --format"),
    ],
)
def test_bad_arguments_are_one_line(nsa, arguments, word):
    """Exit code 2 and the reason."""
    done = nsa("generate", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert word in done.err
