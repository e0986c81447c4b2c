"""Proximal policy optimisation, top to bottom (Schulman et al. 2017; Appendix A of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from nsa_cli.anneal import engine
from nsa_cli.core.draws import uniforms_torch
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Instance
from nsa_cli.core.operations import DiscreteOperations
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.train.config import PpoConfig
from nsa_cli.train.estimators import Losses, Targets, advantages, explained_variance, normalised, shaped
from nsa_cli.train.group import Group
from nsa_cli.train.loop import Training, check_like, finite_like
from nsa_cli.train.transitions import Critic, Minibatch, Trajectories, transitions


class Learner(NamedTuple):
    """Actor, critic and their optimiser.

    Attributes
    ----------
    policy : LearntPolicy
    critic : Critic
    weights : tuple of two Parameter
        All of the policy's, all of the critic's; see `together`.
    optimiser : torch.optim.Optimizer
        Of both.
    """

    policy: LearntPolicy
    critic: Critic
    weights: tuple[nn.Parameter, nn.Parameter]
    optimiser: torch.optim.Optimizer

    @property
    def parts(self) -> dict[str, Any]:
        """Modules whose state is saved for resuming."""
        return {"policy": self.policy, "critic": self.critic, "optimiser": self.optimiser}


class Share(NamedTuple):
    """The chains of an epoch that this process rolled out, and what updates need of all B chains.

    Row ``k B + b`` of all transitions is step k of chain b.

    Attributes
    ----------
    group : Group
    chains : slice
        Of the B.
    size : int
        B.
    advantage : float32[K B]
        Of all transitions.
    """

    group: Group
    chains: slice
    size: int
    advantage: Tensor

    def own(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Find the own ones among rows of all transitions.

        Returns
        -------
        own : bool[M]
        rows : int64[R]
            Where those are among the transitions of this process.
        """
        chain = rows % self.size
        own = (chain >= self.chains.start) & (chain < self.chains.stop)
        width = self.chains.stop - self.chains.start
        return own, rows[own] // self.size * width + chain[own] - self.chains.start


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
    if run.group.size > config.problems:
        raise UsageError(
            f"{run.group.size} processes for {config.problems} instances an epoch: start fewer, or raise "
            "problems in a configuration"
        )
    learner, first, mine = untrained(run, config), 0, run.group.part(config.problems)
    if (state := run.begin(resume=resume)) is not None:
        with run.restoring():
            for name, part in learner.parts.items():
                check_like(part.state_dict(), state[name])
                part.load_state_dict(state[name])
            _check_moments(learner.optimiser)
        first = state["epoch"]

    for epoch in range(first, config.epochs):
        # Everything random in an epoch comes from (seed, epoch): a resumed run is the same run.
        generator = torch.Generator().manual_seed((run.seed << 24) + epoch)
        instances = run.instances(epoch)[mine]
        keys = run.keys(epoch, config.problems)[mine]
        batch = run.operations.pack(instances, run.device, config.unit)
        rollout = collect(run, learner.policy, batch, instances, keys)
        value, targets = judge(config, learner.critic, rollout)
        share, row = exchange(run, rollout, value, targets)
        row |= improve(config, learner, rollout["transitions"], targets, share, generator)
        parts = {name: part.state_dict() for name, part in learner.parts.items()}
        if run.end_epoch(epoch, learner.policy, row, parts):
            break
    return learner.policy


def _check_moments(optimiser: torch.optim.Optimizer) -> None:
    """Insist on moments that Adam can have noted for its weights.

    Raises
    ------
    ValueError
        If it is something else.
    """
    for weights, moments in optimiser.state.items():
        if set(moments) != {"step", "exp_avg", "exp_avg_sq"}:
            raise ValueError("other moments")
        if not 0 <= float(finite_like(weights.new_zeros(()), moments["step"])) < 2**24:
            raise ValueError("a step out of range")
        for name in ("exp_avg", "exp_avg_sq"):
            finite_like(weights, moments[name])


def untrained(run: Training, config: PpoConfig) -> Learner:
    """Make actor, critic and optimiser of this run's seed."""
    policy = run.new_policy().to(run.device)
    critic = Critic(run.operations, config.features, config.hidden).to(run.device)
    actor_weights, critic_weights = together(policy), together(critic)
    optimiser = torch.optim.AdamW(
        [
            {"params": [actor_weights], "lr": config.learning_rate},
            {"params": [critic_weights], "lr": config.critic_learning_rate},
        ],
        weight_decay=config.weight_decay,
        fused=True,
    )
    return Learner(policy, critic, (actor_weights, critic_weights), optimiser)


@torch.no_grad()
def judge(config: PpoConfig, critic: Critic, rollout: dict[str, Any]) -> tuple[Tensor, Targets]:
    """Estimate advantages and returns of the moves of a rollout, L = K B of them.

    Returns
    -------
    values : float32[L]
        The critic's, of the states.
    targets : Targets
    """
    K, B = rollout["reward"].shape
    seen, device = rollout["transitions"], rollout["reward"].device
    every = torch.split(torch.arange((K + 1) * B, device=device), config.minibatch)
    value = torch.cat([seen.values(critic, rows) for rows in every]).reshape(K + 1, B)
    estimate = advantages(rollout["reward"], value[:-1], value[-1], config.discount, config.trace)
    parts_of = (rollout["log_prob"], rollout["possible"], estimate, estimate + value[:-1])
    return value[:-1].flatten(), Targets(*(part.flatten() for part in parts_of))


def exchange(
    run: Training, rollout: dict[str, Any], value: Tensor, targets: Targets
) -> tuple[Share, dict[str, float]]:
    """Gather what all processes need of a rollout; means of its figures, for the log."""
    (K, _), config = rollout["reward"].shape, run.config
    by_step = torch.cat([part.reshape(K, -1) for part in (targets.advantage, targets.returns, value)])
    mine = torch.cat([torch.stack([rollout["cost"], rollout["accepted"]]), by_step.double()])
    whole = run.group.gather(mine.T.contiguous(), config.problems).T  # [2 + 3 K, B]
    advantage, returns, values = (part.flatten().float() for part in torch.split(whole[2:], K))
    share = Share(
        run.group, run.group.part(config.problems), config.problems, advantage.to(targets.advantage.device)
    )
    return share, {
        "cost": float(whole[0].mean()),
        "acceptance": float(whole[1].mean()) / config.steps,
        "explained_variance": explained_variance(values, returns),
    }


def improve(
    config: PpoConfig, learner: Learner, seen: Any, targets: Targets, share: Share, generator: torch.Generator
) -> dict[str, float]:
    """Update both networks by several passes of minibatches; give the means for the log."""
    sums = dict.fromkeys(("kl", "clip_fraction", "entropy", "gradient_norm", "value_loss"), 0.0)
    updates = 0
    for _ in range(config.passes):
        order = torch.randperm(len(share.advantage), generator=generator).to(share.advantage.device)
        for chosen in torch.split(order, config.minibatch):
            own, rows = share.own(chosen)
            aims = targets.at(rows)._replace(advantage=normalised(share.advantage[chosen])[own])
            found = _nothing(learner)
            if len(rows):
                minibatch = Minibatch(len(chosen), config.clip, config.entropy)
                found = seen.put_gradients(learner.policy, learner.critic, rows, aims, minibatch)
            found = summed(share.group, learner, found)
            norm, _ = (clip_gradient(weights, config.gradient_norm) for weights in learner.weights)
            learner.optimiser.step()
            sums["kl"] += found.kl
            sums["clip_fraction"] += found.clip_fraction
            sums["entropy"] += found.entropy
            sums["gradient_norm"] += norm
            sums["value_loss"] += found.value
            updates += 1
    return {key: value / updates for key, value in sums.items()}


def _nothing(learner: Learner) -> Losses:
    """Add nothing to a minibatch: gradients of 0, and losses."""
    for weights in learner.weights:
        assert weights.grad is not None
        weights.grad.zero_()
    return Losses(0.0, 0.0, 0.0, 0.0, 0.0)


def summed(group: Group, learner: Learner, found: Losses) -> Losses:
    """Sum the gradients, in place, and the losses of the processes' parts of a minibatch, at one go."""
    gradients = [weights.grad for weights in learner.weights if weights.grad is not None]
    whole = group.sum(torch.cat([*gradients, gradients[0].new_tensor(found)]))
    *sums, losses = torch.split(whole, [*map(len, gradients), len(found)])
    for gradient, total in zip(gradients, sums, strict=True):
        gradient.copy_(total)
    return Losses(*losses.tolist())


def together(network: nn.Module) -> nn.Parameter:
    """Make a network's parameters and gradients views of one vector, float32[D], for a faster optimiser."""
    parameters = list(network.parameters())
    whole = nn.Parameter(parameters_to_vector(parameters).detach())
    whole.grad = torch.zeros_like(whole)
    vector_to_parameters(whole.data, parameters)
    for p, grad in zip(parameters, torch.split(whole.grad, [p.numel() for p in parameters]), strict=True):
        p.grad = grad.view_as(p)
    return whole


def clip_gradient(weights: nn.Parameter, most: float) -> float:
    """Scale a gradient down to a norm; give the norm that it had.

    As `torch.nn.utils.clip_grad_norm_`, whose overhead for many tensors is longer than a gradient here.
    """
    assert weights.grad is not None
    norm = float(weights.grad.norm())
    if norm + 1e-6 > most:
        weights.grad.mul_(most / (norm + 1e-6))
    return norm


@torch.no_grad()
def collect(
    run: Training, policy: LearntPolicy, batch: Any, instances: list[Instance], keys: np.ndarray
) -> dict[str, Any]:
    """Roll chains out and keep their transitions and rewards.

    Returns
    -------
    dict
        ``transitions`` (states and moves as networks see them), ``log_prob`` float64[K, B], ``possible``
        bool[K, B], ``reward`` float32[K, B] (see `PpoConfig.reward`; normalised units), and of each chain
        ``cost`` and ``accepted`` moves, float64[B].
    """
    operations, config, x = run.operations, run.config, run.starts(instances, keys)
    assert isinstance(config, PpoConfig)
    temperatures = torch.from_numpy(run.schedule.temperatures(0, run.config.steps)).to(run.device)
    kept: dict[str, list[Any]] = {key: [] for key in ("action", "log_prob", "possible", "reward")}
    states = [x]
    energy = operations.cost(batch, x) / batch.scale
    lowest, accepted = energy, torch.zeros_like(energy)
    for info, log_prob in _steps(run, policy, batch, instances, x, keys, temperatures):
        gain = torch.where(info.accepted, -info.delta, 0.0) / batch.scale
        kept["action"].append(info.action)
        kept["log_prob"].append(log_prob)
        kept["possible"].append(info.possible)
        moved = operations.apply(batch, x, info.action)
        x = torch.where(info.accepted.reshape(-1, *[1] * (x.dim() - 1)), moved, x)
        states.append(x)
        before = energy, lowest
        energy = energy - gain
        lowest, accepted = torch.minimum(lowest, energy), accepted + info.accepted
        kept["reward"].append(_earned(run, before, (energy, lowest), x.shape[1]).float())
    action = tuple(torch.stack(a) for a in zip(*kept.pop("action"), strict=True))
    heats = torch.cat([temperatures, temperatures[-1:]])
    rollout = Trajectories(operations, batch, torch.stack(states), action, heats)
    by_kernel = run.device.type == "cpu" and run.backend != "torch"
    return {
        **{key: torch.stack(value) for key, value in kept.items()},
        "transitions": transitions(rollout, policy, by_kernel=by_kernel, threads=run.threads),
        "cost": run.losses(lowest, x.shape[1]),
        "accepted": accepted,
    }


def _earned(run: Training, before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor], size: int) -> Tensor:
    """Reward of a step, from energies and lowest energies so far before and after it; float64[B]."""
    assert isinstance(run.config, PpoConfig)
    reward = run.config.reward
    which = 1 if reward.endswith("best") else 0
    was, now = (shaped(run.losses(state[which], size), reward) for state in (before, after))
    return was - now


def _steps(
    run: Training,
    policy: LearntPolicy,
    batch: Any,
    instances: list[Instance],
    x: Tensor,
    keys: np.ndarray,
    temperatures: Tensor,
) -> Iterator[tuple[engine.StepInfo, Tensor]]:
    """Step chains through an epoch: by the kernel all at once, or by the reference one by one."""
    operations = run.operations
    if (
        isinstance(operations, DiscreteOperations)
        and (chains := run.chains(policy, instances, x, keys)) is not None
    ):
        moves = chains.record(temperatures.numpy())
        action, log_prob, change, accepted = map(torch.from_numpy, moves[1:])
        for k in range(len(temperatures)):
            yield (
                engine.StepInfo(
                    operations.from_kernel(action[k]), log_prob[k] > -torch.inf, accepted[k], change[k]
                ),
                log_prob[k],
            )
        return
    draws = uniforms_torch(
        torch.from_numpy(keys).to(run.device), 0, len(temperatures), policy.draws(operations, x) + 1
    )
    state = engine.start(operations, batch, x)
    for temperature, u in zip(temperatures, draws, strict=True):
        before = state
        state, info = engine.step(operations, batch, policy, state, temperature, u)
        yield info, policy.log_prob(operations, batch, before.x, temperature, info.action)
