"""Evolution strategies, top to bottom (Salimans et al. 2017; Appendix A of the paper)."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from nsa_cli.policy.build import LearntPolicy
from nsa_cli.train.config import EsConfig
from nsa_cli.train.estimators import centred_ranks, search_gradient, shaped
from nsa_cli.train.loop import Training


@torch.no_grad()
def train_es(run: Training, *, resume: bool = False) -> LearntPolicy:
    """Train a policy; the best on the validation instances is in ``run.out``.

    Parameters
    ----------
    run : Training
        With an `EsConfig`.
    resume : bool
        Go on from the state beside ``run.out``.
    """
    config = run.config
    assert isinstance(config, EsConfig)
    policy = run.new_policy().to(run.device)
    mean = parameters_to_vector(policy.parameters())  # [D]
    velocity = torch.zeros_like(mean)  # [D]
    first, mine = 0, run.group.part(config.population)  # P' members are rolled out here
    if (state := run.begin(resume=resume)) is not None:
        mean, velocity, first = state["mean"], state["velocity"], state["epoch"]

    for epoch in range(first, config.epochs):
        # Everything random in an epoch comes from (seed, epoch): a resumed run is the same run.
        generator = torch.Generator().manual_seed((run.seed << 24) + epoch)
        half = torch.randn(config.population // 2, len(mean), generator=generator).to(run.device)
        noise = torch.cat([half, -half])  # [P, D]

        # All members see the same instances, starts and random numbers.
        instances = run.instances(epoch)
        keys = run.keys(epoch, len(instances))
        x = run.starts(instances, keys)
        members = stacked(policy, (mean + config.sigma * noise)[mine])
        energy, accepted = run.rollouts(
            members, instances, x, keys, run.schedule(), mine.stop - mine.start
        )  # [P', B]
        found = torch.stack([fitness_of(energy, config.fitness), accepted.sum(1).double().cpu()], 1)
        fitness, moves = run.group.gather(found).T  # [P]
        gradient = search_gradient(noise, centred_ranks(fitness).to(run.device), config.sigma)  # [D]
        velocity = config.momentum * velocity + gradient
        late = epoch >= config.epochs - config.epochs // 10
        mean = mean + config.learning_rate * (config.final_learning_rate if late else 1.0) * velocity

        vector_to_parameters(mean, policy.parameters())
        row = {
            "cost": -float(fitness.mean()),
            "best_member": -float(fitness.max()),
            "acceptance": float(moves.mean()) / len(instances) / config.steps,
            "gradient_norm": float(gradient.norm()),
            "parameter_norm": float(mean.norm()),
        }
        if run.end_epoch(epoch, policy, row, {"mean": mean, "velocity": velocity}):
            break
    return policy


def fitness_of(energy: Tensor, kind: str) -> Tensor:
    """Compute the fitness of members from their energies, float64[P, B]: float64[P], larger is better.

    Member by member, so that the bits do not depend on the members beside it.
    """
    means = [-float(np.mean(shaped(row.cpu().clone(), kind).numpy())) for row in energy]
    return torch.tensor(means, dtype=torch.float64)


def stacked(policy: LearntPolicy, vectors: Tensor) -> LearntPolicy:
    """Make one policy of P members: of a batch of P B rows, rows ``[p B, (p + 1) B)`` follow the p-th.

    Parameters
    ----------
    policy : SlotPolicy or GaussianPolicy
        Whose form the members have.
    vectors : float32[P, D]
        Parameters of the members.
    """
    members = copy.deepcopy(policy).requires_grad_(False)
    parts = torch.split(vectors, [p.numel() for p in policy.parameters()], dim=1)
    for parameter, part in zip(members.parameters(), parts, strict=True):
        parameter.data = part.reshape(len(vectors), *parameter.shape)
    return members
