"""Solvers of tours that are measured side by side, each in a process of its own with one thread.

    python benchmarks/contestants.py SOLVER CLOCK   serve: lines of JSON, a job on stdin, its answer on stdout

By the clock ``wall`` a limit of ours is that of the command ``nsa solve``, start of the process included. By
``cpu`` a limit is in processor seconds from where the instance is in memory, as of a function that is called,
and everything is loaded beforehand: `time.monotonic` is `time.process_time` in ours, and where there is a C
compiler, fast-tsp is given that clock by a library of one function, loaded before the C library. LKH counts
processor seconds by itself. The matrix of fast-tsp, which takes nothing else, is never charged.
"""

from __future__ import annotations

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
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

Clock = Literal["wall", "cpu"]

#: `solve(file, seconds, seed)`: a tour as positions in the file, and the answer's other fields.
Solver = Callable[[str, float, int], tuple[list[int], dict[str, Any]]]

#: Largest length of fast-tsp's matrix, and rows of it that are computed at once.
_LARGEST, _ROWS = 65_535, 500

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


class Contestant:
    """A solver that answers jobs.

    Attributes
    ----------
    name, version : str
        Runs of the same name and version are the same.
    """

    name: str
    version: str

    def run(self, file: Path, seconds: float, seed: int) -> Answer:
        """Solve an instance within a limit."""
        raise NotImplementedError

    def close(self) -> None:
        """End its process."""


class Server(Contestant):
    """A process that serves one job after the other (`serve`), started with the first."""

    def __init__(
        self, name: str, version: str, solver: str, clock: Clock, environment: dict[str, str]
    ) -> None:
        self.name, self.version, self._command = name, version, [sys.executable, __file__, solver, clock]
        self._environment, self._process = environment, None

    def run(self, file: Path, seconds: float, seed: int) -> Answer:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=self._environment,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([str(file), seconds, seed]), file=self._process.stdin, flush=True)
        if not (line := self._process.stdout.readline()):
            self._process = None
            return Answer(None, 0.0, 0.0, "its process ended")
        return Answer(**json.loads(line))

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()
            self._process = None


class Command(Contestant):
    """The command ``nsa solve``, a process for each run."""

    def __init__(self, name: str, version: str, environment: dict[str, str]) -> None:
        self.name, self.version, self._environment = name, version, environment
        self._warm: set[Path] = set()

    def run(self, file: Path, seconds: float, seed: int) -> Answer:
        if file not in self._warm:
            self._solve(file, ["--method", "large-step", "--steps", "20", "--no-bound"])
            self._warm.add(file)
        wall, cpu = time.monotonic(), _children()
        done = self._solve(file, ["--time-limit", f"{seconds}", "--seed", str(seed)])
        wall, cpu = time.monotonic() - wall, _children() - cpu
        if done.returncode != 0:
            return Answer(None, wall, cpu, done.stderr.strip()[-200:])
        found = json.loads(done.stdout)
        note = f"{found['stop_reason']}, {found['found_by']}"
        return Answer([city - 1 for city in found["solution"]], wall, cpu, note)

    def _solve(self, file: Path, options: list[str]) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "nsa_cli",
            "solve",
            str(file),
            "--threads",
            "1",
            "--format",
            "json",
            "-q",
        ]
        return subprocess.run(
            command + options, env=self._environment, check=False, capture_output=True, text=True
        )


def contestants(clock: Clock, against: Path | None, wanted: set[str]) -> tuple[list[Contestant], list[str]]:
    """Make those that are wanted and are there; say why others are not, and how clocks are kept.

    Parameters
    ----------
    clock : {"wall", "cpu"}
    against : Path, optional
        The folder ``src`` of another checkout of this project.
    wanted : set of {"now", "against", "fast-tsp", "lkh"}
    """
    made: list[Contestant] = []
    notes = []
    for name, source in (("now", Path(__file__).parents[1] / "src"), ("against", against)):
        if name in wanted and source is not None:
            made.append(_ours(name, source.resolve(), clock))
    if "fast-tsp" in wanted:
        try:
            version = importlib.metadata.version("fast-tsp")
        except importlib.metadata.PackageNotFoundError:
            notes.append("fast-tsp is not installed (package fast-tsp): left out.")
        else:
            environment = _environment(None)
            shim = _shim() if clock == "cpu" else None
            if shim is not None:
                environment["LD_PRELOAD"] = str(shim)
            elif clock == "cpu":
                version += ", by the wall clock"
                notes.append(
                    "No C compiler (cc): fast-tsp's limits are by the wall clock, on idle machines the same."
                )
            made.append(Server("fast-tsp", version, "fast-tsp", clock, environment))
    if "lkh" in wanted:
        if (program := shutil.which("LKH")) is None:
            notes.append("LKH is not on the path: left out.")
        else:
            made.append(Server("lkh", _digest([Path(program)]), "lkh", clock, _environment(None)))
    return made, notes


def _ours(name: str, source: Path, clock: Clock) -> Contestant:
    """Ours as of a folder ``src``; what the folder holds is the version, whatever the name."""
    package = source / "nsa_cli"
    if not package.is_dir():
        raise SystemExit(f"{source}: expected a folder src with the package nsa_cli in it")
    version = _digest(sorted(package.rglob("*.py")))
    if clock == "wall":
        return Command(name, version, _environment(source))
    return Server(name, version, "ours", clock, _environment(source))


def _digest(files: list[Path]) -> str:
    """Ten digits for what files hold."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:10]


def _environment(source: Path | None) -> dict[str, str]:
    """One thread, and the package from a folder ``src``; by default from this checkout."""
    found = dict(os.environ)
    found |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    paths = [str(source or Path(__file__).parents[1] / "src"), found.get("PYTHONPATH", "")]
    return found | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _shim() -> Path | None:
    """Compile the clock of processor time; None without a compiler."""
    if (compiler := shutil.which("cc")) is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="tours-clock-"))
    (folder / "clock.c").write_text(_SHIM)
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(folder / "clock.so"), str(folder / "clock.c")]
    done = subprocess.run(command, check=False, capture_output=True)
    return folder / "clock.so" if done.returncode == 0 else None


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# What follows runs in a contestant's process. Nothing of the package is imported before its clock is set.


def _ours_solver(clock: Clock) -> Solver:
    if clock == "cpu":
        import concurrent.futures  # noqa: F401  waiting goes on by the wall clock, which these two keep
        import threading  # noqa: F401

        time.monotonic = time.process_time
    import dataclasses

    import nsa_cli as nsa

    warm: set[tuple[Any, ...]] = set()
    read: dict[str, Any] = {}

    def solve(file: str, seconds: float, seed: int) -> tuple[list[int], dict[str, Any]]:
        if file not in read:
            read.clear()
            read[file] = nsa.read(file)[0]
        task = read[file]
        kind = (task.instance.edge_weight_type, task.instance.size >= _PARTS)
        if kind not in warm:
            warm.add(kind)
            nsa.solve(task, steps=20, method="large-step", threads=1, seed=1, bound=False)
            for _ in range(_TRIES):
                if nsa.solve(task, time_limit=1.0, threads=1, seed=1).found_by != "start":
                    break
        fresh = nsa.Task(task.problem, dataclasses.replace(task.instance))  # nothing is left of earlier runs
        with _Watch() as watch:
            found = nsa.solve(fresh, time_limit=seconds, seed=seed, threads=1)
        return found.solution.tolist(), watch.spent | {"note": f"{found.stop_reason}, {found.found_by}"}

    return solve


def _fast_tsp_solver(_: Clock) -> Solver:
    import fast_tsp
    import numpy as np

    import nsa_cli as nsa

    read: dict[str, Any] = {}

    def matrix_of(instance: Any) -> tuple[Any, str]:
        cities = np.arange(instance.size)
        blocks = [cities[k : k + _ROWS, None] for k in range(0, instance.size, _ROWS)]
        longest = max(float(instance.edges(block, cities[None]).max()) for block in blocks)
        whole = instance.metric.rounded if instance.matrix is None else instance.matrix.dtype.kind == "i"
        scale = 1.0 if whole and longest <= _LARGEST else _LARGEST / longest
        matrix = np.concatenate(
            [np.rint(instance.edges(block, cities[None]) * scale).astype(np.uint16) for block in blocks]
        )
        np.fill_diagonal(matrix, 0)
        return matrix, "exact" if scale == 1.0 else f"scaled by {scale:.4g}"

    def solve(file: str, seconds: float, _seed: int) -> tuple[list[int], dict[str, Any]]:
        if file not in read:
            read.clear()
            read[file] = matrix_of(nsa.read(file)[0].instance)
            fast_tsp.find_tour(np.ones((30, 30), np.uint16) - np.eye(30, dtype=np.uint16), 0.01)
        matrix, note = read[file]
        with _Watch() as watch:
            tour = fast_tsp.find_tour(matrix, seconds)
        return [int(city) for city in tour], watch.spent | {"note": note}

    return solve


def _lkh_solver(_: Clock) -> Solver:
    import nsa_cli as nsa
    from nsa_cli.problems.tsp.bench import lkh

    def solve(file: str, seconds: float, _seed: int) -> tuple[list[int], dict[str, Any]]:
        instance = nsa.read(file)[0].instance
        with _Watch() as watch:
            tour = lkh(instance, seconds)
        return tour.tolist(), watch.spent | {"note": ""}

    return solve


class _Watch:
    """Measure both clocks; the wall's is the one that nobody replaces."""

    def __enter__(self) -> _Watch:
        import gc

        gc.collect()
        self._began = (time.time(), time.process_time() + _children())
        return self

    def __exit__(self, *_: object) -> None:
        wall, cpu = self._began
        self.spent = {"wall": time.time() - wall, "cpu": time.process_time() + _children() - cpu}


_SOLVERS = {"ours": _ours_solver, "fast-tsp": _fast_tsp_solver, "lkh": _lkh_solver}


def serve(solver: str, clock: Clock) -> None:
    """Answer jobs until there are none. What a solver prints goes to stderr."""
    answers, sys.stdout = sys.stdout, sys.stderr
    solve = _SOLVERS[solver](clock)
    for line in sys.stdin:
        try:
            tour, answer = solve(*json.loads(line))
        except Exception as error:  # an answer like others: the rest is to be measured, too
            tour, answer = None, {"wall": 0.0, "cpu": 0.0, "note": f"{type(error).__name__}: {error}"}
        print(json.dumps({"tour": tour, **answer}), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])  # type: ignore[arg-type]
