"""Proximal policy optimisation, top to bottom (Schulman et al. 2017; Appendix A of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nsa_cli.anneal import engine
from nsa_cli.core.draws import uniforms_torch
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Instance
from nsa_cli.core.operations import ContinuousOperations, select
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.policy.slots import PointwiseNetwork
from nsa_cli.train.config import PpoConfig
from nsa_cli.train.estimators import advantages, clipped_loss, explained_variance
from nsa_cli.train.loop import Run


class Critic(nn.Module):
    """Value of a state: the actor's form of network over the first choice's candidates, then their mean.

    It shares no weights with the actor (Appendix A). The mean makes it independent of the order and,
    roughly, of the number of candidates.
    """

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._operations = run.operations
        self._continuous = isinstance(run.operations, ContinuousOperations)
        if isinstance(run.operations, ContinuousOperations):
            features = run.operations.features + 1
        else:
            features = run.operations.feature_sets[run.config.features].slots[0].features  # type: ignore[attr-defined]
            if not features:
                raise UsageError(
                    f"--candidates {run.config.candidates}: PPO wants a first choice that a network makes; "
                    "train with --method es"
                )
        self._feature_set = run.config.features
        self.network = PointwiseNetwork(features, run.config.hidden)
        self.offset = nn.Parameter(torch.zeros(()))

    def forward(self, batch: Any, x: Tensor, temperature: Tensor) -> Tensor:
        """Values, float32[B]."""
        operations: Any = self._operations
        if self._continuous:
            seen = operations.observe(batch, x, temperature)
            heat = temperature.to(torch.float32).expand(len(x))[:, None]
            features = torch.cat([seen, heat], 1)[:, None]
        else:
            features = operations.feature_sets[self._feature_set].compute(batch, x, (), temperature)
        values: Tensor = self.network(features).mean(1) + self.offset
        return values


def train_ppo(run: Run, *, resume: bool = False) -> LearntPolicy:
    """Train a policy; the best on the validation instances is in ``run.out``.

    Parameters
    ----------
    run : Run
        With a `PpoConfig`.
    resume : bool
        Go on from the state beside ``run.out``.
    """
    config = run.config
    assert isinstance(config, PpoConfig)
    policy = run.new_policy().to(run.device)
    critic = Critic(run).to(run.device)
    actor_optimiser = torch.optim.AdamW(
        policy.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    critic_optimiser = torch.optim.AdamW(
        critic.parameters(), lr=config.critic_learning_rate, weight_decay=config.weight_decay
    )
    parts: dict[str, Any] = {
        "policy": policy,
        "critic": critic,
        "actor_optimiser": actor_optimiser,
        "critic_optimiser": critic_optimiser,
    }
    first = 0
    if resume:
        state = run.load_state()
        for name, part in parts.items():
            part.load_state_dict(state[name])
        first = state["epoch"]

    for epoch in range(first, config.epochs):
        generator = torch.Generator().manual_seed((run.seed << 24) + epoch)

        # --- rollout: K steps of B chains; everything stored is [K, B, ...] ----------------------
        instances = run.instances(epoch)
        keys = run.keys(epoch, len(instances))
        batch = run.operations.pack(instances, run.device, config.unit)
        rollout = collect(run, policy, critic, batch, instances, keys)

        # --- advantages --------------------------------------------------------------------------
        estimate = advantages(
            rollout["reward"], rollout["value"][:-1], rollout["value"][-1], config.discount, config.trace
        )
        returns = estimate + rollout["value"][:-1]

        # --- flatten; moves that were not possible teach the actor nothing -----------------------
        K, B = rollout["reward"].shape
        rows = torch.arange(B).repeat(K)  # which instance a transition belongs to
        flat = {
            "x": rollout["x"].flatten(0, 1),
            "temperature": rollout["temperature"].repeat_interleave(B),
            "log_prob": rollout["log_prob"].flatten(),
            "advantage": estimate.flatten(),
            "return": returns.flatten(),
            "possible": rollout["possible"].flatten(),
        }
        actions = tuple(a.flatten(0, 1) for a in rollout["action"])
        sums = dict.fromkeys(("kl", "clip_fraction", "entropy", "gradient_norm", "value_loss"), 0.0)
        updates = 0

        # --- several passes in minibatches --------------------------------------------------------
        for _ in range(config.passes):
            for chosen in torch.split(torch.randperm(K * B, generator=generator), config.minibatch):
                part = {key: value[chosen] for key, value in flat.items()}
                some = select(batch, rows[chosen].to(run.device))
                action = tuple(a[chosen] for a in actions)
                possible = part["possible"]

                log_prob = policy.log_prob(run.operations, some, part["x"], part["temperature"], action)
                log_ratio = torch.where(possible, log_prob - part["log_prob"], 0.0).float()
                advantage = part["advantage"]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                loss = clipped_loss(log_ratio, advantage, config.clip)
                # With -log p as a sample of the entropy, its gradient is that of the usual bonus.
                surprise = torch.where(possible, -log_prob, 0.0).float()
                if config.entropy:
                    loss = loss - config.entropy * (log_ratio.exp() * surprise).mean()
                actor_optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                norm = nn.utils.clip_grad_norm_(policy.parameters(), config.gradient_norm)
                actor_optimiser.step()

                value = critic(some, part["x"], part["temperature"])
                value_loss = (value - part["return"]).pow(2).mean()
                critic_optimiser.zero_grad()
                value_loss.backward()
                nn.utils.clip_grad_norm_(critic.parameters(), config.gradient_norm)
                critic_optimiser.step()

                with torch.no_grad():
                    sums["kl"] += float((log_ratio.exp() - 1 - log_ratio).mean())
                    sums["clip_fraction"] += float((log_ratio.exp() - 1).abs().gt(config.clip).float().mean())
                    sums["entropy"] += float(surprise.mean())
                    sums["gradient_norm"] += float(norm)
                    sums["value_loss"] += float(value_loss)
                updates += 1

        # --- log, validate, keep ------------------------------------------------------------------
        row = {
            "cost": rollout["cost"],
            "acceptance": rollout["acceptance"],
            "explained_variance": explained_variance(rollout["value"][:-1].flatten(), returns.flatten()),
            **{key: value / updates for key, value in sums.items()},
        }
        run.report(epoch, policy, row)
        stopping = run.asked_to_stop()
        if stopping or (epoch + 1) % config.validate_every == 0 or epoch + 1 == config.epochs:
            run.save_state(epoch + 1, {name: part.state_dict() for name, part in parts.items()})
        if stopping:
            run.save_on_stop(policy, epoch)
            break
    return policy


@torch.no_grad()
def collect(
    run: Run, policy: LearntPolicy, critic: Critic, batch: Any, instances: list[Instance], keys: np.ndarray
) -> dict[str, Any]:
    """Roll chains out and keep what learning needs.

    Returns
    -------
    dict
        ``x`` [K, B, …], ``action`` tuple of [K, B, …], ``log_prob`` float64[K, B], ``possible`` bool[K, B],
        ``reward`` float32[K, B] (immediate gain, normalised units), ``value`` float32[K + 1, B],
        ``temperature`` float64[K], and the means ``cost`` and ``acceptance``.
    """
    operations, x = run.operations, run.starts(instances, keys)
    temperatures = torch.from_numpy(run.schedule.temperatures(0, run.config.steps)).to(run.device)
    kept: dict[str, list[Any]] = {
        key: [] for key in ("x", "action", "log_prob", "possible", "reward", "value")
    }
    energy = operations.cost(batch, x) / batch.scale
    lowest, accepted = energy, torch.zeros_like(energy)
    for temperature, (info, log_prob) in zip(
        temperatures, _steps(run, policy, batch, instances, x, keys, temperatures), strict=True
    ):
        gain = torch.where(info.accepted, -info.delta, 0.0) / batch.scale
        kept["x"].append(x)
        kept["action"].append(info.action)
        kept["log_prob"].append(log_prob)
        kept["possible"].append(info.possible)
        kept["reward"].append(gain.float())
        kept["value"].append(critic(batch, x, temperature))
        moved = operations.apply(batch, x, info.action)
        x = torch.where(info.accepted.reshape(-1, *[1] * (x.dim() - 1)), moved, x)
        energy = energy - gain
        lowest, accepted = torch.minimum(lowest, energy), accepted + info.accepted
    kept["value"].append(critic(batch, x, temperatures[-1]))
    stacked = {key: torch.stack(value) for key, value in kept.items() if key != "action"}
    return {
        **stacked,
        "action": tuple(torch.stack(a) for a in zip(*kept["action"], strict=True)),
        "temperature": temperatures,
        "cost": float(lowest.mean()),
        "acceptance": float(accepted.mean()) / run.config.steps,
    }


def _steps(
    run: Run,
    policy: LearntPolicy,
    batch: Any,
    instances: list[Instance],
    x: Tensor,
    keys: np.ndarray,
    temperatures: Tensor,
) -> Iterator[tuple[engine.StepInfo, Tensor]]:
    """Take chains through an epoch's steps: by the kernel, all at once, or one by one by the reference."""
    operations = run.operations
    slots = policy.draws(operations, x)
    discrete = not isinstance(operations, ContinuousOperations)
    if discrete and (chains := run.chains(policy, instances, x, keys)) is not None:
        moves = chains.record(temperatures.numpy())
        action, log_prob, change, accepted = map(torch.from_numpy, moves[1:])
        for k in range(len(temperatures)):
            chosen = tuple(action[k, :, slot] for slot in range(slots))
            yield engine.StepInfo(chosen, log_prob[k] > -torch.inf, accepted[k], change[k]), log_prob[k]
        return
    draws = uniforms_torch(torch.from_numpy(keys).to(run.device), 0, len(temperatures), slots + 1)
    state = engine.start(operations, batch, x)
    for temperature, u in zip(temperatures, draws, strict=True):
        before = state
        state, info = engine.step(operations, batch, policy, state, temperature, u)
        yield info, policy.log_prob(operations, batch, before.x, temperature, info.action)
