"""Estimators of PPO and ES: advantages, clipped surrogate, ranks and search gradient; pure functions."""

from __future__ import annotations

import torch
from torch import Tensor


def advantages(rewards: Tensor, values: Tensor, last_value: Tensor, discount: float, trace: float) -> Tensor:
    """Estimate advantages with exponentially weighted temporal differences (Schulman et al. 2016).

    Parameters
    ----------
    rewards, values : float32[K, B]
    last_value : float32[B]
        Value of the state after the last step.
    discount, trace : float
        gamma and lambda.

    Returns
    -------
    float32[K, B]
    """
    following = torch.cat([values[1:], last_value[None]])
    errors = rewards + discount * following - values
    result = torch.zeros_like(errors)
    running = torch.zeros_like(last_value)
    for k in range(len(rewards) - 1, -1, -1):
        running = errors[k] + discount * trace * running
        result[k] = running
    return result


def normalised(advantage: Tensor) -> Tensor:
    """Shift and scale the advantages of a minibatch, float32[M], to mean 0 and standard deviation 1."""
    wide = advantage.double()
    spread = wide.std(correction=min(1, len(wide) - 1))
    return ((wide - wide.mean()) / (spread + 1e-8)).float()


def clipped_loss(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Negated clipped surrogate objective of PPO, sum over transitions (Schulman et al. 2017, eq. 7)."""
    ratio = log_ratio.exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).sum()


def losses(
    log_prob: Tensor,
    old: Tensor,
    possible: Tensor,
    advantage: Tensor,
    error: Tensor,
    clip: float,
    entropy: float,
) -> tuple[Tensor, Tensor]:
    """Add up the losses of both networks, and figures for the log, over transitions.

    Parameters
    ----------
    log_prob, old : float64[R]
        Log-probabilities of the moves, now and when they were made.
    possible : bool[R]
        Moves that were not possible teach the policy nothing.
    advantage : float32[R]
        `normalised` over the minibatch.
    error : float32[R]
        Values less returns.
    clip : float
        epsilon.
    entropy : float
        Weight of the bonus: with -log p as a sample of the entropy, its gradient is the usual one.

    Returns
    -------
    loss : float32[]
        Neither network sees the other's part of it.
    figures : float32[4]
        Approximate divergence from the policy that made the moves, number of clipped ratios, -log p, and
        squared errors.
    """
    log_ratio = torch.where(possible, log_prob - old, 0.0).float()
    surprise = torch.where(possible, -log_prob, 0.0).float()
    loss = clipped_loss(log_ratio, advantage, clip) + error.pow(2).sum()
    if entropy:
        loss = loss - entropy * (log_ratio.exp() * surprise).sum()
    with torch.no_grad():
        change = log_ratio.expm1()
        figures = change - log_ratio, change.abs().gt(clip).float(), surprise, error.pow(2)
        return loss, torch.stack([part.sum() for part in figures])


def shaped(energy: Tensor, kind: str) -> Tensor:
    """Rescale energies by a logarithm or a fourth root.

    Parameters
    ----------
    energy : float64[…]
    kind : str
        Beginning with ``log``: the logarithm; with ``root``: the fourth root; else they stay.
    """
    if kind.startswith("log"):
        return energy.clamp(min=1e-12).log()
    return energy.clamp(min=0.0) ** 0.25 if kind.startswith("root") else energy


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """Share of the returns' variance that the values explain: 1 is perfect, 0 no better than a constant."""
    variance = returns.var()
    return float(1 - (returns - values).var() / variance) if variance > 0 else 0.0


def centred_ranks(fitness: Tensor) -> Tensor:
    """Turn fitness into ranks spread evenly over [-1/2, 1/2]; equal fitness gets equal ranks.

    Parameters
    ----------
    fitness : float64[P]
        Larger is better.
    """
    if len(fitness) < 2:
        return torch.zeros_like(fitness)
    below = (fitness[:, None] > fitness).sum(1).double()
    equal = (fitness[:, None] == fitness).sum(1).double() - 1
    return (below + equal / 2) / (len(fitness) - 1) - 0.5


def search_gradient(noise: Tensor, ranks: Tensor, sigma: float) -> Tensor:
    """Gradient of the expected (shaped) fitness by the score function (Salimans et al. 2017, eq. 2).

    Parameters
    ----------
    noise : float32[P, D]
        Standard normal perturbations, in antithetic pairs.
    ranks : float64[P]
    sigma : float
    """
    return (ranks.to(noise.dtype)[:, None] * noise).mean(0) / sigma
