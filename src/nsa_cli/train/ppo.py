"""Proximal policy optimisation, top to bottom (Schulman et al. 2017; Appendix A of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from nsa_cli.anneal import engine
from nsa_cli.core.draws import uniforms_torch
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Instance
from nsa_cli.core.operations import Action, ContinuousOperations, DiscreteOperations, Operations, select
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.policy.slots import PointwiseNetwork
from nsa_cli.train.config import PpoConfig
from nsa_cli.train.estimators import advantages, explained_variance, losses, normalised, shaped
from nsa_cli.train.loop import Training


class Critic(nn.Module):
    """Value network: mean score of the first choice's candidates.

    It shares no weights with the actor (Appendix A). The mean makes it independent of the order and,
    roughly, of the number of candidates.
    """

    def __init__(self, operations: Operations[Any, Any], feature_set: str, hidden: int) -> None:
        super().__init__()
        self.feature_set = feature_set
        if isinstance(operations, ContinuousOperations):
            features = operations.features + 1
        else:
            assert isinstance(operations, DiscreteOperations)
            features = operations.feature_sets[feature_set].slots[0].features
            if not features:
                raise UsageError(
                    f"PPO needs a first choice made by a network, {feature_set} has none",
                    option="features",
                    use={"method": "es"},
                )
        self.network = PointwiseNetwork(features, hidden)
        self.offset = nn.Parameter(torch.zeros(()))

    def forward(self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor) -> Tensor:
        """Values, float32[B]."""
        if isinstance(operations, ContinuousOperations):
            seen = operations.observe(batch, x, temperature)
            heat = temperature.to(torch.float32).expand(len(x))[:, None]
            features = torch.cat([seen, heat], 1)[:, None]
        else:
            assert isinstance(operations, DiscreteOperations)
            features = operations.feature_sets[self.feature_set].compute(batch, x, (), temperature)
        return self.network(features).mean(1) + self.offset


class Learner(NamedTuple):
    """Actor, critic and their optimiser, whose states are saved for resuming."""

    policy: LearntPolicy
    critic: Critic
    optimiser: torch.optim.Optimizer


class Trajectories(NamedTuple):
    """K steps of B chains.

    Attributes
    ----------
    batch : NamedTuple
        Of B instances.
    x : [K, B, …]
        States, before the steps.
    action : tuple of [K, B, …]
    temperature : float64[K]
    log_prob : float64[K, B]
        Of the moves when they were made.
    possible : bool[K, B]
        Moves that were not possible teach the policy nothing.
    reward : float32[K, B]
        See `PpoConfig.reward`; in normalised units.
    value : float32[K + 1, B]
        The critic's, of the last states, too.
    cost, accepted : float64[B]
        Of each chain; see `Operations.losses`.
    """

    batch: Any
    x: Tensor
    action: Action
    temperature: Tensor
    log_prob: Tensor
    possible: Tensor
    reward: Tensor
    value: Tensor
    cost: Tensor
    accepted: Tensor


def train_ppo(run: Training, *, resume: bool = False) -> LearntPolicy:
    """Train a policy; the best on the validation instances is in ``run.out``.

    Parameters
    ----------
    run : Training
        With a `PpoConfig`.
    resume : bool
        Go on from the state beside ``run.out``.
    """
    config = run.config
    assert isinstance(config, PpoConfig)
    if run.group.size > 1:
        raise UsageError("PPO trains in one process", option="method", use={"method": "es"})
    learner, first = untrained(run, config), 0
    if (state := run.begin(resume=resume)) is not None:
        for name, part in learner._asdict().items():
            part.load_state_dict(state[name])
        first = state["epoch"]

    for epoch in range(first, config.epochs):
        # Everything random in an epoch comes from (seed, epoch): a resumed run is the same run.
        generator = torch.Generator().manual_seed((run.seed << 24) + epoch)
        instances = run.instances(epoch)
        rollout = collect(run, learner, instances, run.keys(epoch, len(instances)))
        row = improve(run, config, learner, rollout, generator)
        parts = {name: part.state_dict() for name, part in learner._asdict().items()}
        if run.end_epoch(epoch, learner.policy, row, parts):
            break
    return learner.policy


def untrained(run: Training, config: PpoConfig) -> Learner:
    """Make actor, critic and optimiser of this run's seed."""
    policy = run.new_policy().to(run.device)
    critic = Critic(run.operations, config.features, config.hidden).to(run.device)
    groups = [
        {"params": list(policy.parameters()), "lr": config.learning_rate},
        {"params": list(critic.parameters()), "lr": config.critic_learning_rate},
    ]
    return Learner(policy, critic, torch.optim.AdamW(groups, weight_decay=config.weight_decay, fused=True))


@torch.no_grad()
def collect(run: Training, learner: Learner, instances: list[Instance], keys: np.ndarray) -> Trajectories:
    """Roll chains out and keep their transitions and rewards."""
    operations, config, x = run.operations, run.config, run.starts(instances, keys)
    assert isinstance(config, PpoConfig)
    batch, size = operations.pack(instances, run.device, config.unit), x.shape[1]
    temperatures = torch.from_numpy(run.schedule().temperatures(0, config.steps)).to(run.device)
    energy = operations.cost(batch, x) / batch.scale
    lowest, accepted = energy, torch.zeros_like(energy)
    states, actions, kept, best = [], [], [], config.reward.endswith("best")
    steps = _steps(run, learner.policy, instances, batch, x, keys, temperatures)
    for heat, info in zip(temperatures, steps, strict=True):
        log_prob = learner.policy.log_prob(operations, batch, x, heat, info.action)
        value = learner.critic(operations, batch, x, heat)
        states.append(x)
        actions.append(info.action)
        moved = operations.apply(batch, x, info.action)
        x = torch.where(info.accepted.reshape(-1, *[1] * (x.dim() - 1)), moved, x)
        before = lowest if best else energy
        energy = energy + torch.where(info.accepted, info.delta, 0.0) / batch.scale
        lowest, accepted = torch.minimum(lowest, energy), accepted + info.accepted
        after = lowest if best else energy
        was, now = (shaped(run.losses(part, size), config.reward) for part in (before, after))
        kept.append((log_prob, info.possible, (was - now).float(), value))
    log_prob, possible, reward, value = (torch.stack(part) for part in zip(*kept, strict=True))
    last = learner.critic(operations, batch, x, temperatures[-1])
    return Trajectories(
        batch,
        torch.stack(states),
        tuple(torch.stack(part) for part in zip(*actions, strict=True)),
        temperatures,
        log_prob,
        possible,
        reward,
        torch.cat([value, last[None]]),
        run.losses(lowest, size),
        accepted,
    )


def _steps(
    run: Training,
    policy: LearntPolicy,
    instances: list[Instance],
    batch: Any,
    x: Tensor,
    keys: np.ndarray,
    temperatures: Tensor,
) -> Iterator[engine.StepInfo]:
    """Step chains through an epoch: by the kernel all at once, or by the reference one by one."""
    operations = run.operations
    if isinstance(operations, DiscreteOperations) and (layout := run.layout(policy)) is not None:
        moves = run.chains(layout, instances, x, keys).record(temperatures.numpy())
        action, possible, change, accepted = map(torch.from_numpy, moves[1:5])
        for k in range(len(temperatures)):
            slots = action[k].T[: operations.slots]
            yield engine.StepInfo(tuple(slots), possible[k], accepted[k], change[k])
        return
    draws = uniforms_torch(
        torch.from_numpy(keys).to(run.device), 0, len(temperatures), policy.draws(operations, x) + 1
    )
    state = engine.start(operations, batch, x)
    for temperature, u in zip(temperatures, draws, strict=True):
        state, info = engine.step(operations, batch, policy, state, temperature, u)
        yield info


def improve(
    run: Training, config: PpoConfig, learner: Learner, rollout: Trajectories, generator: torch.Generator
) -> dict[str, float]:
    """Update both networks by several passes of minibatches; give the figures for the log."""
    value, width = rollout.value[:-1], rollout.reward.shape[1]
    estimate = advantages(rollout.reward, value, rollout.value[-1], config.discount, config.trace)
    advantage, returns, values = (part.flatten() for part in (estimate, estimate + value, value))
    x, temperature = rollout.x.flatten(0, 1), rollout.temperature.repeat_interleave(width)
    action = tuple(part.flatten(0, 1) for part in rollout.action)
    log_prob, possible = rollout.log_prob.flatten(), rollout.possible.flatten()
    actor, critic = (part["params"] for part in learner.optimiser.param_groups)
    sums, updates = torch.zeros(5), 0
    for _ in range(config.passes):
        order = torch.randperm(len(advantage), generator=generator).to(run.device)
        for chosen in torch.split(order, config.minibatch):
            learner.optimiser.zero_grad()
            states = select(rollout.batch, chosen % width), x[chosen], temperature[chosen]
            loss, found = losses(
                learner.policy.log_prob(run.operations, *states, tuple(part[chosen] for part in action)),
                log_prob[chosen],
                possible[chosen],
                normalised(advantage[chosen]),
                learner.critic(run.operations, *states) - returns[chosen],
                config.clip,
                config.entropy,
            )
            (loss / len(chosen)).backward()  # type: ignore[no-untyped-call]
            norm, _ = (clip_grad_norm_(network, config.gradient_norm) for network in (actor, critic))
            learner.optimiser.step()
            sums += torch.cat([found.cpu() / len(chosen), norm.detach().cpu()[None]])
            updates += 1
    names = ("kl", "clip_fraction", "entropy", "value_loss", "gradient_norm")
    return {
        "cost": float(rollout.cost.double().mean()),
        "acceptance": float(rollout.accepted.double().mean()) / config.steps,
        "explained_variance": explained_variance(values, returns),
        **dict(zip(names, (sums / updates).tolist(), strict=True)),
    }
