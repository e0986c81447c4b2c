"""Proposals of own problems: compiled code does what the functions say in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from nsa_cli.anneal.fused import FusedChains
from nsa_cli.core.draws import stream_keys, uniforms
from nsa_cli.kernels.draws import LANES
from nsa_cli.policy import fused as layouts
from nsa_cli.policy.slots import SlotPolicy
from nsa_cli.problems import as_problem, find_problem
from nsa_cli.user.kernels.rules import CHOICE_BITS, CHOICE_MASK
from nsa_cli.user.scalar import PlainChains, Scalars

from user_problems import ALL, QAP, Jobs, Teams

HEATS, ROWS = np.geomspace(1.0, 0.01, 25), 3


def chains_of(problem: Any, size: int, layout: Any) -> tuple[FusedChains, list[Any]]:
    """Start a chain on each of some instances."""
    rng, fused = np.random.default_rng(size), problem.neighbourhood().kernel()
    instances = [problem.generate(size, rng) for _ in range(ROWS)]
    x = np.stack([instance.start(rng.random) for instance in instances])
    arrays = fused.arrays(instances, 1.0)
    return FusedChains(fused, arrays, layout, x, stream_keys(size, np.arange(ROWS))), instances


@pytest.mark.parametrize(
    "cls", [pytest.param(c, marks=() if c in (Teams, Jobs) else pytest.mark.slow) for c in ALL]
)
@pytest.mark.parametrize("as_lists", [False, True])
def test_compiled_chains_are_those_of_plain_python(cls: Any, as_lists: bool) -> None:
    """Bit by bit, from the same draws, in chunks of any length; energies are the solutions'."""
    for size in (2, 5, 17):
        chains, instances = chains_of(as_problem(cls), size, layouts.uniform())
        plain = PlainChains(instances, chains.x, chains.state.keys, 1.0)
        plain.takes_lists = dict.fromkeys(plain.takes_lists, as_lists)
        for heats in np.split(HEATS, [1, 8]):
            counts = plain.counting(), chains.counting()
            plain.advance(heats)
            chains.advance(heats)
            assert (counts[0] == counts[1]).all()
            for name in ("x", "best", "energy", "best_energy", "accepted"):
                assert (getattr(plain, name) == getattr(chains, name)).all(), name
        for instance, x, energy in zip(instances, plain.x, plain.energy, strict=True):
            assert energy == pytest.approx(Scalars(instance).cost(x))


@pytest.mark.parametrize(
    "which", [QAP, pytest.param(Teams, marks=pytest.mark.slow), pytest.param(Jobs, marks=pytest.mark.slow)]
)
def test_learnt_proposals_have_the_probabilities_of_the_network(which: Any) -> None:
    """A draw picks by a softmax over the allowed candidates, of scores of features that Python gives."""
    problem = find_problem(which)
    slots = problem.neighbourhood().operations().feature_sets["paper"].slots
    torch.manual_seed(3)
    policy = SlotPolicy(slots).requires_grad_(False)
    weights = {key: value.numpy() for key, value in policy.state_dict().items()}
    chains, instances = chains_of(
        problem, 17, layouts.learnt(problem.neighbourhood().kernel(), "paper", weights)
    )
    for step, heat in enumerate(HEATS[::4]):
        before, draws = chains.x.copy(), uniforms(chains.state.keys, step, chains.choices + 1)
        proposals = chains.record(np.array([heat]))
        for row, instance in enumerate(instances):
            s, (code, kind) = Scalars(instance), proposals.action[0, row].tolist()
            m, x, chosen, values = s.model.moves[kind], before[row], (), ()
            for k, choice in enumerate(s.choices[kind]):
                options = choice.every
                allowed = [c for c, option in enumerate(options) if s.is_allowed(x, kind, values, option)]
                allowed.sort(key=lambda c: (c % LANES, c))  # as kernels add up, lane by lane
                seen = [s.features(x, kind, values, options[c], float(heat)) for c in allowed]
                logits = policy.networks[m.first + k](torch.tensor(seen, dtype=torch.float32))
                chosen = (*chosen, code >> k * CHOICE_BITS & CHOICE_MASK)
                values = (*values, options[chosen[-1]])
                shares = logits.double().softmax(0).cumsum(0).tolist()
                at, u = allowed.index(chosen[-1]), draws[m.first + k, row]
                assert (shares[at - 1] if at else 0.0) - 1e-4 <= u <= shares[at] + 1e-4
