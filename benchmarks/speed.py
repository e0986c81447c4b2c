"""Steps a second of the compiled kernels, beside the authors' code, and processes from their start.

    python benchmarks/speed.py                    kernels, one and two threads
    python benchmarks/speed.py --start            processes, with nothing compiled before and again

A chain-step is one proposal with its decision, of one chain. The shipped policies with the paper's own
features and networks, at the paper's temperatures, 256 chains at once. One thread by its processor time, two
by the clock. The fraction of peak counts three operations a hidden unit and candidate (maximum,
multiplication, addition), against a product of large matrices of float32 on one core in the same run.

With ``--start``, processor seconds of whole processes of ``nsa solve``, each beginning with an empty cache of
compiled kernels, and once more with what that left: every metric, method and shipped policy.

Three rows are three things. ``tsp100`` does what the authors' code does. ``tsp100 held`` shows the policy a
new temperature every 16 steps (`nsa_cli.anneal.schedule`). ``tsp100 near`` joins a city to one of its
ten nearest, by the shipped policy for it and at that policy's temperatures; its ratio is to the authors'
code at the same size, which scores all cities.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import command, head, pace, row

import nsa_cli as nsa
from nsa_cli.policy.checkpoint import available
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.tsp.distances import METRICS

#: Chain-steps a second of the authors' code on one thread of a 4 GHz Zen 5 core, batch 256, PyTorch on CPU.
#: For scale only: another machine, another day.
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

#: Chains at once; steps between two temperatures in the rows ``held``.
CHAINS, HELD = 256, 16

POLICIES = Path(__file__).parents[1] / "checkpoints"


def paces(task: nsa.Task, seconds: float, **options: Any) -> list[float]:
    """Measure one thread by the processor's time, and two by the clock."""
    clocks = enumerate((time.process_time, time.perf_counter), 1)
    options |= {"chains": CHAINS, "init": "paper"}
    return [pace(task, seconds, clock, threads=count, **options) or np.nan for count, clock in clocks]


def kinds(name: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Options of the rows of a problem."""
    paper = json.loads((POLICIES / f"{name}-es-paper.json").read_text())
    held = folder / f"{name}-held.json"
    held.write_text(json.dumps(paper | {"temperature_steps": HELD}))
    heat = {"t_start": 1.0, "t_end": 0.1, "unit": 1.0}
    rows = {"": {"policy": f"{name}-es-paper"} | heat, " held": {"policy": str(held)} | heat}
    return rows | ({" near": {"policy": "tsp-es-nearest"}} if name == "tsp" else {})


def peak() -> float:
    """Operations a second of one core, by a product of matrices float32[2000, 2000]."""
    matrix = np.ones((2_000, 2_000), dtype=np.float32)
    matrix @ matrix
    begin = time.process_time()
    for _ in range(5):
        matrix @ matrix
    return 5 * 2 * 2_000**3 / (time.process_time() - begin)


def measure_kernels(names: list[str], sizes: int, seconds: float) -> None:
    """Print chain-steps a second, and what the paper's largest K takes on all its instances."""
    top = peak()
    print(f"peak of one core: {top:.3g} float32 operations a second\n")
    head("set", "1 thread", "2 threads", "2 / 1", "% of peak", "authors, 4 GHz", "ratio")
    projected = ["", "The paper's largest K on all its instances, on two cores:"]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found: dict[str, dict[int, float]] = {}
            for size, other in [*AUTHORS[name].items()][:sizes]:
                (task,) = nsa.generate(name, size, 1, seed=0)
                for kind, options in kinds(name, Path(folder)).items():
                    one, two = paces(task, seconds, **options)
                    found.setdefault(kind, {})[size] = one
                    share = "" if kind else f"{100 * one * SLOTS[name] * size * 16 * 3 / top:.0f}"
                    ratios = f"{two / one:.2f}", share, f"{other:.3g}", f"{one / other:.0f}"
                    row(f"{name}{size}{kind}", f"{one:.3g}", f"{two:.3g}", *ratios)
        for kind, by_size in found.items():
            projected.append(f"{name}{kind} {projection(name, by_size, flat=kind == ' near'):.0f} s")
    print(*projected, sep="\n")


def projection(name: str, by_size: dict[int, float], *, flat: bool) -> float:
    """Seconds on two cores for all test instances at the paper's largest K, by one thread's pace.

    `flat` where a step costs the same at any size.
    """
    power, total = (2 if name == "tsp" else 1), 0.0
    for size, count in INSTANCES[name].items():
        nearest = min(by_size, key=lambda known: abs(np.log(known / size)))
        # Where work grows with the size, pace goes with its inverse between sizes that were timed.
        total += count * 10 * size**power / (by_size[nearest] * (1.0 if flat else nearest / size))
    return total / 2


def beginnings(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Name processes and say what each one runs: ``-c`` of Python, or the words of ``nsa solve``."""
    rng = np.random.default_rng(0)
    yield "python alone", ["-c", "pass"]
    yield "numpy alone", ["-c", "import numpy"]
    for metric in (*METRICS, "EXPLICIT"):
        coords = rng.integers(1, 60, (50, 3 if metric.endswith("3D") else 2))
        record: dict[str, Any] = {"coords": coords.tolist(), "edge_weight_type": metric}
        if metric == "EXPLICIT":
            far = rng.integers(1, 100, (50, 50))
            record = {"matrix": (np.triu(far, 1) + np.triu(far, 1).T).tolist()}
        (folder / f"{metric}.json").write_text(json.dumps(record))
        yield f"tsp {metric}", [str(folder / f"{metric}.json"), "--method", "large-step", "--steps", "1000"]
    for name in builtin_names():
        problem, size = find_problem(name), 2 if name == "rosenbrock" else 50
        file = folder / f"{name}.json"
        file.write_text(json.dumps({"problem": name, **problem.generate(size, rng).record()}))
        ways = {"default": []} | {policy: ["--policy", policy] for policy in ("uniform", *available(name))}
        if problem.large_step() is not None:
            ways["large steps"] = ["--method", "large-step"]
        for way, options in ways.items():
            yield f"{name}, {way}", [str(file), *options, "--steps", "1000"]


def measure_starts(most: int | None) -> None:
    """Print processor seconds of a first process and of the next."""
    head("process", "first", "again")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, words) in enumerate([*beginnings(Path(folder))][:most]):
            cache = {"XDG_CACHE_HOME": f"{folder}/cache{number}"}
            python, rest = (words, []) if words[0] == "-c" else ([], ["solve", *words])
            runs = [command(*rest, environment=cache, python=python) for _ in range(2)]
            row(name, *(f"{run.cpu:.2f}" if run.code == 0 else run.errors for run in runs))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", default="tsp,knapsack,bin")
    parser.add_argument("--sizes", type=int, help="so many of each problem; all by default")
    parser.add_argument("--seconds", type=float, default=0.6, help="of a run, about")
    parser.add_argument("--start", action="store_true", help="processes from their start instead")
    parser.add_argument("--count", type=int, help="with --start: so many of the processes, at most")
    options = parser.parse_args()
    if options.start:
        measure_starts(options.count)
    else:
        measure_kernels(options.problems.split(","), options.sizes, options.seconds)


if __name__ == "__main__":
    main()
