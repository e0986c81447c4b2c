"""What the benchmarks share: runs kept in a file, processes of their own, paces, and Markdown tables.

Solvers with a budget, their turns and their journal are those of ``nsa benchmark``: `nsa_cli.bench`.
"""

from __future__ import annotations

import csv
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import nsa_cli as nsa
from nsa_cli.bench.benchmark import Benchmark
from nsa_cli.bench.measure import MeasuredRun
from nsa_cli.bench.request import Request
from nsa_cli.bench.solvers import Solver
from nsa_cli.bench.statistics import half_width
from nsa_cli.bench.suites import Suite
from nsa_cli.bench.suites import suite_of as suite_of_tasks
from nsa_cli.bench.summary import scored
from nsa_cli.io.journal import Journal
from nsa_cli.problems.contribution import BenchContribution

#: Runs a command and says what memory it took at most, as Linux counts it: a peak that is not its parent's.
_COMMAND = """
import sys
from nsa_cli.cli.main import exit_code
code = exit_code(sys.argv[1:])
print(*(line for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""


def row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def head(*cells: object) -> None:
    """Print the first two rows of a Markdown table."""
    row(*cells)
    row(*["---"] * len(cells))


def mean(values: NDArray[np.float64], form: str = ".3f") -> str:
    """Write a mean with half its 95 % interval, if there are several values."""
    half = half_width(values)
    return f"{values.mean():{form}}" + ("" if half is None else f" ± {half:{form.lstrip('+')}}")


def numbers(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Read an option: numbers with commas between them."""
    return lambda text: tuple(kind(word) for word in text.split(","))


class Rows:
    """Rows of a CSV file by their first cells, which grows by a line a run.

    Parameters
    ----------
    path : Path
        A last line that was cut off is dropped.
    fields : sequence of str
    keys : int
        So many of the fields are the key.
    """

    def __init__(self, path: Path, fields: Sequence[str], keys: int) -> None:
        self.path, self.fields, self.keys = path, fields, keys
        self.all: dict[tuple[str, ...], dict[str, str]] = {}
        if path.exists():
            text = path.read_text(encoding="utf-8")
            path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
            for known in csv.DictReader(text[: text.rfind("\n") + 1].splitlines()):
                self.all[tuple(known[name] for name in fields[:keys])] = known

    def find(self, *key: object) -> dict[str, str] | None:
        """Give the row of a key, or None."""
        return self.all.get(tuple(map(str, key)))

    def add(self, **cells: object) -> None:
        """Keep a row."""
        made = {name: str(cells[name]) for name in self.fields}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.fields, lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(made)
        self.all[tuple(made[name] for name in self.fields[: self.keys])] = made


class Ended(NamedTuple):
    """A process that has ended: seconds by the clock and of the processor, peak of memory in MB, output."""

    code: int
    wall: float
    cpu: float
    mb: int
    output: str
    errors: str


def command(*words: object, environment: dict[str, str] | None = None, python: Sequence[str] = ()) -> Ended:
    """Run ``nsa`` with these words, or Python, in a process of its own.

    Parameters
    ----------
    *words
    environment : dict, optional
        Variables beside the present ones.
    python : sequence of str
        What Python is to run instead.
    """
    line = [sys.executable, *(python or ["-c", _COMMAND]), *map(str, words)]
    wall, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        line, env={**os.environ, **(environment or {})}, check=False, capture_output=True, text=True
    )
    wall, after = time.monotonic() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = re.search(r"VmHWM:\s*([0-9]+) kB\s*$", done.stderr)
    errors = done.stderr[: peak.start()] if peak else done.stderr
    return Ended(done.returncode, wall, cpu, int(peak[1]) // 1024 if peak else 0, done.stdout, errors)


def pace(
    task: nsa.Task,
    seconds: float = 0.6,
    clock: Callable[[], float] = time.process_time,
    wait: Callable[[], object] = lambda: None,
    **options: Any,
) -> float | None:
    """Chain-steps a second between a run and one of four times as many steps, the best of three pairs.

    Parameters
    ----------
    task : Task
    seconds : float
        Of the longer run, about.
    clock : callable
        Gives seconds, by default the processor's.
    wait : callable
        Waits for a device.
    **options
        Of `nsa.solve`.

    Returns
    -------
    float or None
        None where the problem has no such steps, or policy.
    """
    options = {"seed": 1, "bound": False, "threads": 1, "chains": 1, "device": "cpu"} | options

    def took(steps: int) -> float:
        wait()
        begin = clock()
        nsa.solve(task, steps=steps, **options)
        wait()
        return clock() - begin

    try:
        base, steps = [took(1) for _ in range(2)][1], 64
    except nsa.NsaError:
        return None
    while (used := took(steps) - base) < seconds / 8 and steps < 10**8:
        steps *= 4
    steps = max(int(steps * seconds / max(used, 1e-3)), 4)
    spans = [took(steps) - took(steps // 4) for _ in range(3)]
    best = min((span for span in spans if span > 0), default=None)
    return None if best is None else options["chains"] * (steps - steps // 4) / best


def suite_of(
    label: str, problem: Any, instances: Sequence[Any], references: Sequence[float | None] | None = None
) -> Suite:
    """Put instances together, each with random numbers of its own; no reference is the best run."""
    return suite_of_tasks(label, [nsa.Task(problem, instance) for instance in instances], references)


def measure(
    name: str, suite: Suite, solvers: Sequence[Solver], seeds: Sequence[int] = (1,), *, timed: bool = True
) -> dict[tuple[str, Any], list[MeasuredRun]]:
    """Have solvers take turns as in ``nsa benchmark``; go on from the journal ``NAME.jsonl``.

    Returns
    -------
    dict
        Runs by solver's name and budget: seed by seed in the order of the instances.
    """
    request = Request(seeds=tuple(seeds), budget=(1.0,) if timed else None)
    ready = Benchmark(request, BenchContribution(), [suite], [[*solvers]])
    with Journal(Path(f"{name}.jsonl"), "benchmark") as journal:
        for _ in ready.run(journal=journal):
            pass
    found: dict[tuple[str, Any], list[MeasuredRun]] = {}
    for run in scored(ready.runs):
        found.setdefault((run.solver.name, run.solver.budget), []).append(run)
    return found
