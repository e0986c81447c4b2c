"""The reference engine on a GPU: checks, and chain-steps a second beside the compiled kernels.

    python benchmarks/gpu.py --out gpu.csv                 all, within some minutes
    python benchmarks/gpu.py --out gpu.csv --skip-tests    figures only
    python benchmarks/gpu.py --out cpu.csv --device cpu     the same code on the CPU, small sizes only

First ``pytest -m cuda``, whose outcome is printed. Then, for each problem, size and policy, the engine with a
step captured as a graph and without, for a few chains and for more, up to what the memory of the device
holds; and the kernels on all cores of the machine. A chain-step is one proposal with its decision, of one
chain, by the clock; each figure is the best of three runs. The rows of the file are written one by one, so
that what was measured is there whatever happens next.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import nsa_cli as nsa
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.fused import FusedChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.core.machine import cores
from nsa_cli.solver.choose import choose, choose_device
from nsa_cli.solver.search_torch import free_memory
from nsa_cli.solver.settings import Settings

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

#: Chains of a batch; the kernels' own pace does not depend on them from some hundred on.
CHAINS, KERNEL_CHAINS = (256, 4096, 65536), 4096

#: A run takes about this long; and one pass over all cases at most.
SECONDS, WHOLE = 0.25, 240.0

#: Columns. `fitting`: chains that a batch may have; `warm_seconds`: the first five steps with a capture.
FIELDS = (
    *("device", "problem", "size", "policy", "chains", "fitting", "engine"),
    *("steps_per_second", "warm_seconds", "peak_bytes"),
)


class Case(NamedTuple):
    """A problem, a size and a policy."""

    problem: str
    size: int
    policy: str

    def search(self, device: str, backend: str) -> Any:
        """Choose the search that `solve` would take."""
        task = self.task()
        settings = Settings(policy=self.policy, device=device, backend=backend)
        return choose(task, self.policy, settings, device, 1)

    def task(self) -> nsa.Task:
        """Draw an instance of the problem's distribution."""
        (task,) = nsa.generate(self.problem, self.size, 1, seed=1)
        return task

    def start(self, search: Any, chains: int, **options: Any) -> Any:
        """Put chains at the paper's start, as the search does it."""
        task = self.task()
        rng = np.random.default_rng(0)
        x = task.problem.start("paper")(task.instance, lambda count: rng.random(count))
        first = np.repeat(x[None], chains, axis=0)
        keys = stream_keys(0, np.arange(chains))
        if not options:
            return search.start([task.instance] * chains, first, keys)
        batch = search.operations.pack([task.instance] * chains, search.device)
        tensors = (torch.from_numpy(part).to(search.device) for part in (first, keys))
        return TorchChains(search.operations, batch, search.module, *tensors, **options)


def wait(device: str) -> None:
    """Wait for a device."""
    if device != "cpu":
        torch.cuda.synchronize(device)


def pace(advance: Callable[[int], None], device: str, chains: int) -> float:
    """Chain-steps a second of the best of three runs, each as long as `SECONDS`, after one to warm up."""
    steps = 8
    while True:
        wait(device)
        begin = time.perf_counter()
        advance(steps)
        wait(device)
        if (took := time.perf_counter() - begin) > SECONDS / 10:
            break
        steps *= 4
    steps, best = max(int(steps * SECONDS / took), 1), float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        advance(steps)
        wait(device)
        best = min(best, time.perf_counter() - begin)
    return chains * steps / best


def temperatures(steps: int) -> np.ndarray:
    """Temperatures at which some moves are accepted."""
    return np.geomspace(0.3, 0.03, steps)


def engine_rows(case: Case, device: str, most: int) -> Iterator[dict[str, Any]]:
    """Measure the reference engine with and without a graph, for more and more chains."""
    search = case.search(device, "torch")
    fitting = search.chains_at_once(case.task())
    # The largest batch that the plan would make is among them: it shows whether memory was computed well.
    for chains in sorted({min(count, fitting, most) for count in (*CHAINS, most)}):
        for captured in (False,) if device == "cpu" else (False, True):
            if device != "cpu":
                torch.cuda.reset_peak_memory_stats(device)
            running = case.start(search, chains, captured=captured)
            begin = time.perf_counter()
            running.advance(temperatures(5))
            wait(device)
            warm = time.perf_counter() - begin
            found = pace(lambda steps, r=running: r.advance(temperatures(steps)), device, chains)  # type: ignore[misc]
            yield {
                "chains": chains,
                "fitting": fitting,
                "engine": "graph" if running.is_captured else "calls",
                "steps_per_second": found,
                "warm_seconds": warm,
                "peak_bytes": 0 if device == "cpu" else torch.cuda.max_memory_allocated(device),
            }
            del running


def kernel_row(case: Case) -> dict[str, Any]:
    """Measure the compiled kernels on all cores."""
    running: FusedChains = case.start(case.search("cpu", "numba"), KERNEL_CHAINS)
    found = pace(lambda steps: running.advance(temperatures(steps)), "cpu", KERNEL_CHAINS)
    return {"chains": KERNEL_CHAINS, "engine": f"kernels, {cores()} cores", "steps_per_second": found}


def cases(names: str, sizes: int) -> Iterator[Case]:
    """List the cases, the smallest sizes first, so that a pass that is cut short has something of each."""
    for place in range(sizes):
        for problem, all_sizes, policy in CASES:
            if problem in names.split(",") and place < len(all_sizes):
                yield Case(problem, all_sizes[place], policy)


def checks() -> None:
    """Run the tests that need a device, and say how they end."""
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "cuda", "tests/anneal/test_cuda.py"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    print("\n".join(done.stdout.splitlines()[-30:]), flush=True)


def measure(writer: Any, device: str, most: int, chosen: list[Case], flush: Callable[[], Any]) -> None:
    """Write a row of each measurement, until time is over."""
    until = time.monotonic() + WHOLE
    about = "cpu" if device == "cpu" else torch.cuda.get_device_name(device)
    for case in chosen:
        if time.monotonic() > until:
            print(f"out of time before {case.problem} {case.size} {case.policy}")
            return
        for row in (*engine_rows(case, device, most), kernel_row(case)):
            writer.writerow({"device": about, **case._asdict(), **row})
            flush()
            words = (case.problem, case.size, case.policy, row["chains"], row["engine"])
            print(*words, f"{row['steps_per_second']:.3g}", flush=True)


def main() -> None:
    """Check, then measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path, help="file of rows, CSV; it is written anew")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--skip-tests", action="store_true")
    parser.add_argument("--problems", default="tsp,knapsack,bin,rosenbrock")
    parser.add_argument("--most", type=int, help="chains of a batch; by default a million, on a CPU 256")
    arguments = parser.parse_args()
    try:
        device = choose_device(arguments.device)
    except nsa.UsageError as error:
        sys.exit(error.message)
    if on_cpu := device == "cpu":
        torch.set_num_threads(1)  # two are slower on a machine with other work
    if not on_cpu:
        free = free_memory(torch.device(device))
        print(f"{torch.cuda.get_device_name(device)}, {free / 1e9:.1f} GB free, torch {torch.__version__}")
        if not arguments.skip_tests:
            checks()
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        most = arguments.most or (256 if on_cpu else 1_000_000)
        measure(writer, device, most, list(cases(arguments.problems, 1 if on_cpu else 3)), file.flush)


if __name__ == "__main__":
    main()
