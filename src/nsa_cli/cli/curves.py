"""`nsa benchmark --budget`: quality against time, as a table, files and a picture."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nsa_cli.cli.console import Console, Signals, Status, emit, say
from nsa_cli.core.errors import UsageError
from nsa_cli.core.options import parse_numbers
from nsa_cli.problems import builtin_names, find_problem

if TYPE_CHECKING:
    from nsa_cli.bench.contenders import Contender
    from nsa_cli.bench.curves import CurveSet, Sample

#: Seconds between two writings of all files while the benchmark runs.
_PAUSE = 5.0


class Asked(NamedTuple):
    """What a user asks for, as on the command line.

    Attributes
    ----------
    what : list of str
        A problem, or files and folders.
    sizes : str or None
        For a problem.
    most : int
        Instances of each set, at most.
    budget : str
    seeds : tuple of int
    policies : tuple of str, or None
    against : tuple of str
    """

    what: list[str]
    sizes: str | None
    most: int
    budget: str
    seeds: tuple[int, ...]
    policies: tuple[str, ...] | None
    against: tuple[str, ...]


def run_curves(asked: Asked, references: str | None, out: str | None, console: Console) -> int:
    """Measure, write what is there now and then, and print the table, whole or not."""
    from nsa_cli.bench.contenders import has_matplotlib
    from nsa_cli.bench.curve_points import format_points, is_busy, points_of, write_curves
    from nsa_cli.bench.curves import measure_curves, parse_budgets
    from nsa_cli.bench.files import circumstances, make_directory
    from nsa_cli.bench.solvers import Watch

    budgets = parse_budgets(asked.budget)
    with Signals() as signals:
        sets = _sets(asked, None if references is None else Path(references))
        rows = [_contenders(asked, chosen) for chosen in sets]
        directory = None if out is None else make_directory(out)
        about = {"command": _command(asked, references), "caption": _caption(sets)} | circumstances()
        if directory is not None and not has_matplotlib():
            console.warn("no picture: it needs matplotlib: pip install 'nsa-cli[plot]'")
        status, samples, written = Status(console), list["Sample"](), time.monotonic()
        watch = Watch(lambda: signals.received != 0, status.update)
        try:
            for seed in asked.seeds:
                for chosen, contenders in zip(sets, rows, strict=True):
                    for some in measure_curves(chosen, contenders, budgets, seed, watch):
                        samples += some
                        if directory is not None and time.monotonic() > written + _PAUSE:
                            write_curves(directory, samples, about, picture=False)
                            written = time.monotonic()
        finally:
            status.clear()
        if (busy := is_busy(samples)) is not None:
            about["caption"] = [*about["caption"], busy]
        if samples and directory is not None:
            write_curves(directory, samples, about, picture=has_matplotlib())
        if samples:
            emit(format_points(points_of(samples), about["caption"]), None)
        if signals.received:
            say(f"interrupted: {len(samples)} runs are whole, of what was asked for")
        return signals.exit_code


def _sets(asked: Asked, references: Path | None) -> list[CurveSet]:
    """Take a problem's test sets, or files."""
    from nsa_cli.bench.curves import set_of_files, sets_of_sizes
    from nsa_cli.bench.paper import find_contribution

    first = asked.what[0]
    named = first in builtin_names() or first.endswith(".py") or not Path(first).exists()
    if len(asked.what) == 1 and named:
        problem = find_problem(first)
        if asked.sizes is None:
            raise UsageError("--sizes: expected sizes of instances, as 50,100; it was not given")
        contribution = find_contribution(problem)
        known = contribution.references if contribution else None
        numbers = parse_numbers("sizes", asked.sizes)
        return sets_of_sizes(problem, numbers, asked.most, references, known)
    if asked.sizes is not None:
        raise UsageError("--sizes: is for a PROBLEM's own sets; files have their sizes")
    return [set_of_files(asked.what, asked.most, references)]


def _contenders(asked: Asked, chosen: CurveSet) -> list[Contender]:
    from nsa_cli.bench.contenders import choose_contenders
    from nsa_cli.bench.paper import find_contribution

    contribution = find_contribution(chosen.problem)
    instance = max((task.instance for task in chosen.tasks), key=lambda x: x.size)
    return choose_contenders(chosen.problem, contribution, instance, asked.policies, asked.against)


def _caption(sets: list[CurveSet]) -> list[str]:
    """Say what the columns mean, in sentences of a line each."""
    from nsa_cli.bench.curves import is_known

    counts = ", ".join(f"{len(chosen.tasks)} of {chosen.label}" for chosen in sets)
    known = sum(int(is_known(chosen).sum()) for chosen in sets)
    total = sum(len(chosen.tasks) for chosen in sets)
    rest = "the best of this table" if known == 0 else f"references ({known} of {total}), else the best here"
    return [
        f"Instances: {counts}; solvers take turns at each; set-up included; nsa on one thread.",
        f"gap: mean over instances, to {rest}; ± half the 95 % interval; worst: the largest.",
        "behind: difference to the first row of the budget, on the same instances; positive is worse.",
        "CPU ms: processor time of all threads; ms: by the clock.",
    ]


def _command(asked: Asked, references: str | None) -> str:
    """Write the command that makes the same figures again, as far as the clock allows."""
    options: dict[str, Any] = {
        "--sizes": asked.sizes,
        "--budget": asked.budget,
        "--seeds": ",".join(map(str, asked.seeds)),
        "--count": asked.most,
        "--policies": None if asked.policies is None else ",".join(asked.policies) or "none",
        "--against": ",".join(asked.against) or None,
        "--references": references,
    }
    given = [str(x) for pair in options.items() if pair[1] is not None for x in pair]
    return shlex.join(["nsa", "benchmark", *asked.what, *given])
