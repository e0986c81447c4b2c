"""Solvers of tours that are measured side by side, each in a process of its own with one thread.

    python benchmarks/contestants.py SOLVER   serve: lines of JSON, a job on stdin, its answer on stdout

A limit is in processor seconds from where the instance is in memory, as of a function that is called, and
everything is loaded beforehand: `time.monotonic` is `time.process_time` in ours, and where there is a C
compiler, fast-tsp is given that clock by a library of one function, loaded before the C library. Its
matrix is made before its limit begins, and counts in its seconds.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.metadata
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

#: `solve(file, seconds, seed)`: a tour as positions in the file, and a remark.
Solver = Callable[[str, float, int], tuple[Any, str]]

SOURCE = Path(__file__).parents[1] / "src"

#: Cities from which on the program cuts tours into parts, by kernels of their own.
_PARTS = 8_000

#: Tries to have everything compiled, at most, where machine code is out of date.
_TRIES = 60

#: A clock of processor time in place of the one that goes on.
_SHIM = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    return syscall(SYS_clock_gettime, clock == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : clock, now);
}
"""


class Answer(NamedTuple):
    """A tour, positions in the file, None for none; seconds by the wall and by the processor; a remark."""

    tour: list[int] | None
    wall: float
    cpu: float
    note: str


class Server:
    """A process that serves one job after the other (`serve`), started with the first.

    Attributes
    ----------
    name, version : str
        Runs of the same name and version are the same.
    """

    def __init__(self, name: str, version: str, solver: str, environment: dict[str, str]) -> None:
        self.name, self.version, self._environment = name, version, environment
        self._command = [sys.executable, __file__, solver]
        self._process: subprocess.Popen[str] | None = None

    def run(self, file: Path, seconds: float, seed: int) -> Answer:
        """Solve an instance within a limit."""
        if self._process is None:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen(self._command, env={**os.environ, **self._environment}, **pipes)
        print(json.dumps([str(file), seconds, seed]), file=self._process.stdin, flush=True)
        if not (line := self._process.stdout.readline()):
            self._process = None
            return Answer(None, 0.0, 0.0, "its process ended")
        return Answer(**json.loads(line))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def contestants(against: Path | None) -> tuple[list[Server], list[str]]:
    """Make those that are there; say why others are not.

    Parameters
    ----------
    against : Path, optional
        The folder ``src`` of another checkout of this project.
    """
    made: list[Server] = []
    notes = []
    for name, source in (("now", SOURCE), ("against", against)):
        if source is not None:
            made.append(_ours(name, source.resolve()))
    try:
        version, environment = importlib.metadata.version("fast-tsp"), _environment(SOURCE)
        if (shim := _shim()) is not None:
            environment["LD_PRELOAD"] = str(shim)
        else:
            version += ", by the wall clock"
            notes.append("No C compiler (cc): fast-tsp's limits are by the wall clock.")
        made.append(Server("fast-tsp", version, "fast-tsp", environment))
    except importlib.metadata.PackageNotFoundError:
        notes.append("fast-tsp is not installed (package fast-tsp): left out.")
    return made, notes


def _ours(name: str, source: Path) -> Server:
    """Ours as of a folder ``src``; what the folder holds is the version, whatever the name."""
    if not (package := source / "nsa_cli").is_dir():
        raise SystemExit(f"{source}: expected a folder src with the package nsa_cli in it")
    version = _digest(sorted(package.rglob("*.py")))
    return Server(name, version, "ours", _environment(source))


def _digest(files: Iterable[Path]) -> str:
    """Ten digits for what files hold."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:10]


def _environment(source: Path) -> dict[str, str]:
    """One thread, and the package from a folder ``src``."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    paths = [str(source), os.environ.get("PYTHONPATH", "")]
    return one | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _shim() -> Path | None:
    """Compile the clock of processor time; None without a compiler."""
    if (compiler := shutil.which("cc")) is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="tours-clock-"))
    (folder / "clock.c").write_text(_SHIM)
    line = [compiler, "-O1", "-shared", "-fPIC", "-o", str(folder / "clock.so"), str(folder / "clock.c")]
    done = subprocess.run(line, check=False, capture_output=True)
    return folder / "clock.so" if done.returncode == 0 else None


# What follows runs in a contestant's process. Nothing of the package is imported before its clock is set.


def _ours_solver() -> Solver:
    import dataclasses

    import nsa_cli as nsa

    warm: set[tuple[Any, ...]] = set()

    def solve(file: str, seconds: float, seed: int) -> tuple[Any, str]:
        task = _read(file)
        kind = (task.instance.edge_weight_type, task.instance.size >= _PARTS)
        if kind not in warm:
            warm.add(kind)
            nsa.solve(task, steps=20, method="large-step", threads=1, seed=1, bound=False)
            for _ in range(_TRIES):
                if nsa.solve(task, time_limit=1.0, threads=1, seed=1).found_by != "start":
                    break
        fresh = nsa.Task(task.problem, dataclasses.replace(task.instance))  # nothing is left of earlier runs
        with _WATCH:
            found = nsa.solve(fresh, time_limit=seconds, seed=seed, threads=1)
        return found.solution, f"{found.stop_reason}, {found.found_by}"

    return solve


def _fast_tsp_solver() -> Solver:
    """As ``nsa benchmark`` calls it."""
    from nsa_cli.problems.tsp.bench import fast_tsp

    def solve(file: str, seconds: float, _seed: int) -> tuple[Any, str]:
        instance = _read(file).instance
        with _WATCH:
            return fast_tsp(instance, seconds), ""

    return solve


_TASKS: dict[str, Any] = {}


def _read(file: str) -> Any:
    """Read an instance, once as long as no other one is."""
    if file not in _TASKS:
        import nsa_cli as nsa

        _TASKS.clear()
        _TASKS[file] = nsa.read(file)[0]
    return _TASKS[file]


class _Watch:
    """Measure both clocks; the wall's is the one that nobody replaces."""

    spent = (0.0, 0.0)

    def __enter__(self) -> None:
        gc.collect()
        self._began = self._now()

    def __exit__(self, *_: object) -> None:
        wall, cpu = self._now()
        self.spent = (wall - self._began[0], cpu - self._began[1])

    def _now(self) -> tuple[float, float]:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.time(), time.process_time() + children.ru_utime + children.ru_stime


_WATCH = _Watch()


def serve(solver: str) -> None:
    """Answer jobs until there are none. What a solver prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if solver == "ours":
        import concurrent.futures  # noqa: F401  waiting goes on by the wall clock, which these two keep
        import threading  # noqa: F401

        time.monotonic = time.process_time
    solve = _ours_solver() if solver == "ours" else _fast_tsp_solver()
    for line in sys.stdin:
        try:
            tour, note = solve(*json.loads(line))
            answer = Answer([int(city) for city in tour], *_WATCH.spent, note)
        except Exception as error:  # an answer like others: the rest is to be measured, too
            answer = Answer(None, 0.0, 0.0, f"{type(error).__name__}: {error}")
        print(json.dumps(answer._asdict()), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
