"""Acceptance ratios in closed form."""

import math

import torch

from nsa_cli.anneal.acceptance import hastings, metropolis


def column(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_metropolis_is_minus_delta_over_heat():
    """exp(log ratio) is equation (1) of the paper before the minimum with 1."""
    ratio = metropolis(column(1.0, -2.0, 0.0), column(0.5, 4.0, 1.0)).exp()
    torch.testing.assert_close(ratio, column(math.exp(-2), math.exp(0.5), 1.0))


def test_at_temperature_zero_only_what_is_not_worse_is_accepted():
    """As log u < 0 always, a log ratio of 0 accepts and of minus infinity never does."""
    ratio = metropolis(column(1e-9, 0.0, -1.0), column(0.0, 0.0, 0.0))
    assert ratio[0] < -1e100
    assert ratio[1] == 0
    assert ratio[2] > 0


def test_hastings_adds_the_proposal_ratio():
    """A move twice as likely as its reverse is accepted half as often."""
    ratio = hastings(column(0.0), column(1.0), column(math.log(0.4)), column(math.log(0.2))).exp()
    torch.testing.assert_close(ratio, column(0.5))
