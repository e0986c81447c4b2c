"""The fused backend means what the reference engine means."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from nsa_cli.anneal import engine
from nsa_cli.anneal.fused import FusedChains
from nsa_cli.core.draws import stream_keys, uniforms_torch
from nsa_cli.core.operations import ContinuousOperations
from nsa_cli.policy import fused as layouts
from nsa_cli.policy.gaussian import ConstantGaussianPolicy, GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy
from nsa_cli.problems import as_problem, builtin_names, find_problem

from helpers import random_instances, starts_of
from user_problems import ALL, SHOWN

#: Sizes around the width of a vector, and beside it.
SIZES = (1, 2, 4, 5, 15, 16, 17, 50)

#: Sizes, chains and steps for problems of users, whose reference is plain Python.
OWN_SIZES, OWN_ROWS, OWN_STEPS = (2, 5, 17), 2, 8

#: How near to the border between two candidates float32 sums may decide otherwise.
NEAR = 2e-5


#: Neighbourhoods beside the paper's, as problem:neighbourhood.
OTHERS = tuple(f"{p}:{n.name}" for p in builtin_names() for n in find_problem(p).neighbourhoods[1:])

#: Problems of users: their kernels are compiled from scalar functions.
OWN = {**{path.rpartition(":")[2].lower(): path for path in SHOWN}, **{cls.name: cls for cls in ALL}}
USERS = tuple(OWN)


@cache
def problem_of(name: str) -> Any:
    """Find a problem, once."""
    own = OWN.get(name, name.partition(":")[0])
    return find_problem(own) if isinstance(own, str) else as_problem(own)


def neighbourhood_of(name: str) -> Any:
    """Find a neighbourhood, by default the paper's."""
    return problem_of(name).neighbourhood(name.partition(":")[2] or "paper")


def policies_of(name: str) -> list[str]:
    """Feature sets that a problem's kernel knows, and uniform proposals."""
    return ["uniform", *neighbourhood_of(name).kernel().policies]


NAMES = (*builtin_names(), *OTHERS)
CASES = [(name, policy) for name in (*NAMES, *USERS) for policy in policies_of(name)]
CASES = [case for case in CASES if case[0] in NAMES or case[1] != "uniform"]  # see user/test_proposals.py

#: What is always run of problems of users, each of which takes seconds to compile: the rest is slow.
SOME = {("maxcut", "paper")}


def marked(cases: list[tuple[str, ...]]) -> list[Any]:
    """Mark the cases that are slow."""
    quick = [case[0] not in USERS or case in SOME for case in cases]
    return [
        pytest.param(*case, marks=() if fast else pytest.mark.slow)
        for case, fast in zip(cases, quick, strict=True)
    ]


class Pair:
    """The same chains for both backends."""

    def __init__(
        self, name: str, feature_set: str, size: int, rows: int, *, seed: int = 1, spread: float = 1.0
    ) -> None:
        self.problem = problem_of(name)
        self.neighbourhood = neighbourhood_of(name)
        self.operations = self.neighbourhood.operations()
        self.size = 2 + size % 3 if isinstance(self.operations, ContinuousOperations) else size
        self.instances = random_instances(self.problem, self.size, rows, seed)
        self.batch = self.operations.pack(self.instances, unit=1.0)
        self.x = starts_of(self.problem, self.instances, "paper", seed)
        self.keys = stream_keys(seed, np.arange(rows))
        self.fused = self.neighbourhood.kernel()
        self.arrays = self.fused.arrays(self.instances, 1.0)
        self.policy, self.layout = self._policies(feature_set, spread)
        self.draws = self.policy.draws(self.operations, self.x)

    def _policies(self, feature_set: str, spread: float) -> tuple[Any, Any]:
        continuous = isinstance(self.operations, ContinuousOperations)
        if feature_set == "uniform":
            return (ConstantGaussianPolicy() if continuous else UniformSlotPolicy()), layouts.uniform()
        torch.manual_seed(3)
        if continuous:
            policy: Any = GaussianPolicy(self.size, self.size)
        else:
            policy = SlotPolicy(self.operations.feature_sets[feature_set].slots, feature_set)
        policy.requires_grad_(False)
        for parameter in policy.parameters():
            parameter.mul_(spread)
        weights = {key: value.numpy() for key, value in policy.state_dict().items()}
        return policy, layouts.learnt(self.fused, feature_set, weights)

    def chains(self, state: engine.AnnealState, **options: Any) -> FusedChains:
        chains = FusedChains(
            self.fused,
            self.arrays,
            self.layout,
            state.x.numpy(),
            self.keys,
            **options,
        )
        assert np.allclose(chains.state.energy, state.energy.numpy(), rtol=1e-12)
        chains.step = state.step
        return chains

    def start(self) -> engine.AnnealState:
        return engine.start(self.operations, self.batch, self.x)

    def outcome(self, state: engine.AnnealState, heat: float, u: torch.Tensor) -> torch.Tensor:
        temperature = torch.tensor(heat, dtype=torch.float64)
        with torch.inference_mode():
            moved, _ = engine.step(self.operations, self.batch, self.policy, state, temperature, u)
        return moved


def nearby(u: torch.Tensor) -> list[torch.Tensor]:
    """The same draws, each moved a little either way."""
    changed = []
    for k in range(len(u)):
        for sign in (-1, 1):
            other = u.clone()
            other[k] = (other[k] * (1 + sign * NEAR)).clamp(1e-300, 1 - 1e-16)
            changed.append(other)
    return changed


@pytest.mark.parametrize(("name", "feature_set"), marked(CASES))
def test_every_single_step_is_that_of_the_reference(name: str, feature_set: str) -> None:
    ties, own = 0, name in OWN
    for size in OWN_SIZES if own else SIZES:
        pair = Pair(name, feature_set, size, rows=OWN_ROWS if own else 12)
        state = pair.start()
        for step, heat in enumerate(np.geomspace(1.0, 0.01, OWN_STEPS if own else 25)):
            chains = pair.chains(state)
            chains.advance(np.array([heat]))
            u = uniforms_torch(torch.from_numpy(pair.keys), step, step + 1, pair.draws + 1)[0]
            moved = pair.outcome(state, heat, u)
            assert np.allclose(
                chains.state.energy, pair.operations.cost(pair.batch, torch.from_numpy(chains.state.x))
            )
            different = ~_same(chains.state.x, moved.x.numpy())
            if different.any():
                others = [pair.outcome(state, heat, v).x.numpy() for v in nearby(u)]
                explained = np.any([_same(chains.state.x, other) for other in others], axis=0)
                assert explained[different].all(), f"size {size}, step {step}: not a near tie"
                ties += int(different.sum())
            state = moved
    assert ties <= 5


def _same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Tell which rows are equal; of real numbers, up to the last digits of the normal quantile."""
    if x.dtype == np.float64:
        return np.isclose(x, y, rtol=1e-5, atol=1e-6).all(1)
    return (x == y).all(1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [7, 60, 1030])
def test_uniform_chains_are_the_same_for_thousands_of_steps(name: str, size: int) -> None:
    pair = Pair(name, "uniform", size, rows=3)
    temperatures = np.geomspace(0.5, 0.01, 1500 if size < 1000 else 200)
    keys = torch.from_numpy(pair.keys)
    reference = engine.TorchChains(pair.operations, pair.batch, pair.policy, pair.x, keys)
    reference.advance(temperatures)
    state = reference.state
    chains = pair.chains(pair.start())
    chains.advance(temperatures)
    assert (_same(chains.state.x, state.x.numpy())).all()
    # Of two visits to one tour, the last digits of the energy say which was the better one.
    tied = np.isclose(chains.state.best_energy, state.best_energy.numpy(), rtol=1e-12)
    assert (_same(chains.state.best, state.best.numpy()) | tied).all()
    of_best = pair.operations.cost(pair.batch, torch.from_numpy(chains.state.best))
    assert np.allclose(chains.state.best_energy, of_best, rtol=1e-9)
    assert np.allclose(chains.state.best_energy, state.best_energy.numpy(), rtol=1e-9)
    assert (chains.state.accepted == state.accepted.numpy()).all()


@pytest.mark.parametrize(("name", "feature_set"), marked(CASES))
def test_threads_chunks_and_batch_mates_change_nothing(name: str, feature_set: str) -> None:
    pair = Pair(name, feature_set, 21, rows=11)
    temperatures = np.geomspace(0.5, 0.01, 120)
    whole = pair.chains(pair.start())
    whole.advance(temperatures)
    pieces = pair.chains(pair.start(), threads=3)
    for part in np.split(temperatures, [1, 8, 70]):
        pieces.advance(part)
    alone = Pair(name, feature_set, 21, rows=11)
    keep = [4]
    alone.arrays = alone.fused.arrays([pair.instances[4]], 1.0)
    alone.keys = pair.keys[keep]
    start = engine.AnnealState(*(v[keep] if isinstance(v, torch.Tensor) else v for v in alone.start()))
    single = alone.chains(start)
    single.advance(temperatures)
    for field in ("x", "best", "energy", "best_energy", "accepted"):
        assert (getattr(whole.state, field) == getattr(pieces.state, field)).all()
        assert (getattr(whole.state, field)[4] == getattr(single.state, field)[0]).all()


LEARNT = [c for c in CASES if c[1] not in ("uniform", "gaussian") and c[0] not in USERS]


@pytest.mark.parametrize(("name", "feature_set"), LEARNT)
@pytest.mark.parametrize("size", [9, 150])
def test_scores_that_are_kept_are_what_would_be_computed(name: str, feature_set: str, size: int) -> None:
    """At one temperature most scores are kept; a chunk of one step begins with none."""
    pair = Pair(name, feature_set, size, rows=4)
    kept, anew = (pair.chains(pair.start()) for _ in range(2))
    temperatures = np.full(200, 0.3)
    kept.advance(temperatures)
    for k in range(len(temperatures)):
        anew.advance(temperatures[k : k + 1])
    for field in ("x", "best", "energy", "best_energy", "accepted"):
        assert (getattr(kept.state, field) == getattr(anew.state, field)).all()
    assert kept.state.accepted.sum() > 20


@pytest.mark.parametrize(("name", "feature_set"), [c for c in LEARNT if c[0] in builtin_names()])
def test_a_held_temperature_means_the_same_in_both_backends_and_in_any_chunks(
    name: str, feature_set: str
) -> None:
    pair = Pair(name, feature_set, 33, rows=12)
    pair.policy.temperature_steps = 64
    temperatures = np.geomspace(2.0, 0.01, 400)
    pieces = np.split(temperatures, [5, 64, 65, 100, 200])
    held = {"temperature_steps": 64}
    whole, parts = pair.chains(pair.start(), **held), pair.chains(pair.start(), threads=2, **held)
    paper = pair.chains(pair.start())
    reference = engine.TorchChains(
        pair.operations, pair.batch, pair.policy, pair.x, torch.from_numpy(pair.keys)
    )
    whole.advance(temperatures)
    paper.advance(temperatures)
    for piece in pieces:
        parts.advance(piece)
        reference.advance(piece)
    assert (whole.state.x == parts.state.x).all()
    assert _same(whole.state.x, reference.x).mean() >= 0.8  # the rest met a near tie
    assert not (whole.state.accepted == paper.state.accepted).all()


@pytest.mark.parametrize(("name", "feature_set"), LEARNT)
def test_strong_opinions_do_not_underflow(name: str, feature_set: str) -> None:
    """Logits of hundreds: what is likeliest may not be allowed, and the rest weighs nothing beside it."""
    pair = Pair(name, feature_set, 40, rows=8, spread=12.0)
    chains = pair.chains(pair.start())
    chains.advance(np.full(300, 0.3))
    assert (chains.state.accepted > 0).sum() >= 4
    assert np.allclose(
        chains.state.energy, pair.operations.cost(pair.batch, torch.from_numpy(chains.state.x)), rtol=1e-9
    )
