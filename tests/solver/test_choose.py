"""Which search runs an instance, by what is asked for."""

import pytest

import nsa_cli as nsa
from nsa_cli.solver.choose import choose, choose_device, choose_policy
from nsa_cli.solver.search import CompiledSearch, LargeStepSearch
from nsa_cli.solver.settings import Settings


def search_for(name, size=30, **options):
    """Choose for a random instance on the CPU."""
    (task,) = nsa.generate(name, size, seed=1)
    settings = Settings(device="cpu", **options)
    return choose(task, choose_policy(task, settings), settings, "cpu", 1)


@pytest.mark.parametrize("name", ["tsp", "knapsack", "bin"])
def test_large_steps_are_the_default(name):
    """With no policy."""
    for options in ({}, {"time_limit": 1.0}, {"chains": 3}):
        found = search_for(name, **options)
        assert isinstance(found, LargeStepSearch)
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
    assert isinstance(found, CompiledSearch)
    assert (found.method, found.backend) == ("anneal", "numba")


def test_annealing_takes_the_best_policy_of_the_neighbourhood():
    """Each neighbourhood has its own."""
    assert search_for("bin", method="anneal").policy == "bin-es-best"
    assert search_for("bin", neighbourhood="paper").policy == "bin-es-bins"
    assert search_for("tsp", neighbourhood="nearest:7").neighbourhood.name == "nearest:7"


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


def test_devices_are_checked_before_torch_is_asked():
    """What is no device is refused in the words of the options."""
    assert choose_device("cpu") == "cpu"
    with pytest.raises(nsa.UsageError, match=r"^device: expected auto, cpu, cuda or cuda:N, got 'tpu'"):
        choose_device("tpu")
