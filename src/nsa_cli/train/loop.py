"""A training run: instances, rollouts, validation, log, checkpoints and resuming, shared by PPO and ES."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.fused import FusedChains
from nsa_cli.anneal.loop import run_chains
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.draws import start_solutions, stream_keys
from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.core.instance import Instance
from nsa_cli.core.machine import cores
from nsa_cli.core.manifest import source_version
from nsa_cli.core.operations import ContinuousOperations, DiscreteOperations, Operations
from nsa_cli.core.options import parse_steps
from nsa_cli.core.policy import Policy
from nsa_cli.core.problem import Problem
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.policy.checkpoint import save
from nsa_cli.policy.fused import learnt
from nsa_cli.policy.gaussian import GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy
from nsa_cli.train.config import TrainConfig
from nsa_cli.train.estimators import shaped
from nsa_cli.version import __version__

#: First stream of the validation instances: training uses the epochs' numbers.
_VALIDATION = 2**40


@dataclass
class Training:
    """A training run; PPO and ES add their updates.

    Attributes
    ----------
    problem : Problem
    config : TrainConfig
    seed : int
    out : Path
        The policy's file; beside it the log (``.csv``) and the state to resume from (``.state.pt``).
    device : torch.device
    backend : {'auto', 'torch', 'numba'}
        ``auto`` takes the problem's kernel on a CPU, if there is one.
    threads : int
        Of kernels; changes no number.
    asked_to_stop : callable
        Looked at after each epoch.
    on_epoch : callable
        Called with the row of the log.
    """

    problem: Problem[Any]
    config: TrainConfig
    seed: int
    out: Path
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    backend: str = "auto"
    threads: int = field(default_factory=cores)
    asked_to_stop: Callable[[], bool] = lambda: False
    on_epoch: Callable[[Mapping[str, Any]], None] = lambda _: None

    def __post_init__(self) -> None:
        neighbourhood = self.problem.neighbourhood(self.config.neighbourhood)
        self.operations: Operations[Any, Any] = neighbourhood.operations()
        self.best_score = float("inf")
        self.began = time.monotonic()
        self.seconds_before = 0.0
        self._validation: list[tuple[list[Instance], Tensor, np.ndarray]] = []
        self.fused = neighbourhood.kernel() if self.device.type == "cpu" and self.backend != "torch" else None

    # --- policies --------------------------------------------------------------------------------

    def new_policy(self) -> LearntPolicy:
        """Make the untrained policy of this run's seed.

        Raises
        ------
        UsageError
            If the problem has no such features.
        """
        torch.manual_seed(self.seed)
        if isinstance(self.operations, ContinuousOperations):
            return GaussianPolicy(
                self.operations.features, self.config.size, self.config.hidden, self.out.stem
            )
        assert isinstance(self.operations, DiscreteOperations)
        sets = self.operations.feature_sets
        if self.config.features not in sets:
            raise UsageError(
                f"expected one of {', '.join(sets)}, got {shown(self.config.features)}", option="features"
            )
        slots = sets[self.config.features].slots
        return SlotPolicy(slots, self.config.features, self.config.hidden, self.out.stem)

    # --- instances and rollouts ------------------------------------------------------------------

    @property
    def schedule(self) -> Schedule:
        """Temperatures of a training rollout."""
        return Schedule(self.config.steps, self.config.t_start, self.config.t_end)

    def instances(self, epoch: int) -> list[Instance]:
        """Draw the instances of an epoch, the same for the same seed."""
        sizes = (self.config.size, *self.config.mixed_sizes)
        return self._draw(epoch, sizes[epoch % len(sizes)], self.config.problems)

    def _draw(self, stream: int, size: int, count: int) -> list[Instance]:
        rng = np.random.default_rng((self.seed, stream))
        return [self.problem.generate(size, rng) for _ in range(count)]

    def starts(self, instances: list[Instance], keys: np.ndarray) -> Tensor:
        """Build the paper's start for each instance."""
        x = start_solutions(self.problem.start("paper"), instances, keys)
        return torch.from_numpy(x).to(self.device)

    def rollouts(
        self,
        policy: Policy,
        instances: list[Instance],
        x: Tensor,
        keys: np.ndarray,
        schedule: Schedule,
        members: int = 1,
    ) -> tuple[Tensor, Tensor]:
        """Anneal chains from their starts, by the problem's kernel where there is one.

        Parameters
        ----------
        policy : Policy
            Of `members` policies, see `nsa_cli.train.es.stacked`; each anneals all instances.

        Returns
        -------
        energy : float64[members, B]
            Lowest normalised energies, as `Operations.losses` of them.
        accepted : int64[members, B]
            Moves made.
        """
        everything = instances * members
        starts, streams = x.repeat(members, *[1] * (x.dim() - 1)), np.tile(keys, members)
        if (chains := self.chains(policy, everything, starts, streams, members)) is not None:
            chains.advance(schedule.temperatures(0, schedule.steps))
            best = torch.from_numpy(chains.state.best_energy / chains.scale)
            accepted = torch.from_numpy(chains.state.accepted)
        else:
            batch = self.operations.pack(everything, self.device, self.config.unit)
            streams_ = torch.from_numpy(streams).to(self.device)
            reference = TorchChains(self.operations, batch, policy, starts, streams_)
            run_chains(reference, schedule)
            state = reference.state
            best, accepted = state.best_energy / batch.scale, state.accepted
        return self.losses(best, x.shape[1]).reshape(members, -1), accepted.reshape(members, -1)

    def losses(self, energy: Tensor, size: int) -> Tensor:
        """Compute training losses from normalised energies; see `Operations.losses`."""
        return torch.from_numpy(self.operations.losses(energy.cpu().numpy(), size)).to(energy.device)

    def chains(
        self, policy: Policy, instances: list[Instance], x: Tensor, keys: np.ndarray, members: int = 1
    ) -> FusedChains | None:
        """Start chains in the fused kernel; None where the policy or the device has none."""
        if self.fused is None or not isinstance(policy, SlotPolicy | GaussianPolicy):
            return None
        weights = {key: value.detach().numpy() for key, value in policy.state_dict().items()}
        layout = learnt(self.fused, policy.feature_set, weights)
        if layout is None:
            return None
        arrays = self.fused.arrays(instances, self.config.unit)
        return FusedChains(self.fused, arrays, layout, x.numpy(), keys, members=members, threads=self.threads)

    def keys(self, epoch: int, count: int) -> np.ndarray:
        """Random streams of an epoch's chains."""
        return stream_keys(self.seed, (epoch << 24) + np.arange(count))

    # --- validation ------------------------------------------------------------------------------

    def validate(self, policy: Policy) -> float:
        """Mean lowest normalised energy on instances that training never sees; lower is better.

        Of several sizes, energies count in proportion to the size.
        """
        config = self.config
        if not self._validation:
            sizes = (config.validation_size, *config.mixed_sizes)
            self._validation = [self._validation_set(_VALIDATION + k, size) for k, size in enumerate(sizes)]
        scores = []
        for instances, x, keys in self._validation:
            steps = parse_steps("validation_steps", config.validation_steps)
            assert steps is not None
            schedule = Schedule(steps.of(instances[0].size), config.t_start, config.t_end)
            energy, _ = self.rollouts(policy, instances, x, keys, schedule)
            scores.append(
                float(shaped(energy, config.judged).mean()) * config.validation_size / instances[0].size
            )
        return sum(scores) / len(scores)

    def _validation_set(self, stream: int, size: int) -> tuple[list[Instance], Tensor, np.ndarray]:
        instances = self._draw(stream, size, self.config.validation_problems)
        keys = stream_keys(self.seed + _VALIDATION, np.arange(len(instances)))
        return instances, self.starts(instances, keys), keys

    # --- files -----------------------------------------------------------------------------------

    def end_epoch(
        self, epoch: int, policy: LearntPolicy, row: dict[str, Any], state: Mapping[str, Any]
    ) -> bool:
        """Log an epoch; tell whether to stop.

        Every `validate_every` epochs, validate, keep the best policy and save the state to resume from.
        """
        due = (epoch + 1) % self.config.validate_every == 0 or epoch + 1 == self.config.epochs
        if due:
            row["validation"] = score = self.validate(policy)
            if score < self.best_score:
                self.best_score = score
                self.save_policy(policy, epoch)
        row = {"epoch": epoch + 1, "seconds": round(self.seconds, 2), **row}
        self._log(row)
        self.on_epoch(row)
        stopping = self.asked_to_stop()
        if stopping or due:
            self.save_state(epoch + 1, state)
        if stopping and not self.out.exists():
            self.save_policy(policy, epoch)  # without a score: nothing is validated yet
        return stopping

    @property
    def seconds(self) -> float:
        """Time spent, interruptions left out."""
        return self.seconds_before + time.monotonic() - self.began

    def save_policy(self, policy: LearntPolicy, epoch: int) -> None:
        """Write the policy with seed, configuration and version."""
        notes = {
            "neighbourhood": self.config.neighbourhood,
            "seed": self.seed,
            "epoch": epoch + 1,
            "validation": self.best_score if np.isfinite(self.best_score) else None,
            "schedule": {"kind": "geometric", "t_start": self.config.t_start, "t_end": self.config.t_end},
            "temperature_steps": self.config.temperature_steps,
            "training": self.config.to_dict(),
            "seconds": round(self.seconds, 1),
            "version": __version__,
            "commit": source_version(),
        }
        save(self.out, policy, self.problem.name, notes)

    def _log(self, row: Mapping[str, Any]) -> None:
        columns = ["epoch", "seconds", *sorted(set(row) - {"epoch", "seconds", "validation"}), "validation"]
        with self.out.with_suffix(".csv").open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            if not file.tell():
                writer.writeheader()
            writer.writerow({key: f"{x:.6g}" if isinstance(x, float) else x for key, x in row.items()})

    def save_state(self, epoch: int, state: Mapping[str, Any]) -> None:
        """Write the state to resume from, whole or not at all."""
        path = self.out.with_suffix(".state.pt")
        temporary = path.with_suffix(".tmp")
        kept = {
            "epoch": epoch,
            "seed": self.seed,
            "config": self.config.to_dict(),
            "best_score": self.best_score,
            "seconds": self.seconds,
            **state,
        }
        torch.save(kept, temporary)
        os.replace(temporary, path)

    def load_state(self) -> dict[str, Any]:
        """Read the state to resume from; running no code from it.

        Raises
        ------
        InputError
            If there is none, it is damaged, or belongs to another training.
        """
        path = self.out.with_suffix(".state.pt")
        if not path.is_file():
            raise InputError("there is no training to resume", str(path))
        try:
            state: dict[str, Any] = torch.load(path, map_location=self.device, weights_only=True)
            mine = {**self.config.to_dict(), "epochs": state["config"]["epochs"]}
            same = state["config"] == mine and state["seed"] == self.seed
        except Exception as error:
            raise InputError(f"is no training state: {type(error).__name__}", str(path)) from None
        if not same:
            raise InputError("belongs to a training with another configuration or seed", str(path))
        self.best_score, self.seconds_before = state["best_score"], state["seconds"]
        self._cut_log(state["epoch"])
        return state

    def _cut_log(self, epoch: int) -> None:
        """Drop rows of epochs that will be done again."""
        path = self.out.with_suffix(".csv")
        if path.is_file():
            head, *rows = path.read_text(encoding="utf-8").splitlines()
            kept = [row for row in rows if row.split(",")[0].isdigit() and int(row.split(",")[0]) <= epoch]
            path.write_text("\n".join([head, *kept, ""]), encoding="utf-8")
