"""Chain-steps a second of the fused kernels, beside the authors' code.

    python benchmarks/speed.py                    kernels, one and two threads
    python benchmarks/speed.py --authors CHECKOUT the authors' code too, in the same run
    python benchmarks/speed.py --start            processes, with nothing compiled before and again

A chain-step is one proposal with its decision, of one chain. The paper's own features and networks (random
weights: speed does not depend on them) at the paper's temperatures, 256 chains at once, in runs of a third
of a second: `solve` looks at its chains every tenth of one. One thread by its processor time, two by the
clock. The fraction of peak counts three operations a hidden unit and candidate (maximum, multiplication,
addition), against what a loop of nothing but fused multiply-adds reaches on one core in the same run.

With ``--start``, processor seconds of whole processes of ``nsa solve``, each beginning with an empty cache of
compiled kernels, and once more with what that left: every metric, method and shipped policy.

Three rows are three things. ``tsp100`` does what the authors' code does. ``tsp100 held`` shows the policy a
new temperature every 16 steps (`nsa_cli.anneal.hold`). ``tsp100 near`` joins a city to one of its
ten nearest, by the shipped policy for it and at that policy's temperatures; its ratio is to the authors'
code at the same size, which scores all cities.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from nsa_cli.anneal.fused import FusedChains
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.draws import stream_keys
from nsa_cli.policy.checkpoint import available, find_stored
from nsa_cli.policy.fused import learnt
from nsa_cli.policy.slots import SlotPolicy
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.tsp.distances import METRICS

#: Chain-steps a second of the authors' code on one thread of a 4 GHz Zen 5 core, batch 256, PyTorch on CPU.
#: For scale only: another machine, another day. With --authors it is measured here.
AUTHORS = {
    "tsp": {20: 2.4e5, 50: 1.0e5, 100: 6.2e4, 200: 3.9e4, 500: 1.6e4},
    "knapsack": {50: 2.7e5, 200: 8.5e4, 1000: 2.0e4, 2000: 9.6e3},
    "bin": {50: 2.0e5, 200: 5.5e4, 1000: 1.2e4, 2000: 2.5e3},
}

#: The paper's test instances of each size; its K is ten times N^2 for tours and ten times N else.
INSTANCES = {
    "tsp": {20: 10_000, 50: 10_000, 100: 10_000, 200: 1_000, 500: 1_000},
    "knapsack": dict.fromkeys((50, 100, 200, 500, 1000, 2000), 1_000),
    "bin": dict.fromkeys((50, 100, 200, 500, 1000, 2000), 1_000),
}

#: Networks that score all candidates in a step.
SLOTS = {"tsp": 2, "knapsack": 1, "bin": 2}

CHAINS = 256

#: A run takes one thread about this long.
SECONDS = 0.35

#: Steps between two temperatures in the rows ``held``.
HELD = 16


def best_of(
    run: Callable[[], None], steps: int, clock: Callable[[], float] = time.perf_counter, repeats: int = 3
) -> float:
    """Chain-steps a second of the fastest of some runs: whatever else the machine does only adds time."""
    run()
    seconds = []
    for _ in range(repeats):
        begin = clock()
        run()
        seconds.append(clock() - begin)
    return CHAINS * steps / min(seconds)


def kernel_paces(name: str, size: int, *, held: int = 1) -> tuple[float, float]:
    """Measure the fused kernel with the paper's features: one thread, two threads."""
    problem = find_problem(name)
    neighbourhood = problem.neighbourhood("paper")
    torch.manual_seed(0)
    policy = SlotPolicy(neighbourhood.operations().feature_sets["paper"].slots)
    weights = {key: value.detach().numpy() for key, value in policy.state_dict().items()}
    fused = neighbourhood.kernel()
    return _paces(problem, fused, size, learnt(fused, "paper", weights), (1.0, 0.1), held)


def near_paces(size: int) -> tuple[float, float]:
    """Measure the kernel of near cities with its shipped policy: one thread, two threads."""
    problem, stored = find_problem("tsp"), find_stored("tsp-es-nearest", "tsp")
    neighbourhood = problem.neighbourhood("nearest:10")
    fused = neighbourhood.kernel()
    layout = learnt(fused, stored.feature_set, stored.arrays(fused.features[stored.feature_set]))
    budget = neighbourhood.budget(problem.generate(size, np.random.default_rng(0)), stored.trained)
    return _paces(problem, fused, size, layout, (budget.t_start, budget.t_end), 1)


def _paces(
    problem: Any, fused: Any, size: int, layout: Any, heat: tuple[float, float], held: int
) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    instances = [problem.generate(size, rng) for _ in range(CHAINS)]
    make, batch = problem.start("paper"), fused.arrays(instances, 1.0)
    x = np.stack([make(i, lambda n: rng.random(n)) for i in instances])
    keys, steps, paces = stream_keys(0, np.arange(CHAINS)), 20, []
    for threads, clock in ((1, time.process_time), (2, time.perf_counter)):
        chains = FusedChains(fused, batch, layout, x, keys, threads=threads, temperature_steps=held)
        if threads == 1:
            tries = Schedule(steps, *heat).temperatures(0, steps)
            steps = max(int(SECONDS * best_of(partial(chains.advance, tries), steps, clock) / CHAINS), steps)
        temperatures = Schedule(steps, *heat).temperatures(0, steps)
        paces.append(best_of(partial(chains.advance, temperatures), steps, clock))
    return paces[0], paces[1]


def peak() -> float:
    """Fused multiply-adds a second of one core, counted as two operations each."""
    from numba import types
    from numba.extending import intrinsic

    from nsa_cli.kernels.jit import kernel
    from nsa_cli.kernels.lanes import LANES, Code

    streams = 12

    @intrinsic
    def burn(_: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            code = Code(context, builder, signature, values)
            sums = [code.variable(code.constant(0.1 * k)) for k in range(streams)]
            with code.loop(values[0]):
                for place in sums:
                    value = builder.load(place)
                    builder.store(code.fma(value, code.constant(0.999), code.constant(1e-3)), place)
            total = builder.load(sums[0])
            for place in sums[1:]:
                total = builder.fadd(total, builder.load(place))
            return code.sum_of(total)

        return types.float32(count), generate

    @kernel
    def loop(count: int) -> float:
        return burn(count)

    count = 20_000_000
    loop(1)
    begin = time.process_time()
    loop(count)
    return 2 * streams * LANES * count / (time.process_time() - begin)


def processor_seconds(command: Sequence[str], cache: Path) -> float:
    """Processor seconds of a process of Python, with a folder for what it compiles."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def beginnings(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Name processes, and give their commands."""
    rng = np.random.default_rng(0)
    yield "python alone", ["-c", "pass"]
    yield "NumPy alone", ["-c", "import numpy"]
    for metric in (*METRICS, "EXPLICIT"):
        coords = rng.integers(1, 60, (50, 3 if metric.endswith("3D") else 2))
        record: dict[str, Any] = {"coords": coords.tolist(), "edge_weight_type": metric}
        if metric == "EXPLICIT":
            far = rng.integers(1, 100, (50, 50))
            record = {"matrix": (np.triu(far, 1) + np.triu(far, 1).T).tolist()}
        (folder / f"{metric}.json").write_text(json.dumps(record))
        yield f"tsp {metric}", [str(folder / f"{metric}.json"), "--method", "large-step", "--steps", "1000"]
    for name in builtin_names():
        file = folder / f"{name}.json"
        problem, size = find_problem(name), 2 if name == "rosenbrock" else 50
        record = {"problem": name, **problem.generate(size, rng).record()}
        file.write_text(json.dumps(record))
        yield f"{name}, default", [str(file), "--steps", "1000"]
        for policy in ("uniform", *available(name)):
            yield f"{name}, {policy}", [str(file), "--policy", policy, "--steps", "1000"]
        if problem.large_step() is not None:
            yield f"{name}, large steps", [str(file), "--method", "large-step", "--steps", "1000"]


def measure_starts() -> None:
    """Print processor seconds of a first process and of the next."""
    print(f"{'process':>28} {'first':>7} {'again':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, command) in enumerate(beginnings(Path(folder))):
            if command[0] != "-c":
                command = ["-m", "nsa_cli", "solve", *command]
            cache = Path(folder) / f"cache{number}"
            first, again = processor_seconds(command, cache), processor_seconds(command, cache)
            print(f"{name:>28} {first:7.2f} {again:7.2f}", flush=True)


def authors_pace(checkout: Path, name: str, size: int) -> float:
    """Measure the authors' code (https://github.com/Qualcomm-AI-research/neural-simulated-annealing)."""
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    from neuralsa import model
    from neuralsa import problem as problems
    from neuralsa.sa import sa

    torch.manual_seed(0)
    if name == "knapsack":
        problem = problems.Knapsack(size, CHAINS, device="cpu", params={"capacity": max(size / 8, 12.5)})
        actor = model.KnapsackActor(16, device="cpu")
    elif name == "bin":
        problem = problems.BinPacking(size, CHAINS, device="cpu")
        actor = model.BinPackingActor(16, device="cpu")
    else:
        problem = problems.TSP(size, CHAINS, device="cpu")
        actor = model.TSPActor(16, device="cpu")
    problem.set_params(**problem.generate_params())
    steps = max(2_000 // size, 5)
    schedule = SimpleNamespace(init_temp=1.0, alpha=0.1 ** (1 / steps), outer_steps=steps, inner_steps=1)
    settings = SimpleNamespace(sa=schedule, training=SimpleNamespace(method="es"))
    x = problem.generate_init_x()
    with torch.no_grad():
        return best_of(lambda: sa(actor, problem, x, settings) and None, steps, repeats=2)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--authors", type=Path, metavar="CHECKOUT", help="a checkout of the authors' code")
    parser.add_argument("--problems", default="tsp,knapsack,bin")
    parser.add_argument("--start", action="store_true", help="processes from their start instead")
    arguments = parser.parse_args()
    if arguments.start:
        measure_starts()
        return
    torch.set_num_threads(1)
    top = peak()
    print(f"peak of one core: {top:.3g} float32 operations a second")
    title = "authors, here" if arguments.authors else "authors, 4 GHz"
    head = ("set", "1 thread", "2 threads", "2 / 1", "% of peak", title, "ratio")
    print(" ".join(f"{text:>14}" for text in head))
    for name in arguments.problems.split(","):
        kinds: dict[str, dict[int, float]] = {"": {}, " held": {}}
        if name == "tsp":
            kinds[" near"] = {}
        for size, published in AUTHORS[name].items():
            other = authors_pace(arguments.authors, name, size) if arguments.authors else published
            for kind, paces in kinds.items():
                if kind == " near":
                    one, two = near_paces(size)
                else:
                    one, two = kernel_paces(name, size, held=HELD if kind else 1)
                paces[size] = one
                share = "" if kind else f"{100 * one * SLOTS[name] * size * 16 * 3 / top:.0f}"
                cells = (f"{name}{size}{kind}", f"{one:.3g}", f"{two:.3g}", f"{two / one:.2f}", share)
                row = (*cells, f"{other:.3g}", f"{one / other:.0f}")
                print(" ".join(f"{text:>14}" for text in row), flush=True)
        for kind, paces in kinds.items():
            seconds = projection(name, paces, flat=kind == " near")
            print(f"{name}{kind}: the paper's largest K on all its instances, two cores: {seconds:.0f} s")


def projection(name: str, paces: dict[int, float], *, flat: bool) -> float:
    """Seconds on two cores for all test instances at the paper's largest K, by one thread's pace.

    `flat` where a step costs the same at any size.
    """
    power, total = (2 if name == "tsp" else 1), 0.0
    for size, count in INSTANCES[name].items():
        nearest = min(paces, key=lambda known: abs(np.log(known / size)))
        # Where work grows with the size, pace goes with its inverse between sizes that were timed.
        total += count * 10 * size**power / (paces[nearest] * (1.0 if flat else nearest / size))
    return total / 2


if __name__ == "__main__":
    main()
