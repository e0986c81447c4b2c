"""Chain-steps a second of the maximum cut example, by its scalar functions and by its tensor methods.

    python benchmarks/own_problem.py

Both backends in one run, on one thread: uniform proposals, and a network of random weights (speed does not
depend on them). Compilation, some three seconds a process, is not counted.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.fused import FusedChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.policy.fused import learnt, uniform
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy
from nsa_cli.problems import find_problem

EXAMPLE = f"{Path(__file__).parents[1] / 'examples' / 'maxcut.py'}:MaxCut"

CHAINS = 16


def pace(chains: Any, seconds: float = 0.5, repeats: int = 3) -> float:
    """Chain-steps a second of the fastest of some runs of about this length."""
    temperatures = np.geomspace(1.0, 0.1, 4)
    chains.advance(temperatures)  # compiles
    taken = 0.0
    while taken < seconds / 4:
        temperatures = np.geomspace(1.0, 0.1, 2 * len(temperatures))
        begin = time.perf_counter()
        chains.advance(temperatures)
        taken = time.perf_counter() - begin
    times = [taken]
    for _ in range(repeats):
        begin = time.perf_counter()
        chains.advance(temperatures)
        times.append(time.perf_counter() - begin)
    return CHAINS * len(temperatures) / min(times)


def paces(size: int, kind: str) -> tuple[float, float]:
    """Measure the reference and the compiled loop on one instance."""
    problem = find_problem(EXAMPLE)
    neighbourhood = problem.neighbourhood()
    operations, fused = neighbourhood.operations(), neighbourhood.kernel()
    rng = np.random.default_rng(0)
    instances = [problem.generate(size, rng)] * CHAINS
    x, keys = rng.random((CHAINS, size)) < 0.5, stream_keys(0, np.arange(CHAINS))
    policy: Any = UniformSlotPolicy()
    layout = uniform()
    if kind == "learnt":
        policy = SlotPolicy(operations.feature_sets["paper"].slots).requires_grad_(False)
        layout = learnt(fused, "paper", {k: v.numpy() for k, v in policy.state_dict().items()})
    batch = operations.pack(instances)
    reference = TorchChains(operations, batch, policy, torch.from_numpy(x), torch.from_numpy(keys))
    return pace(reference), pace(FusedChains(fused, fused.arrays(instances, None), layout, x, keys))


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{'vertices':>8} {'proposals':>10} {'torch':>10} {'numba':>10} {'ratio':>6}")
    for size in (30, 100, 300):
        for kind in ("uniform", "learnt"):
            slow, fast = paces(size, kind)
            print(f"{size:>8} {kind:>10} {slow:>10.3g} {fast:>10.3g} {fast / slow:>6.0f}")


if __name__ == "__main__":
    main()
