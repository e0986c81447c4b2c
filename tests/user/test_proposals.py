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
from nsa_cli.user.kernels.rules import CHOICE_BITS, CHOICE_MASK, TRIES
from nsa_cli.user.scalar import PlainMove, Scalars

from user_problems import ALL, QAP, Jobs, Teams

HEATS, ROWS = np.geomspace(1.0, 0.01, 25), 3


def chains_of(problem: Any, size: int, layout: Any) -> tuple[FusedChains, list[Any]]:
    """Start a chain on each of some instances."""
    rng, fused = np.random.default_rng(size), problem.neighbourhood().kernel()
    instances = [problem.generate(size, rng) for _ in range(ROWS)]
    x = np.stack([instance.start(rng.random) for instance in instances])
    arrays = fused.arrays(instances, 1.0)
    return FusedChains(fused, arrays, layout, x, stream_keys(size, np.arange(ROWS))), instances


def drawn(s: Scalars, x: Any, u: Any) -> PlainMove | None:
    """Propose uniformly: by the first of some draws that is allowed, or by one more from all that are."""
    kind = int(u[0] * len(s.model.moves)) if s.model.several else 0
    m, chosen = s.model.moves[kind], ()
    for k in range(len(m.choices)):
        share, count = u[m.first + k], s.count(m, k)
        for _ in range(TRIES):
            c = int(share * count)
            if s.is_allowed(x, m, chosen, c):
                break
            share = redrawn(share)
        else:
            allowed = [other for other in range(count) if s.is_allowed(x, m, chosen, other)]
            if not allowed:
                return None
            c = allowed[int(share * len(allowed))]
        chosen = (*chosen, c)
    return PlainMove(kind, chosen)


def redrawn(share: float) -> float:
    """Draw another number from one, as kernels do: by the finaliser of splitmix64."""
    x, wrap = int(share * 2.0**63), (1 << 64) - 1
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & wrap
    x = (x ^ x >> 27) * 0x94D049BB133111EB & wrap
    return ((x ^ x >> 31) >> 12) * 2.0**-52 + 2.0**-53


@pytest.mark.parametrize(
    "cls", [pytest.param(c, marks=() if c in (Teams, Jobs) else pytest.mark.slow) for c in ALL]
)
def test_uniform_proposals_are_those_of_plain_python(cls: Any) -> None:
    """Moves from the same draws, what they change and what is accepted; energies are the solutions'."""
    for size in (2, 5, 17):
        chains, instances = chains_of(as_problem(cls), size, layouts.uniform())
        for step, heat in enumerate(HEATS):
            before, draws = chains.x.copy(), uniforms(chains.state.keys, step, chains.choices + 1)
            proposals = chains.record(np.array([heat]))
            for row, (instance, x) in enumerate(zip(instances, before, strict=True)):
                s, (code, kind) = Scalars(instance), proposals.action[0, row].tolist()
                move = drawn(s, x, draws[:, row])
                assert (move is not None) == proposals.possible[0, row]
                if move is not None:
                    made = tuple(code >> k * CHOICE_BITS & CHOICE_MASK for k in range(len(move.chosen)))
                    assert (kind, made) == move
                    assert proposals.change[0, row] == pytest.approx(s.delta(x.copy(), move), abs=1e-9)
                    if proposals.accepted[0, row]:
                        s.apply(x, move)
                assert (chains.x[row] == x).all()
                assert chains.energy[row] == pytest.approx(s.cost(x))


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
            m, chosen = s.model.moves[kind], ()
            for k in range(len(m.choices)):
                allowed = [c for c in range(s.count(m, k)) if s.is_allowed(before[row], m, chosen, c)]
                allowed.sort(key=lambda c: (c % LANES, c))  # as kernels add up, lane by lane
                seen = [s.features(before[row], m, chosen, c, float(heat)) for c in allowed]
                logits = policy.networks[m.first + k](torch.tensor(seen, dtype=torch.float32))
                chosen = (*chosen, code >> k * CHOICE_BITS & CHOICE_MASK)
                shares = logits.double().softmax(0).cumsum(0).tolist()
                at, u = allowed.index(chosen[-1]), draws[m.first + k, row]
                assert (shares[at - 1] if at else 0.0) - 1e-4 <= u <= shares[at] + 1e-4
