"""The reference engine on a GPU: checks, and chain-steps a second beside the compiled kernels.

    python benchmarks/gpu.py --out gpu.csv                 all, within some minutes
    python benchmarks/gpu.py --out gpu.csv --skip-tests    figures only
    python benchmarks/gpu.py --out cpu.csv --device cpu     the same code on the CPU, small sizes only

First ``pytest -m cuda``, whose outcome is printed. Then, for each problem, size and policy, the engine as
`nsa.solve` runs it, for a few chains and for more; and the kernels on all cores of the machine. A chain-step
is one proposal with its decision, of one chain, by the clock; each figure is the best of three pairs of runs
(`common.pace`). The rows of the file are written one by one; the same command makes those that are missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from common import Rows, pace

import nsa_cli as nsa
from nsa_cli.core.machine import cores
from nsa_cli.solver.search import choose_device

#: What is measured: problem, sizes, policy.
CASES = (
    ("tsp", (50, 200, 1000), "uniform"),
    ("tsp", (50, 200, 1000), "tsp-es-paper"),
    ("tsp", (50, 200, 1000), "tsp-es-nearest"),
    ("knapsack", (50, 200, 2000), "uniform"),
    ("knapsack", (50, 200, 2000), "knapsack-es-paper"),
    ("bin", (50, 200, 2000), "uniform"),
    ("bin", (50, 200, 2000), "bin-es-paper"),
    ("rosenbrock", (2,), "rosenbrock-es-paper"),
)

#: Chains at once of the engine; of the kernels, whose pace does not depend on them from some hundred on.
CHAINS, KERNEL_CHAINS = (256, 4096, 65536, 1_000_000), 4096

#: Seconds of a run, about.
SECONDS = 0.25

FIELDS = ("problem", "size", "policy", "engine", "chains", "steps_per_second", "peak_bytes")


def measure(rows: Rows, device: str, most: int, case: tuple[str, int, str]) -> None:
    """Add the rows of a case that are missing: the engine with more and more chains, and the kernels."""
    problem, size, policy = case
    (task,) = nsa.generate(problem, size, 1, seed=1)
    on_gpu = device != "cpu"
    name = torch.cuda.get_device_name(device) if on_gpu else "cpu"
    engine = {"device": device, "backend": "torch"} | ({"wait": torch.cuda.synchronize} if on_gpu else {})
    plan: list[tuple[str, int, Any]] = [(name, chains, engine) for chains in CHAINS if chains <= most]
    plan.append((f"kernels, {cores()} cores", KERNEL_CHAINS, {"device": "cpu", "threads": cores()}))
    for where, chains, options in plan:
        if rows.find(*case, where, chains) is None:
            if on_gpu:
                torch.cuda.reset_peak_memory_stats(device)
            found = pace(task, SECONDS, perf_counter, chains=chains, policy=policy, init="paper", **options)
            peak = torch.cuda.max_memory_allocated(device) if on_gpu else 0
            rows.add(**dict(zip(FIELDS, (*case, where, chains, found, peak), strict=True)))
            print(*case, where, chains, f"{found or 0.0:.3g}", flush=True)


def main() -> None:
    """Check, then measure, the smallest sizes first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path, help="file of rows, CSV")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--skip-tests", action="store_true")
    parser.add_argument("--most", type=int, help="chains at once; by default a million, on a CPU 256")
    options = parser.parse_args()
    try:
        device = choose_device(options.device)
    except nsa.UsageError as error:
        sys.exit(error.message)
    if device != "cpu" and not options.skip_tests:
        words = [sys.executable, "-m", "pytest", "-q", "-m", "cuda", "tests/anneal/test_cuda.py"]
        subprocess.run(words, cwd=Path(__file__).parents[1], check=False)
    most = options.most or (256 if device == "cpu" else CHAINS[-1])
    rows = Rows(options.out, FIELDS, 5)
    for place in range(1 if device == "cpu" else 3):
        for problem, sizes, policy in CASES:
            if place < len(sizes):
                measure(rows, device, most, (problem, sizes[place], policy))


if __name__ == "__main__":
    main()
