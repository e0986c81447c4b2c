"""Advantages, losses, ranks and gradients in closed form."""

import math

import pytest
import torch

from nsa_cli.train.estimators import (
    advantages,
    centred_ranks,
    clipped_loss,
    explained_variance,
    search_gradient,
)


def test_advantages_by_hand():
    """Two steps: delta_1 = 2 + 0.5*4 - 3 = 1, delta_0 = 1 + 0.5*3 - 2 = 0.5, A_0 = 0.5 + 0.5*0.8*1."""
    result = advantages(
        torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [3.0]]), torch.tensor([4.0]), 0.5, 0.8
    )
    torch.testing.assert_close(result, torch.tensor([[0.9], [1.0]]))


def test_with_trace_one_advantages_are_returns_less_values():
    """The telescoping sum of temporal differences."""
    generator = torch.Generator().manual_seed(0)
    rewards, values = torch.rand(2, 5, 3, generator=generator)
    last = torch.rand(3, generator=generator)
    returns, running = [], last
    for reward in reversed(rewards):
        running = reward + 0.9 * running
        returns.insert(0, running)
    torch.testing.assert_close(advantages(rewards, values, last, 0.9, 1.0), torch.stack(returns) - values)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"),
    [
        (1.1, 2.0, -2.2),  # inside the clip range
        (1.5, 2.0, -2.5),  # a gain is taken up to 1.25
        (0.5, 2.0, -1.0),  # a loss of probability of a good action is not clipped
        (0.5, -2.0, 1.5),  # nor rewarded beyond 0.75 for a bad one
        (1.5, -2.0, 3.0),
    ],
)
def test_clipped_loss_by_hand(ratio, advantage, loss):
    """-min(r A, clip(r) A) with epsilon 0.25."""
    result = clipped_loss(torch.tensor([math.log(ratio)]), torch.tensor([advantage]), 0.25)
    assert result.item() == pytest.approx(loss, rel=1e-5)


def test_explained_variance_at_its_ends():
    """1 for perfect values, 0 for constant ones, negative for worse."""
    returns = torch.tensor([1.0, 2.0, 3.0])
    assert explained_variance(returns, returns) == 1
    assert explained_variance(torch.zeros(3), returns) == 0
    assert explained_variance(-returns, returns) < 0
    assert explained_variance(returns, torch.ones(3)) == 0


def test_ranks_are_even_and_fair_to_equals():
    """Evenly over [-1/2, 1/2]; ties share; the scale of fitness does not matter."""
    assert centred_ranks(torch.tensor([10.0, -3.0, 1e9])).tolist() == [0.0, -0.5, 0.5]
    assert centred_ranks(torch.tensor([5.0, 5.0, 7.0])).tolist() == [-0.25, -0.25, 0.5]
    assert centred_ranks(torch.tensor([1.0])).tolist() == [0.0]


def test_search_gradient_points_uphill():
    """Of a linear function of two parameters, with antithetic pairs: along its slope."""
    generator = torch.Generator().manual_seed(0)
    half = torch.randn(500, 2, generator=generator)
    noise = torch.cat([half, -half])
    fitness = (noise @ torch.tensor([3.0, -1.0])).double()
    gradient = search_gradient(noise, centred_ranks(fitness), 0.1)
    assert gradient[0] / gradient[1] == pytest.approx(-3, rel=0.15)
    assert gradient[0] > 0
