"""A training run: instances, rollouts, validation, log, checkpoints and resuming, shared by PPO and ES."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.fused import FusedChains
from nsa_cli.anneal.pilot import Pilot
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.draws import start_solutions, stream_keys
from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.core.instance import Instance
from nsa_cli.core.machine import cores
from nsa_cli.core.operations import ContinuousOperations, DiscreteOperations, Operations
from nsa_cli.core.policy import Policy
from nsa_cli.core.problem import Problem
from nsa_cli.io.atomic import write_bytes, write_text
from nsa_cli.io.source import read_bytes
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.policy.checkpoint import save
from nsa_cli.policy.fused import learnt, uniform
from nsa_cli.policy.gaussian import GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy
from nsa_cli.train.config import TrainConfig
from nsa_cli.train.estimators import shaped
from nsa_cli.train.group import Group
from nsa_cli.version import __version__

#: Epochs without a gradient after which a training is ended.
_IDLE = 10

#: First stream of the validation instances: training uses the epochs' numbers.
_VALIDATION = 2**40

#: Stream of the instances that temperatures are found for, their number, chains of each, and the steps of
#: runs whose first parts these are.
_SAMPLE, _SAMPLED, _CHAINS, _PILOT = 2**41 - 1, 4, 8, 50_000


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
    threads : int
        Of kernels; changes no number.
    group : Group
        Processes that rollouts are shared out to; the leading one writes the files.
    asked_to_stop : callable
        Looked at after each epoch, in all processes: a signal's number if one came, or True.
    on_epoch : callable
        Called with the row of the log.
    stopped : int
        What a process was asked to stop with; 0 while none was.
    """

    problem: Problem[Any]
    config: TrainConfig
    seed: int
    out: Path
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    threads: int = field(default_factory=cores)
    group: Group = field(default_factory=Group)
    asked_to_stop: Callable[[], int] = lambda: 0
    on_epoch: Callable[[Mapping[str, Any]], None] = lambda _: None
    stopped: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for path in (self.log_path, self.state_path):
            if str(path).lower() == str(self.out).lower():
                raise UsageError(
                    f"{self.out}: would be the policy and the training's {path.suffix[1:]} at once; "
                    "give a name that ends in .json",
                    option="out",
                )
        self._neighbourhood = self.problem.neighbourhood(self.config.neighbourhood)
        self.operations: Operations[Any, Any] = self._neighbourhood.operations()
        self.best_score = float("inf")
        self.began = time.monotonic()
        self.seconds_before = 0.0
        self._idle = 0
        #: The problem's kernel, if there is one; on a CPU.
        self.fused = self._neighbourhood.kernel() if self.device.type == "cpu" else None

    @property
    def log_path(self) -> Path:
        """The log, beside the policy."""
        return self.out.with_suffix(".csv")

    @property
    def state_path(self) -> Path:
        """The state to resume from, beside the policy."""
        return self.out.with_suffix(".state.pt")

    def begin(self, *, resume: bool) -> dict[str, Any] | None:
        """Check what lies beside the policy, and read the state to go on from.

        A new attempt of a launcher goes on with the training that an earlier one has begun.

        Returns
        -------
        dict or None
            None for a training from its beginning: a new one, or one that had no state yet when it ended.

        Raises
        ------
        UsageError
            If it is not to be resumed and there is a training, or its policy, already.
        InputError
            As for `load_state`; or if there is nothing to resume.
        """
        # One process looks: the others may be on machines without these files.
        data = self.group.share(self._found(resume=resume) if self.group.leads else None)
        state = None if data is None else self.load_state(data)
        if self.group.leads:
            self._cut_log(0 if state is None else state["epoch"])
        return state

    def _found(self, *, resume: bool) -> bytes | None:
        """Read the state to go on from, None for a training from its beginning; see `begin`."""
        state, log, policy = (os.path.lexists(p) for p in (self.state_path, self.log_path, self.out))
        again = self.group.attempt > 0
        resume = resume or (again and state)
        if not resume and (state or (log and policy)):
            raise UsageError(
                f"{self.out}: there is a training already; go on with it, or give another file",
                use={"resume": None, "out": None},
            )
        if resume and self.state_path.is_file():
            return read_bytes(self.state_path)
        if resume and (state or not log) and not again:
            raise InputError("there is no training to resume", str(self.state_path))
        return None

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

    def schedule(self, steps: int | None = None) -> Schedule:
        """Temperatures of a rollout, by default one of the training."""
        first, last = self.config.t_start, self.config.t_end
        assert first is not None, "see find_temperatures"
        assert last is not None, "see find_temperatures"
        return Schedule(steps or self.config.steps, first, last)

    def find_temperatures(self) -> None:
        """Fill in the temperatures that are not given: geometric means over pilots of some instances."""
        config = self.config
        given = {"t_start": config.t_start, "t_end": config.t_end}
        if None not in given.values():
            return
        if self.fused is None:
            raise UsageError(
                "t_start and t_end cannot be estimated without a kernel; give both in a configuration"
            )
        keys, found = stream_keys(0, np.arange(_CHAINS)), []
        for instance in self.drawn(_SAMPLE, config.size, _SAMPLED):
            several = [instance] * _CHAINS
            chains = self.chains(uniform(), several, self.starts(several, keys), keys)
            pilot = Pilot(Schedule(_PILOT), tuple(given))
            while not pilot.is_over:
                pilot.take(chains, _PILOT)
            found.append((pilot.found.t_start, pilot.found.t_end))
        means = dict(zip(given, np.exp(np.log(found).mean(0)).tolist(), strict=True))
        estimated = {name: float(f"{means[name]:.3g}") for name in given if given[name] is None}
        self.config = replace(config, **estimated)  # type: ignore[arg-type]  # no other

    def instances(self, epoch: int) -> list[Instance]:
        """Draw the instances of an epoch, the same for the same seed."""
        sizes = (self.config.size, *self.config.mixed_sizes)
        return self.drawn(epoch, sizes[epoch % len(sizes)], self.config.problems)

    def drawn(self, stream: int, size: int, count: int) -> list[Instance]:
        """Draw instances of a size from a random stream."""
        rng = np.random.default_rng((self.seed, stream))
        return [self.problem.generate(size, rng) for _ in range(count)]

    def starts(self, instances: list[Instance], keys: np.ndarray) -> Tensor:
        """Build the paper's start for each instance."""
        if not instances:  # of a process that has no share
            return torch.empty(0, 0, device=self.device)
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
        if not everything:
            nothing = torch.zeros(members, 0, dtype=torch.float64)
            return nothing, nothing.long()
        starts, streams = x.repeat(members, *[1] * (x.dim() - 1)), np.tile(keys, members)
        chains: FusedChains | TorchChains
        if (layout := self.layout(policy)) is not None:
            chains = self.chains(layout, everything, starts, streams, members)
        else:
            batch = self.operations.pack(everything, self.device, self.config.unit)
            on_device = torch.from_numpy(streams).to(self.device)
            chains = TorchChains(self.operations, batch, policy, starts, on_device)
        chains.advance(schedule.temperatures(0, schedule.steps))
        best = torch.as_tensor(chains.state.best_energy).cpu() / torch.from_numpy(chains.scale)
        accepted = torch.as_tensor(chains.state.accepted)
        return self.losses(best, x.shape[1]).reshape(members, -1), accepted.reshape(members, -1)

    def losses(self, energy: Tensor, size: int) -> Tensor:
        """Compute training losses from normalised energies; see `Operations.losses`."""
        return torch.from_numpy(self.operations.losses(energy.cpu().numpy(), size)).to(energy.device)

    def layout(self, policy: Policy) -> Any | None:
        """Lay a policy out for the fused kernel; None where the policy or the device has none."""
        if self.fused is None or not isinstance(policy, SlotPolicy | GaussianPolicy):
            return None
        weights = {key: value.detach().numpy() for key, value in policy.state_dict().items()}
        return learnt(self.fused, policy.feature_set, weights)

    def chains(
        self,
        layout: Any,
        instances: list[Instance],
        x: Tensor,
        keys: np.ndarray,
        members: int = 1,
    ) -> FusedChains:
        """Start chains in the fused kernel, which there is, by a policy's `layout`."""
        fused = self.fused
        assert fused is not None
        arrays = fused.arrays(instances, self.config.unit)
        return FusedChains(fused, arrays, layout, x.numpy(), keys, members=members, threads=self.threads)

    def keys(self, epoch: int, count: int) -> np.ndarray:
        """Random streams of an epoch's chains."""
        return stream_keys(self.seed, (epoch << 24) + np.arange(count))

    # --- validation ------------------------------------------------------------------------------

    def validate(self, policy: Policy) -> float:
        """Mean lowest normalised energy on instances that training never sees; lower is better.

        Of several sizes, energies count in proportion to the size. Instances are shared out to the group.
        """
        config, scores = self.config, []
        for size, instances, x, keys in self._validation:
            schedule = self.schedule(config.validation_steps.of(size))
            mine, _ = self.rollouts(policy, instances, x, keys, schedule)
            energy = self.group.gather(mine[0])
            scores.append(float(shaped(energy, config.judged).mean()) * config.validation_size / size)
        return sum(scores) / len(scores)

    @cached_property
    def _validation(self) -> list[tuple[int, list[Instance], Tensor, np.ndarray]]:
        """Each size of validation instances, with this process's share, starts and random streams."""
        count, found = self.config.validation_problems, []
        mine = self.group.part(count)
        keys = stream_keys(self.seed + _VALIDATION, np.arange(count))[mine]
        for k, size in enumerate((self.config.validation_size, *self.config.mixed_sizes)):
            instances = self.drawn(_VALIDATION + k, size, count)
            found.append((instances[0].size, instances[mine], self.starts(instances[mine], keys), keys))
        return found

    # --- files -----------------------------------------------------------------------------------

    def end_epoch(
        self, epoch: int, policy: LearntPolicy, row: dict[str, Any], state: Mapping[str, Any]
    ) -> bool:
        """Log an epoch; tell whether to stop.

        Every `validate_every` epochs, validate, keep the best policy and save the state to resume from.
        """
        leads = self.group.leads
        due = (epoch + 1) % self.config.validate_every == 0 or epoch + 1 == self.config.epochs
        if due:
            row["validation"] = score = self.validate(policy)
            if score < self.best_score:
                self.best_score = score
                if leads:
                    self.save_policy(policy, epoch)
        row = {"epoch": epoch + 1, "seconds": round(self.seconds, 2), **row}
        self._idle = 0 if row["gradient_norm"] else self._idle + 1
        if leads:
            self._log(row)
        self.on_epoch(row)
        self.stopped = int(self.group.gather(torch.tensor([self.asked_to_stop()])).max())
        if leads and (self.stopped or due):
            self.save_state(epoch + 1, state)
        if leads and self.stopped and not self.out.exists():
            self.save_policy(policy, epoch)  # without a score: nothing is validated yet
        if self._idle == _IDLE:
            raise UsageError(self._dead())
        return bool(self.stopped)

    def _dead(self) -> str:
        """Say that nothing is learnt, and what to try."""
        kept = f"the best policy so far is in {self.out}" if self.out.exists() else "there is no policy yet"
        return (
            f"for {_IDLE} epochs the gradient was exactly 0: whatever is proposed, rollouts end alike, and "
            "nothing is learnt; try larger instances, fewer steps, features that tell candidates apart, or "
            f"in a configuration a larger sigma; {kept}"
        )

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
        }
        save(self.out, policy, self.problem.name, notes)

    def _log(self, row: Mapping[str, Any]) -> None:
        columns = ["epoch", "seconds", *sorted(set(row) - {"epoch", "seconds", "validation"}), "validation"]
        cells = (row.get(column, "") for column in columns)
        try:
            with self.log_path.open("a", newline="", encoding="utf-8") as file:
                head = "" if file.tell() else ",".join(columns) + "\n"
                texts = (f"{x:.6g}" if isinstance(x, float) else str(x) for x in cells)
                file.write(head + ",".join(texts) + "\n")
        except OSError as error:
            raise UsageError(f"{self.log_path}: cannot be written: {error.strerror or error}") from None

    def save_state(self, epoch: int, state: Mapping[str, Any]) -> None:
        """Write the state to resume from, whole or not at all, behind a hash of it."""
        kept = {"epoch": epoch, "of": self._mine(), "best_score": self.best_score, "seconds": self.seconds}
        data = io.BytesIO()
        torch.save({**kept, **state}, data)
        write_bytes(self.state_path, hashlib.sha256(data.getvalue()).digest() + data.getvalue())

    def load_state(self, data: bytes) -> dict[str, Any]:
        """Take over a state to resume from; running no code from it.

        Raises
        ------
        InputError
            If it is not what was written, or belongs to another training.
        """
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            raise InputError("is no training state; delete it to begin again", str(self.state_path))
        state: dict[str, Any] = torch.load(io.BytesIO(data[32:]), map_location=self.device, weights_only=True)
        if state["of"] != self._mine():
            why = "belongs to a training with another configuration, seed or version"
            raise InputError(f"{why}; go on as it began, or delete it to begin again", str(self.state_path))
        self.best_score, self.seconds_before = state["best_score"], state["seconds"]
        return state

    def _mine(self) -> list[Any]:
        """What a training is known by; there may be more epochs when it goes on."""
        return [{**self.config.to_dict(), "epochs": None}, self.seed, __version__]

    def _cut_log(self, epoch: int) -> None:
        """Drop rows of epochs that will be done again."""
        if self.log_path.is_file():
            text = read_bytes(self.log_path).decode(errors="replace")
            head, *rows = text.splitlines() or [""]
            done = {str(k + 1) for k in range(epoch)}
            kept = [row for row in rows if "," in row and row.split(",")[0] in done]
            write_text(self.log_path, "\n".join([head, *kept, ""]) if kept else "")
