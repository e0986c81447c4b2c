"""What a solve takes, for planning: the tables of docs/planning.md.

    python benchmarks/planning.py                       all, within a quarter of an hour
    python benchmarks/planning.py --problems knapsack

Instances are drawn from the problem's own distribution, of each size the one of eight whose large steps take
longest; one chain and one thread; seconds are those of the processor, so that other work on the machine
matters little. A pace is that of the steps between a run and one of four times as many, the best of three
pairs, without what both do once. Whole runs and peaks of memory are of processes of their own, ``nsa solve
FILE --threads 1``, from the start of Python to the written answer.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nsa_cli as nsa
from nsa_cli.core.machine import cores

SIZES = {
    "tsp": (20, 50, 100, 200, 500, 1000, 10_000),
    "knapsack": (50, 200, 1000, 2000, 10_000),
    "bin": (50, 200, 1000, 2000, 10_000),
    "rosenbrock": (2, 10),
}

#: The policies whose pace is measured, beside uniform proposals.
POLICIES = {
    "tsp": ("tsp-es-nearest", "tsp-es-best"),
    "knapsack": ("knapsack-es-best",),
    "bin": ("bin-es-best",),
    "rosenbrock": ("rosenbrock-es-best",),
}

#: Processor seconds of the longer run of a pair, about.
SECONDS = 0.6

#: Runs a command and says what it took at most, as Linux counts it: a peak that is not that of its parent.
_PROCESS = """
import sys
from nsa_cli.cli.main import exit_code
code = exit_code(sys.argv[1:])
print(*(line for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""

#: Whole runs without a limit up to this size: larger ones take minutes.
WHOLE = 1000


def seconds_of(task: nsa.Task, steps: int, **options: Any) -> float:
    """Processor seconds of a run of so many steps."""
    begin = time.process_time()
    nsa.solve(task, seed=1, bound=False, threads=1, chains=1, device="cpu", steps=steps, **options)
    return time.process_time() - begin


def pace(task: nsa.Task, **options: Any) -> float | None:
    """Steps a second of the processor; None where the problem has no such steps, or policy."""
    try:
        base, steps = seconds_of(task, 1, **options), 64
    except nsa.NsaError:
        return None
    while (took := seconds_of(task, steps, **options) - base) < SECONDS / 8 and steps < 10**8:
        steps *= 4
    steps = max(int(steps * SECONDS / max(took, 1e-3)), 4)
    found = []
    for _ in range(3):
        short, long = (seconds_of(task, count, **options) for count in (steps // 4, steps))
        if long > short:
            found.append((steps - steps // 4) / (long - short))
    return max(found) if found else None


def _short(task: nsa.Task) -> float:
    """Processor seconds of a short run of large steps; few where bins are full and nothing is to be done."""
    return min(seconds_of(task, 2_000, method="large-step") for _ in range(2))


def process(arguments: list[str]) -> tuple[float, int, str]:
    """Processor seconds, peak of memory in bytes, and output of a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", _PROCESS, *arguments], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"nsa {' '.join(arguments)}: {done.stderr}")
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, 1024 * int(done.stderr.split()[-2]), done.stdout


def paces(names: list[str]) -> Iterator[str]:
    """Rows of steps a second."""
    yield "| problem | N | large steps | uniform | policy |"
    yield "|---|---|---|---|---|"
    for name in names:
        for size in SIZES[name]:
            tasks = nsa.generate(name, size, 8, seed=1)
            task = tasks[0] if tasks[0].problem.large_step() is None else max(tasks, key=_short)
            cells = [shown(pace(task, method="large-step")), shown(pace(task, policy="uniform"))]
            learnt = {policy: pace(task, policy=policy) for policy in POLICIES[name]}
            cells.append(", ".join(f"{shown(p)} (`{policy}`)" for policy, p in learnt.items() if p))
            yield f"| {name} | {size:,} | {' | '.join(cells)} |"


def processes(names: list[str], folder: Path) -> Iterator[str]:
    """Rows of whole processes."""
    yield "| problem | N | a tenth of a second, s | without a limit, s | memory, MB | result, bytes |"
    yield "|---|---|---|---|---|---|"
    for name in names:
        for size in SIZES[name]:
            (task,) = nsa.generate(name, size, 1, seed=1)
            path = folder / f"{name}{size}.json"
            path.write_text(json.dumps({"problem": name, **task.instance.record()}))
            common = ["solve", str(path), "--threads", "1", "--seed", "1", "--format", "jsonl"]
            short, most, text = process([*common, "--time-limit", "100ms"])
            whole = "" if size > WHOLE else f"{process(common)[0]:.2f}"
            yield f"| {name} | {size:,} | {short:.2f} | {whole} | {most / 1e6:.0f} | {len(text):,} |"


def shown(number: float | None) -> str:
    """Write a pace with two digits, or nothing."""
    return "" if number is None else f"{number:.1e}".replace("e+0", "e")


def main() -> None:
    """Print both tables, row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", default=",".join(SIZES))
    names = parser.parse_args().problems.split(",")
    print(f"nsa {nsa.__version__}, {cores()} cores\n")
    for row in paces(names):
        print(row, flush=True)
    print()
    with tempfile.TemporaryDirectory() as folder:
        for row in processes(names, Path(folder)):
            print(row, flush=True)


if __name__ == "__main__":
    main()
