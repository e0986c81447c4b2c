"""Quality against time: every contender at every budget on the same instances, taking turns.

Taking turns instance by instance, whatever else the machine does meets all alike; and differences between two
contenders are differences on the same instances, which vary far less than the gaps themselves.
"""

from __future__ import annotations

import dataclasses
import gc
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.api import Task, Unread, generate, read_each
from nsa_cli.bench.contenders import Contender, Found
from nsa_cli.bench.solvers import Clock, Watch
from nsa_cli.bench.suite import load_references, make_suite
from nsa_cli.core.bench import References
from nsa_cli.core.errors import NsaError, UsageError, shown
from nsa_cli.core.instance import Instance
from nsa_cli.core.problem import Problem
from nsa_cli.solver.precompile import precompile

#: Seed of random instances of sizes that the paper has no test set of.
_RANDOM_SET = 0

#: A run that got less than this share of the processor is repeated, so often at most, where it is short.
_SHARE, _TRIES, _SHORT = 0.9, 3, 0.25

#: Rehearsals: seconds of each, and how many there are until one keeps to its time.
_REHEARSAL, _REHEARSALS = 0.3, 5

_BUDGET = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(us|ms|s|min)?")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, None: 1.0, "min": 60.0}


class CurveSet(NamedTuple):
    """Instances that share a panel.

    Attributes
    ----------
    label : str
    problem : Problem
    tasks : tuple of Task
        Each with random numbers of its own.
    names : tuple of str
    references : tuple of float or None
        An objective for each instance; None: the best of this benchmark.
    """

    label: str
    problem: Problem[Any]
    tasks: tuple[Task, ...]
    names: tuple[str, ...]
    references: tuple[float | None, ...]


class Sample(NamedTuple):
    """One instance solved once.

    Attributes
    ----------
    set : CurveSet
    place : int
        Of the instance in the set.
    contender : Contender
    budget : float or None
        Seconds; None where time changes nothing.
    seed : int
    steps : int or None
    objective : float
        Exact evaluation.
    seconds, cpu_seconds : float
        Set-up included; of all threads.
    """

    set: CurveSet
    place: int
    contender: Contender
    budget: float | None
    seed: int
    steps: int | None
    objective: float
    seconds: float
    cpu_seconds: float


def parse_budgets(text: str) -> tuple[float, ...]:
    """Read budgets, in rising order: ``5ms,20ms,1s``; a number alone is seconds.

    Raises
    ------
    UsageError
        If one is none, or not above 0.
    """
    budgets = []
    for part in text.split(","):
        found = _BUDGET.fullmatch(part.strip())
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
        if not 0.0 < seconds < float("inf"):
            raise UsageError(f"--budget: expected times above 0 as 5ms,20ms,1s, got {shown(text)}")
        budgets.append(seconds)
    return tuple(sorted(set(budgets)))


def format_budget(seconds: float | None) -> str:
    """Write a budget as `parse_budgets` reads it; nothing for none."""
    if seconds is None:
        return ""
    return f"{seconds:g}s" if seconds >= 1 else f"{1e3 * seconds:g}ms"


def sets_of_sizes(
    problem: Problem[Any],
    sizes: Sequence[int],
    count: int,
    folder: Path | None,
    references: References | None,
) -> list[CurveSet]:
    """Take the paper's test sets, and random instances (seed 0) of sizes it has none of.

    Raises
    ------
    UsageError
        If references are asked for and not there.
    """
    sets = []
    for size in sizes:
        label = f"{problem.name} {size}"
        if size in problem.paper_sizes:
            known = None if folder is None else load_references(folder, references, size)
            suite = make_suite(problem, size, count, known)
            given = [None] * len(suite.tasks) if known is None else known[: len(suite.tasks)].tolist()
            sets.append(CurveSet(label, problem, suite.tasks, suite.names, tuple(given)))
        else:
            drawn = generate(problem, size, count, seed=_RANDOM_SET)
            tasks = tuple(dataclasses.replace(task, stream=k) for k, task in enumerate(drawn))
            names = tuple(task.instance.name or label for task in tasks)
            sets.append(CurveSet(label, problem, tasks, names, (None,) * len(tasks)))
    return sets


def set_of_files(paths: Sequence[str], count: int, references: Path | None) -> CurveSet:
    """Read instances of one problem from files and folders; gaps are to what is best known of each.

    Parameters
    ----------
    paths : sequence of str
        Of a folder, all files that hold instances.
    count : int
        At most so many of them.
    references : Path, optional
        Lines ``name : objective``, as TSPLIB's list of optima; beside what the files themselves say.

    Raises
    ------
    NsaError
        If a file cannot be read, there is no instance, or they are of several problems.
    """
    known = {} if references is None else read_objectives(references)
    tasks = list(_tasks(paths))[:count]
    problems = {task.problem.name: task.problem for task in tasks}
    if len(problems) != 1:
        raise UsageError(
            "expected files of one problem, got " + (" and ".join(sorted(problems)) or "no instance")
        )
    names = tuple(
        task.instance.name or Path(task.file or f"instance-{k}").stem for k, task in enumerate(tasks, 1)
    )
    given = tuple(known.get(name, task.instance.best_known) for name, task in zip(names, tasks, strict=True))
    streamed = tuple(dataclasses.replace(task, stream=k) for k, task in enumerate(tasks))
    (problem,) = problems.values()
    return CurveSet(f"{problem.name} files", problem, streamed, names, given)


def _tasks(paths: Sequence[str]) -> Iterator[Task]:
    """Read files; of a folder, what cannot be read is passed over."""
    for path in paths:
        folder = Path(path).is_dir()
        inside = sorted(str(p) for p in Path(path).iterdir() if p.is_file()) if folder else [path]
        for task in read_each(inside):
            if isinstance(task, Task):
                yield task
            elif isinstance(task, Unread) and not folder:
                raise task.error


def read_objectives(path: Path) -> dict[str, float]:
    """Read lines ``name : objective``.

    Raises
    ------
    UsageError
        If the file is not there, or a line is something else.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--references: {path}: {getattr(error, 'strerror', None) or error}") from None
    known = {}
    for number, line in enumerate(lines, 1):
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        try:
            known[name.strip()] = float(value.split()[0]) if colon else float("nan")
        except (ValueError, IndexError):
            colon = ""
        if not colon:
            raise UsageError(f"--references: {path}:{number}: expected NAME : OBJECTIVE, got {shown(line)}")
    return known


def measure_curves(
    chosen: CurveSet, contenders: Sequence[Contender], budgets: Sequence[float], seed: int, watch: Watch
) -> Iterator[list[Sample]]:
    """Yield the samples of one instance after the other, whole ones only; end early when asked to stop."""
    precompile(chosen.tasks[0].problem)  # a short run would not wait for kernels to be compiled
    for contender in contenders:
        _rehearse(contender, chosen)
    # Compiled code is a great many objects: a collection that looks at them all takes a tenth of a second,
    # and would fall on any of the runs.
    gc.collect()
    gc.freeze()
    for place in range(len(chosen.tasks)):
        samples: list[Sample] = []
        for turn, (contender, budget) in enumerate(_turns(contenders, budgets, place)):
            if watch.asked_to_stop():
                return
            what = f"{chosen.label}  {chosen.names[place]} {place + 1}/{len(chosen.tasks)}  "
            watch.on_progress(f"{what}{contender.name} {format_budget(budget)}  {turn + 1}")
            samples.append(_sample(chosen, place, contender, budget, seed))
        yield samples


def _turns(
    contenders: Sequence[Contender], budgets: Sequence[float], place: int
) -> Iterator[tuple[Contender, float | None]]:
    """Take contenders in turn at each budget, another one first at each instance."""
    first = place % max(len(contenders), 1)
    order = [*contenders[first:], *contenders[:first]]
    yield from ((contender, None) for contender in order if not contender.timed)
    yield from ((contender, budget) for budget in budgets for contender in order if contender.timed)


def _rehearse(contender: Contender, chosen: CurveSet) -> None:
    """Do what only the first run of a process has to do, such as importing and compiling."""
    for _ in range(_REHEARSALS):
        clock = Clock()
        contender.solve(_fresh(chosen.tasks[0]), _REHEARSAL, 0)
        if clock.read()[1] < 1.2 * _REHEARSAL:
            return


def _fresh(task: Task) -> Task:
    """Copy an instance without what earlier runs have left on it: each pays for its own set-up."""
    instance = task.instance
    if dataclasses.is_dataclass(instance) and isinstance(instance, Instance):
        return dataclasses.replace(task, instance=dataclasses.replace(instance))
    return task


def _sample(chosen: CurveSet, place: int, contender: Contender, budget: float | None, seed: int) -> Sample:
    """Solve once; repeat a short run that the machine kept waiting, and keep the one that waited least."""
    task, best = chosen.tasks[place], None
    for _ in range(_TRIES if budget is not None and budget <= _SHORT else 1):
        fresh = _fresh(task)
        clock = Clock()
        found = contender.solve(fresh, budget or 0.0, seed)
        seconds, cpu = clock.read()
        if best is None or cpu > best[2]:
            best = found, seconds, cpu
        if cpu >= _SHARE * min(seconds, budget or 0.0):
            break
    assert best is not None
    return Sample(
        chosen,
        place,
        contender,
        budget,
        seed,
        best[0].steps,
        _checked(chosen, place, contender, best[0]),
        *best[1:],
    )


def _checked(chosen: CurveSet, place: int, contender: Contender, found: Found) -> float:
    instance = chosen.tasks[place].instance
    if (why := instance.violation(found.solution)) is not None:
        raise NsaError(f"{contender.name} returned an infeasible solution of {chosen.names[place]}: {why}")
    return float(instance.objective(found.solution))


def references_of(samples: Sequence[Sample]) -> dict[int, float]:
    """Give each instance's reference objective: what is known, else the best among these samples.

    Parameters
    ----------
    samples : sequence of Sample
        Of one set.
    """
    better = min if samples[0].set.problem.sense == "min" else max
    found: dict[int, float] = {}
    for sample in samples:
        known = sample.set.references[sample.place]
        if known is not None:
            found[sample.place] = float(known)
        else:
            found[sample.place] = better(found.get(sample.place, sample.objective), sample.objective)
    return found


def is_known(chosen: CurveSet) -> np.ndarray:
    """Tell of which instances a reference is known beforehand, bool[n]."""
    return np.array([reference is not None for reference in chosen.references])
