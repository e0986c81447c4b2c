"""The program as plain functions: what the command line does, for Python.

>>> import nsa_cli as nsa
>>> result = nsa.solve("tour.tsp", steps="10N2", seed=1)     # doctest: +SKIP
>>> result.objective, result.to_dict()["solution"]           # doctest: +SKIP
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from nsa_cli.core.errors import NsaError, UsageError
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Record, Source
from nsa_cli.core.result import Result
from nsa_cli.io.source import read_source
from nsa_cli.problems import all_problems, builtin_names, find_problem
from nsa_cli.problems.files import Unread, read_records
from nsa_cli.problems.files import read_each as read_each_record
from nsa_cli.problems.sets import find_set, read_set

__all__ = ["Settings", "Task", "Unread", "generate", "read", "read_each", "solve"]


@dataclass(frozen=True)
class Task:
    """An instance with the problem it belongs to.

    Attributes
    ----------
    problem : Problem
    instance : Instance
    seconds : float
        What reading it took.
    stream : int
        Random numbers to use. Alike for all instances that a user solves, so that an answer depends on
        the instance and the seed alone; a benchmark numbers its instances, or their errors would not
        average out.
    file : str, optional
        Where it was read from.
    """

    problem: Problem[Any]
    instance: Instance
    seconds: float = 0.0
    stream: int = 0
    file: str | None = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to solve; every field has a default that fits the instance.

    Attributes
    ----------
    steps : int or str, optional
        Number, or in terms of the size: ``10N2``.
    seed : int, optional
        0 <= seed < 2**63; drawn if not given, and reported either way.
    device : {'auto', 'cpu', 'cuda'}
        ``auto`` is CUDA where there is one.
    method : {'auto', 'anneal', 'large-step'}
        ``large-step``: steps are kicks with their repair by local search, where a problem has them; ``auto``
        takes them unless something is asked for that only annealing move by move has, such as a policy or a
        number of steps.
    backend : {'auto', 'torch', 'numba'}
        ``auto`` takes fused kernels on a CPU wherever there are some for the problem and the policy.
    threads : int, optional
        CPU threads; they change no answer. All cores by default.
    chains : int or 'auto', optional
        Independent chains an instance; the best answer counts. By default, which is ``auto``, as many as do
        best at this size and in this time.
    policy : str, optional
        ``uniform``, the name of a shipped policy, or a file; the problem's best one by default.
    neighbourhood : str, optional
        Name of one of the problem's; by default the policy's, or the best one.
    candidates : int, optional
        For tours: the neighbourhood with candidate lists of this length.
    greedy : bool
        Always take the policy's likeliest action.
    t_start, t_end : float or 'auto', optional
        Temperatures in normalised units (TSP: the side of the square around the cities is 1; knapsack: the
        largest value is 1; bins: one bin is 1), or from a sample of the instance's own moves: ``auto``.
    schedule : {'geometric', 'linear', 'constant', 'adaptive'}
        ``adaptive`` goes slowly where energy falls, as a pilot of a tenth of the run tells.
    reheat : int
        How often temperatures begin anew, each time for an equal part of the steps or the time.
    acceptance : {'metropolis', 'hastings'}
    init : str or ndarray, optional
        Name of a start of the problem's, or a solution.
    time_limit : float, optional
        Seconds, from `started`.
    target : float, optional
        Stop at this objective, or a better one.
    gap : float or str, optional
        Stop this near the bound, relative to it: ``0.01`` or ``"1%"``.
    no_improvement : int or str, optional
        Stop after so many steps (``5000``, ``"10N"``) or seconds (``"2s"``) without a better answer.
    bound : bool
        Whether to bound the optimum, and to stop where the bound is reached.
    unit : float, optional
        What is 1 in normalised units, in file units; estimated from the data by default.
    """

    steps: int | str | None = None
    seed: int | None = None
    device: str = "auto"
    method: str = "auto"
    backend: str = "auto"
    threads: int | None = None
    chains: int | str | None = None
    policy: str | None = None
    neighbourhood: str | None = None
    candidates: int | None = None
    greedy: bool = False
    t_start: float | str | None = None
    t_end: float | str | None = None
    schedule: str = "geometric"
    reheat: int = 0
    acceptance: str = "metropolis"
    init: str | Solution | None = None
    time_limit: float | None = None
    target: float | None = None
    gap: float | str | None = None
    no_improvement: int | str | None = None
    bound: bool = True
    unit: float | None = None
    #: `time.monotonic` at which the user's clock started.
    started: float = field(default_factory=time.monotonic)

    def given(self) -> dict[str, Any]:
        """Give the fields that are not at their defaults, except seed and clock, ready for JSON."""
        pairs = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        pairs = {key: pair for key, pair in pairs.items() if key not in ("seed", "started")}
        return {
            key: "given" if isinstance(value, np.ndarray) else value
            for key, (value, default) in pairs.items()
            if isinstance(value, np.ndarray) or value != default
        }


def read(
    path: str | Path, problem: str | None = None, settings: Mapping[str, Any] | None = None
) -> list[Task]:
    """Read the instances of a file, or of standard input for ``-``.

    Parameters
    ----------
    path : str or Path
    problem : str, optional
        A problem's name or ``FILE.py:CLASS``; recognised from the file by default.
        `path` may also be the name of a problem that needs no data but `settings`.
    settings : mapping, optional
        Record keys that the file lacks, such as ``{"capacity": 100}``.

    Raises
    ------
    InputError
        If the file is not what it should be; names file and line.
    """
    tasks = []
    for task in read_each([path], problem, settings):
        if isinstance(task, Unread):
            raise task.error
        tasks.append(task)
    return tasks


def read_each(
    paths: Sequence[str | Path], problem: str | None = None, settings: Mapping[str, Any] | None = None
) -> list[Task | Unread]:
    """Read the instances of many files; what cannot be read stops nothing else.

    Parameters
    ----------
    paths : sequence of str or Path
        Files that belong to one instance count once, whichever of them are given.
    problem, settings
        As for `read`.
    """
    owner = find_problem(problem) if problem else None
    seen: set[tuple[Path, ...]] = set()
    tasks: list[Task | Unread] = []
    for path in map(str, paths):
        begin = time.monotonic()
        try:
            found = read_each_record(_records(path, owner, settings or {}, seen), owner, settings)
        except NsaError as error:
            tasks.append(Unread(path, error))
            continue
        seconds = (time.monotonic() - begin) / max(len(found), 1)
        tasks += [x if isinstance(x, Unread) else Task(*x, seconds, file=path) for x in found]
    return tasks


def _records(
    path: str, problem: Problem[Any] | None, settings: Mapping[str, Any], seen: set[tuple[Path, ...]]
) -> list[Record]:
    """Read the records of a path, which may be a file, a part of a set of files, or a problem's name."""
    if path in builtin_names() and not Path(path).exists():
        # Some problems are their parameters: a name and --set a=1 is all there is to know.
        return [Record({"problem": path, **settings}, Source(path, "", ""))]
    parts = None if path == "-" else find_set(Path(path), [problem] if problem else all_problems())
    if parts is None:
        return read_records(read_source(path), problem)
    files = tuple(sorted(parts.files.values()))
    if files in seen:
        return []
    seen.add(files)
    return [read_set(parts)]


def generate(problem: str | Problem[Any], size: int, count: int = 1, seed: int | None = None) -> list[Task]:
    """Draw instances from the distribution that the paper trains and tests on.

    Raises
    ------
    UsageError
        If a number is out of range.
    """
    if size < 1 or count < 1:
        raise UsageError(f"expected a size and a count of at least 1, got {size} and {count}")
    found = find_problem(problem) if isinstance(problem, str) else problem
    seed = draw_seed() if seed is None else check_seed(seed)
    # One generator an instance: the first three of a hundred are the three of three.
    streams = np.random.SeedSequence(seed).spawn(count)
    names = [f"{found.name}{size}-{seed}-{i}" for i in range(1, count + 1)]
    pairs = zip(streams, names, strict=True)
    return [Task(found, found.generate(size, np.random.default_rng(s), name)) for s, name in pairs]


def solve(
    instance: str | Path | Instance | Task,
    problem: str | None = None,
    *,
    on_progress: Callable[[Any], None] | None = None,
    **settings: Any,
) -> Result:
    """Solve one instance.

    Parameters
    ----------
    instance : str, Path, Instance or Task
        A file with one instance, or the instance itself.
    problem : str, optional
        As for `read`.
    on_progress : callable, optional
        Called with a `Progress` about ten times a second.
    **settings
        Fields of `Settings`.
    """
    from nsa_cli.run import solve_all

    if isinstance(instance, Task):
        task = instance
    elif isinstance(instance, Instance):
        task = Task(_owner(instance, problem), instance)
    else:
        tasks = read(instance, problem)
        if len(tasks) != 1:
            raise UsageError(f"{instance}: holds {len(tasks)} instances; read them and solve each")
        task = tasks[0]
    return solve_all([task], Settings(**settings), on_progress=on_progress)[0]


def solve_many(
    tasks: Sequence[Task], *, on_progress: Callable[[Any], None] | None = None, **settings: Any
) -> list[Result]:
    """Solve several instances, those of equal size in one batch; each answer is what it would be alone."""
    from nsa_cli.run import solve_all

    return solve_all(tasks, Settings(**settings), on_progress=on_progress)


def _owner(instance: Instance, problem: str | None) -> Problem[Any]:
    """Find the problem of an instance by its record."""
    return find_problem(problem or str(instance.record()["problem"]))


def draw_seed() -> int:
    """Draw a seed short enough to type again."""
    return secrets.randbelow(2**31)


def check_seed(seed: int) -> int:
    """Insist on a seed in range.

    Raises
    ------
    UsageError
        Otherwise.
    """
    if not 0 <= seed < 2**63:
        raise UsageError(f"--seed: expected 0 <= seed < 2^63, got {seed}")
    return seed
