"""Acceptance ratios in closed form, and the same rule in every engine."""

import math

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.core.errors import UsageError
from nsa_cli.kernels.acceptance import COLD, RULES
from nsa_cli.kernels.annealing import log_ratio
from nsa_cli.kernels.jit import uncached


def column(*values):
    return torch.tensor(values, dtype=torch.float64)


def ratio(rule, delta, heat, forward=0.0, backward=0.0):
    """By columns."""
    return RULES[rule].log_ratio(column(*delta), column(*heat), column(forward), column(backward))


def test_metropolis_is_minus_delta_over_heat():
    """exp(log ratio) is equation (1) of the paper before the minimum with 1."""
    found = ratio("metropolis", (1.0, -2.0, 0.0), (0.5, 4.0, 1.0)).exp()
    torch.testing.assert_close(found, column(math.exp(-2), math.exp(0.5), 1.0))


@pytest.mark.parametrize("rule", RULES)
def test_at_temperature_zero_only_what_is_not_worse_is_accepted(rule):
    """As log u < 0 always, a log ratio of 0 accepts and of minus infinity never does."""
    worse, same, better = ratio(rule, (1e-9, 0.0, -1.0), (COLD,) * 3).tolist()
    assert worse < -1e100
    assert same >= 0
    assert better > 0


def test_hastings_adds_the_proposal_ratio():
    """A move twice as likely as its reverse is accepted half as often."""
    found = ratio("hastings", (0.0,), (1.0,), math.log(0.4), math.log(0.2)).exp()
    torch.testing.assert_close(found, column(0.5))


def test_threshold_accepts_up_to_the_temperature():
    """Whatever the draw, of which -36.8 is the lowest logarithm."""
    below, at, above = ratio("threshold", (0.3, 0.5, 0.5 + 1e-15), (0.5, 0.5, 0.5)).tolist()
    assert below > 0
    assert at == 0
    assert above < -36.8


@pytest.mark.parametrize("rule", RULES)
def test_a_compiled_rule_is_that_of_tensors(rule):
    """One formula serves both."""
    compiled = uncached(lambda rule, a, b, c, d: log_ratio(rule, a, b, c, d))
    rng = np.random.default_rng(0)
    arguments = rng.normal(size=(4, 100))
    arguments[1] = abs(arguments[1])
    expected = RULES[rule].log_ratio(*map(torch.from_numpy, arguments)).tolist()
    assert [compiled(RULES[rule], *column) for column in arguments.T] == expected


def large_steps(acceptance, temperature):
    """Three hundred kicks at one temperature: what each added, and what is 1 at temperature 1."""
    (task,) = nsa.generate("tsp", 300, seed=1)
    x = task.problem.start()(task.instance, np.random.default_rng(0).random)[None]
    runs = task.problem.large_step().runs([task.instance], x)
    chains = LargeStepChains(runs, stream_keys(3, np.arange(1)), acceptance=acceptance)
    energies = [chains.energy[0]]
    for _ in range(300):
        chains.advance(np.array([temperature]))
        energies.append(chains.energy[0])
    return np.diff(energies), runs[0].data.scale


def test_large_steps_take_a_threshold():
    """No kick that is kept adds more than the temperature, as some do by Metropolis' rule."""
    temperature = 0.3
    changes, scale = large_steps("threshold", temperature)
    assert 0 < changes.max() <= temperature * scale * (1 + 1e-9)
    assert large_steps("metropolis", temperature)[0].max() > temperature * scale


def test_large_steps_refuse_a_rule_that_needs_the_way_back():
    """A kick and its local search have no reverse whose probability is known."""
    with pytest.raises(UsageError, match="expected one of metropolis, threshold with large steps"):
        large_steps("hastings", 0.3)


@pytest.mark.parametrize("settings", [{"backend": "torch"}, {"backend": "numba"}, {"method": "large-step"}])
def test_solve_takes_every_rule_by_name(settings):
    """By kernels, by torch and by large steps."""
    (task,) = nsa.generate("knapsack", 30, seed=1)
    result = nsa.solve(
        task, steps=200, chains=1, seed=1, acceptance="threshold", bound=False, device="cpu", **settings
    )
    assert result.accepted > 0
