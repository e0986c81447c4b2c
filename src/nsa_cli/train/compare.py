"""A finished policy beside uniform proposals, at equal time: what a training was for."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.auto import sampled_temperatures
from nsa_cli.anneal.fused import FusedChains
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.draws import stream_keys
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Instance
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.policy.fused import uniform
from nsa_cli.train.loop import Training

#: Streams of the instances: neither training nor validation draws them.
_STREAM = 2**41

#: Instances, steps that a speed is measured on, and those of the policy at least.
_INSTANCES, _MEASURED, _LEAST = 64, 200, 1_000

#: Instances and chains of each from which temperatures are estimated.
_SAMPLED, _CHAINS = 4, 8


class Comparison(NamedTuple):
    """A policy and uniform proposals on the same new instances.

    Attributes
    ----------
    size : int
        Of the instances.
    steps, uniform_steps : int
        Of a chain with the policy, and what takes as long with uniform proposals.
    seconds : float
        Of a chain, processor time.
    advantage : float64[B]
        By how much the policy's energy is the lower one, relative to the mean energy of uniform proposals.
    """

    size: int
    steps: int
    uniform_steps: int
    seconds: float
    advantage: NDArray[np.float64]


def compare(run: Training, policy: LearntPolicy) -> Comparison | None:
    """Anneal new instances with a policy and with uniform proposals, each for as long.

    The policy has the temperatures of its training; uniform proposals have those that a sample of their own
    moves gives, as ``t_start="auto"`` does. None where there is no kernel, whose times are what a user would
    have.
    """
    config, layouts = run.config, (run.layout(policy), uniform())
    if layouts[0] is None:
        return None
    instances = run.drawn(_STREAM, config.validation_size, _INSTANCES)
    keys = stream_keys(run.seed + _STREAM, np.arange(len(instances)))
    x = run.starts(instances, keys)

    def advanced(layout: Any, temperatures: NDArray[np.float64]) -> tuple[FusedChains, float]:
        """Take new chains through some steps; and the processor time of a chain."""
        chains = run.chains(layout, instances, x, keys, threads=1)
        chains.advance(temperatures[:0])  # compiled by then
        began = time.process_time()
        chains.advance(temperatures)
        return chains, max(time.process_time() - began, 1e-9) / len(instances)

    steps = max(config.validation_steps.of(instances[0].size), _LEAST)
    schedule = run.schedule(steps)
    own = temperatures_of(run, instances) or (schedule.t_start, schedule.t_end)
    heat = np.full(_MEASURED, schedule.t_start)
    # The shorter one of two runs, for each.
    times = [min(advanced(layout, heat)[1] for _ in range(2)) for layout in layouts]
    uniform_steps = max(round(steps * times[0] / times[1]), 1)
    with_policy, seconds = advanced(layouts[0], schedule.temperatures(0, steps))
    without, _ = advanced(layouts[1], Schedule(uniform_steps, *own).temperatures(0, uniform_steps))
    ours, theirs = (chains.best_energy / chains.scale for chains in (with_policy, without))
    advantage = (theirs - ours) / max(abs(float(theirs.mean())), 1e-300)
    return Comparison(instances[0].size, steps, uniform_steps, seconds, advantage)


def temperatures_of(run: Training, instances: list[Instance]) -> tuple[float, float] | None:
    """Estimate temperatures from moves of instances, geometric means; None where none gets worse."""
    found, neighbourhood = [], run.problem.neighbourhood(run.config.neighbourhood)
    for instance in instances[:_SAMPLED]:
        keys = stream_keys(0, np.arange(_CHAINS))
        several = [instance] * _CHAINS
        chains = run.chains(uniform(), several, run.starts(several, keys), keys, threads=1)
        found.append(sampled_temperatures(chains, instance.size, choices=neighbourhood.choices))
    known = [pair for pair in found if pair is not None]
    if not known:
        return None
    first, last = np.exp(np.log(np.array(known)).mean(0)).tolist()
    return first, last


def find_temperatures(run: Training) -> None:
    """Fill in the temperatures of a training that are not given, from moves of random instances."""
    config = run.config
    if config.t_start is not None and config.t_end is not None:
        return
    if run.fused is None:
        raise UsageError(
            "t_start and t_end cannot be estimated without a kernel; give both in a configuration"
        )
    found = temperatures_of(run, run.drawn(_STREAM - 1, config.size, _SAMPLED)) or (1.0, 0.1)
    first, last = (float(f"{t:.3g}") for t in found)
    run.config = replace(
        config,
        t_start=first if config.t_start is None else config.t_start,
        t_end=last if config.t_end is None else config.t_end,
    )
