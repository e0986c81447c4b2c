"""Which search runs an instance, by what is asked for."""

import pytest

import nsa_cli as nsa
from nsa_cli.solver.search import choose_policy, choose_search
from nsa_cli.solver.settings import Settings


def search_for(name, size=30, **options):
    """Choose for a random instance on the CPU."""
    (task,) = nsa.generate(name, size, seed=1)
    settings = Settings(device="cpu", **options)
    return choose_search(task, choose_policy(task, settings), settings)


@pytest.mark.parametrize("name", ["tsp", "bin"])
def test_large_steps_are_the_default(name):
    """With no policy."""
    for options in ({}, {"time_limit": 1.0}, {"chains": 3}):
        found = search_for(name, **options)
        assert (found.method, found.policy, found.digest) == ("large-step", "none", None)


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 10},
        {"t_start": 1.0},
        {"policy": "uniform"},
        {"neighbourhood": "paper"},
        {"greedy": True},
        {"method": "anneal"},
    ],
    ids=str,
)
def test_what_only_annealing_has_chooses_annealing(options):
    """By compiled kernels, on a CPU."""
    found = search_for("tsp", **options)
    assert (found.method, found.backend) == ("anneal", "numba")


def test_annealing_takes_the_best_policy_of_the_neighbourhood():
    """Each neighbourhood has its own."""
    assert search_for("bin", method="anneal").policy == "bin-es-best"
    assert search_for("bin", neighbourhood="paper").policy == "bin-es-bins"
    assert search_for("tsp", neighbourhood="nearest:7").moves.name == "nearest:7"


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"method": "large-step", "policy": "uniform"}, "method"),
        ({"method": "large-step", "backend": "torch"}, "method"),
        ({"neighbourhood": "nearest:5"}, "neighbourhood"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused_by_name(options, option):
    """With the option as data."""
    with pytest.raises(nsa.UsageError) as caught:
        search_for("bin", **options)
    assert caught.value.option == option
