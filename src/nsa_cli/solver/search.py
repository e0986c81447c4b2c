"""Searches, which advance chains of one problem: compiled kernels, large steps, or the torch reference.

Compiled kernels and the reference mean the same (`tests/anneal/test_fused.py`). Kernels need no torch, whose
import alone takes longer than most solves, so it has a module of its own (`search_torch`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.task import Task

#: The most elements (chains times size) that a batch on the CPU has.
_BATCH_ELEMENTS = 4_000_000

#: A kick takes about so many seconds.
_KICK_SECONDS = 1e-4

#: With fewer seconds for each element of all solutions set-ups are fast ones.
_SETUP_SECONDS = 3e-5


class Beginning(NamedTuple):
    """What chains are to begin with.

    Attributes
    ----------
    instances : sequence of Instance
        The instances, one a chain, with equal `Problem.group`.
    x : [B, …]
        The first solutions.
    keys : int64[B]
        The random streams.
    rows : int
        The number of chains of an instance, one after the other.
    steps : int or None
        The steps of the run, as far as it is known how it will be used up; None where time ends it.
    seconds : float
        The time left.
    """

    instances: Sequence[Any]
    x: NDArray[Any]
    keys: NDArray[np.int64]
    rows: int = 1
    steps: int | None = 0
    seconds: float = math.inf


@dataclass(frozen=True, eq=False, kw_only=True)
class Search(ABC):
    """A search, which advances chains of one problem.

    Attributes
    ----------
    method : {'anneal', 'large-step'}
    backend : {'torch', 'numba'}
    device : str
    threads : int
    policy : str
        The policy's name.
    digest : str or None
        The hash of the policy's file.
    """

    method: str
    backend: str
    device: str = "cpu"
    threads: int
    policy: str
    digest: str | None = None

    @abstractmethod
    def budget(self, instance: Any) -> Budget:
        """Choose steps, temperatures and chains where the user says nothing."""

    def chains_at_once(self, task: Task) -> int:
        """Count the chains of instances like this one that a batch may have, for the memory they take."""
        return max(_BATCH_ELEMENTS // task.instance.size, 1)

    @abstractmethod
    def start(self, begin: Beginning) -> Chains:
        """Put chains at their first solutions."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AnnealingSearch(Search):
    """Annealing move by move; the base of the two backends.

    Attributes
    ----------
    neighbourhood : Neighbourhood
    trained : Trained or None
        The conditions of the policy's training; None for uniform proposals.
    unit : float, optional
        See `nsa_cli.core.operations.Operations.pack`.
    """

    neighbourhood: Neighbourhood[Any]
    trained: Trained | None
    unit: float | None
    method: str = "anneal"

    def budget(self, instance: Any) -> Budget:
        return self.neighbourhood.budget(instance, self.trained)


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledSearch(AnnealingSearch):
    """Annealing by compiled kernels on a CPU.

    Attributes
    ----------
    fused : Fused
        The neighbourhood's kernel.
    layout : NamedTuple
        The policy as the kernel reads it, see `nsa_cli.policy.fused`.
    temperature_steps : int
        See `nsa_cli.anneal.fused.FusedChains`.
    """

    fused: Any
    layout: Any
    temperature_steps: int = 1
    backend: str = "numba"

    def start(self, begin: Beginning) -> Chains:
        from nsa_cli.anneal.fused import FusedChains

        return FusedChains(
            self.fused,
            self.fused.arrays(begin.instances, self.unit),
            self.layout,
            begin.x,
            begin.keys,
            threads=self.threads,
            temperature_steps=self.temperature_steps,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class LargeStepSearch(Search):
    """Iterated local search under a temperature: each step is a kick and local search, without a policy.

    Attributes
    ----------
    large_step : LargeStep
        The problem's large steps.
    seconds : float or None
        The time limit, where it alone ends the run.
    """

    large_step: Any
    seconds: float | None = None
    method: str = "large-step"
    backend: str = "numba"
    policy: str = "none"

    def budget(self, instance: Any) -> Budget:
        budget: Budget = self.large_step.budget(instance)
        choose = getattr(self.large_step, "chains", None)
        if choose is None or self.seconds is None:
            return budget
        return replace(budget, chains=choose(instance, self.seconds, self.threads))

    def start(self, begin: Beginning) -> Chains:
        from nsa_cli.anneal.large_step import LargeStepChains

        kicks, fast_setup = float((begin.steps or 0) * begin.rows), False
        if begin.steps is None:
            kicks = begin.seconds * self.threads / _KICK_SECONDS * begin.rows / len(begin.x)
            fast_setup = begin.seconds < _SETUP_SECONDS * begin.x.size
        runs = self.large_step.runs(begin.instances, begin.x, kicks, fast_setup)
        if self.threads == 1 and self.seconds is not None:
            # Partitions are for threads. Without a time limit the answer is the same on any number of them.
            runs = [one._replace(partition=None) for one in runs]
        return LargeStepChains(
            runs,
            begin.keys,
            threads=self.threads,
            rows=begin.rows,
            steps=begin.steps,
        )
