"""Size on one machine: time to 5, 2 and 1 % above the bound, and memory, from 1,000 to a million elements.

    python benchmarks/scale.py                              what is missing in scale.csv, and its table
    python benchmarks/scale.py --sizes 1000,3000 --problems tsp,bin
    python benchmarks/scale.py --figure scale.svg           draw the rows that there are
    python benchmarks/scale.py --part limits                a million of each kind, by the clock, and judges
    python benchmarks/scale.py --part limits --kinds "tours, uniform" --sizes 1000 --limits .2,.5,1,2

Instances are uniform, as `nsa generate` makes them, in JSON. Targets are relative to the package's own bound,
computed apart, without a limit: Held and Karp's for tours (some .7 % below the optimum), the volume or a dual
feasible function for bins, the core programme for knapsacks. Times are processor seconds of one thread from
where the file begins to be read; Python and the libraries are loaded beforehand. What a run does depends on
its limit: limits rise by a factor of three until the last target is met, and each target has its time from
the shortest one that met it. A target that is met before the first report counts from that. Exponents are
least squares over the logarithms from 10,000 elements on. Memory is the most that the last process ever held,
libraries included.

The part ``limits`` runs the command ``nsa solve``, start of the process and writing included, by the clock:
what runs beside it counts. Judges are the classical heuristics, to their ends: greedy edges, greedy by ratio,
first fit decreasing. A ratio above 1 is an answer worse than the judge's.

Each run is a row of a CSV file as soon as it is ready; the same command makes those that are missing.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import Rows, command, head, numbers, row
from numpy.typing import NDArray

import nsa_cli as nsa
from nsa_cli.bench.suites import find_contribution
from nsa_cli.problems.files import write_instances
from nsa_cli.report.plots import picture, write_picture

SIZES = (1_000, 10_000, 100_000, 1_000_000)
PROBLEMS = ("tsp", "knapsack", "bin")

#: Shares above the bound; of knapsacks below it.
TARGETS = (0.05, 0.02, 0.01)

#: Processor seconds of the first run, an element and at least; of the last, at most; and how they rise.
AN_ELEMENT, LEAST, MOST, FACTOR = 1e-4, 0.3, 300.0, 3.0

#: Instances of a size.
COUNTS = {1_000: 3, 10_000: 2}

FIELDS = ("problem", "size", "number", "bound", "objective", "first", "at_5", "at_2", "at_1", "gap", "mb")
LIMIT_FIELDS = ("kind", "size", "limit", "judge", "objective", "ratio", "wall", "cpu", "mb", "found_by")

#: Times of the table and of the figure, with their labels.
TIMES = {"first": "first report", "at_5": "5 %", "at_2": "2 %", "at_1": "1 %"}

#: Limits of the second part, and elements.
LIMITS, MANY = (2.0, 10.0, 20.0), 1_000_000

#: The judge of a problem: one of its heuristics, or of its starts.
JUDGES = {"tsp": "greedy", "knapsack": "greedy", "bin": "ffd"}


# --- time to a target --------------------------------------------------------------------------------


def serve(file: str, seconds: float, target: float) -> dict[str, Any]:
    """Solve an instance to a target, in this process, by its processor's time."""
    time.monotonic = time.process_time
    from nsa_cli.solver.settings import Settings
    from nsa_cli.solver.solve import solve_all

    seen: list[tuple[float, float]] = []
    owner = nsa.find_problem(Path(file).stem)
    small = nsa.Task(owner, owner.generate(2_000, np.random.default_rng(0), None))
    nsa.solve(small, time_limit=3.0, started=time.process_time(), threads=1, seed=1)  # loads everything
    began = time.process_time()
    (task,) = nsa.read(file)
    settings = Settings(time_limit=seconds, started=began, target=target, threads=1, seed=1, bound=False)

    def note(progress: Any) -> None:
        seen.append((time.process_time() - began, float(progress.best)))

    (result,) = solve_all([task], settings, on_progress=note, looks=1000)
    sense = -1.0 if owner.sense == "max" else 1.0
    seen.append((time.process_time() - began, sense * float(result.objective)))
    peak = re.search(r"VmHWM:\s*([0-9]+)", Path("/proc/self/status").read_text())
    return {"objective": result.objective, "seen": seen, "mb": int(peak[1]) // 1024}


def measure(rows: Rows, problem: str, size: int, number: int, most: float) -> None:
    """Make a run, unless its row is there."""
    if rows.find(problem, size, number) is not None:
        return
    owner, rng = nsa.find_problem(problem), np.random.default_rng([number, size])
    sense = -1.0 if owner.sense == "max" else 1.0
    instance = owner.generate(size, rng, None)
    bound = float(owner.bound(instance).value)
    goals = [sense * bound * (1 + sense * share) for share in TARGETS]
    at, first, limit = [math.nan] * len(goals), math.inf, min(max(AN_ELEMENT * size, LEAST), most)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{problem}.json"
        file.write_text(write_instances(owner, [instance], "json"))
        while True:
            done = command("--serve", file, limit, sense * goals[-1], python=[__file__])
            if done.code != 0:
                raise SystemExit(f"{file.name}: {done.errors}")
            run = json.loads(done.output)
            first = min(first, run["seen"][0][0])
            met = [next((when for when, best in run["seen"] if best <= goal), math.nan) for goal in goals]
            at = [new if math.isnan(old) else old for old, new in zip(at, met, strict=True)]
            if not math.isnan(at[-1]) or limit * FACTOR > most:
                break
            limit *= FACTOR
    times = dict(zip(TIMES, (round(x, 4) for x in (first, *at)), strict=True))
    gap = abs(run["objective"] / bound - 1)
    cells = {"objective": run["objective"], "gap": gap, "mb": run["mb"]}
    rows.add(problem=problem, size=size, number=number, bound=bound, **cells, **times)


def series(rows: Rows, problem: str, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Gather a column of a problem.

    Returns
    -------
    sizes, medians : float64[K]
        Medians over instances, NaN where not all of them have a value.
    exponent : str
        Slope of the logarithms from 10,000 elements on, if there are two.
    """
    mine = [found for found in rows.all.values() if found["problem"] == problem]
    sizes = np.array(sorted({int(found["size"]) for found in mine}), dtype=float)
    medians = np.array([np.median([float(f[column]) for f in mine if int(f["size"]) == n]) for n in sizes])
    kept = (sizes >= 10_000) & (medians > 0)
    slope = np.polyfit(np.log(sizes[kept]), np.log(medians[kept]), 1)[0] if kept.sum() > 1 else None
    return sizes, medians, "" if slope is None else f"N^{slope:.2f}"


def table(rows: Rows) -> None:
    """Print seconds to each target by size, exponents in the last line of a problem."""
    head("problem", "elements", *TIMES.values(), "best", "memory")
    for problem in PROBLEMS:
        times = [series(rows, problem, name) for name in TIMES]
        (_, gaps, _), (sizes, memory, growth) = (series(rows, problem, name) for name in ("gap", "mb"))
        for k, size in enumerate(sizes):
            cells = ["not reached" if math.isnan(t[1][k]) else f"{t[1][k]:.3g} s" for t in times]
            row(problem, f"{size:,.0f}", *cells, f"{100 * gaps[k]:.2g} %", f"{memory[k]:.0f} MB")
        if len(sizes):
            row(problem, "exponent", *(t[2] for t in times), "", growth)


def draw(rows: Rows, figure: Any) -> None:
    """Draw time over size, a panel a problem, and memory."""
    panels = figure.subplots(1, 4)
    names = dict(zip(PROBLEMS, ("tours", "knapsacks", "bins"), strict=True))
    for panel, (problem, title) in zip(panels, names.items(), strict=False):
        for (name, label), colour, mark in zip(TIMES.items(), ("0.6", "g", "b", "r"), "os^D", strict=True):
            *line, slope = series(rows, problem, name)
            panel.loglog(*line, color=colour, marker=mark, markersize=4, label=f"{label} {slope}")
        panel.set(title=title, xlim=(700, 1.5e6), ylim=(1e-2, 1e3))
        panels[3].loglog(*series(rows, problem, "mb")[:2], marker="o", markersize=4, label=title)
    panels[0].set_ylabel("processor seconds from the file to the target")
    panels[3].axhline(8192, color="0.5", linestyle="--", label="8 GiB")
    panels[3].set(title="memory", ylabel="MB", xlim=(700, 1.5e6), ylim=(50, 2e4))
    for panel in panels:
        panel.set_xlabel("elements")
        panel.legend(fontsize=8)
        panel.grid(which="major", color="0.9")


# --- a million by the clock --------------------------------------------------------------------------


def kinds(size: int) -> dict[str, tuple[str, Callable[[], dict[str, Any]]]]:
    """Problems and makers of instances, as records."""
    rng = np.random.default_rng(size)

    def clustered() -> NDArray[Any]:
        centres = rng.random((1_000, 2)) * 1e5
        spread = centres[rng.integers(0, 1_000, size)] + rng.normal(size=(size, 2)) * 10
        return np.rint(spread).astype(np.int64)

    def items(values: NDArray[Any], weights: NDArray[Any]) -> dict[str, Any]:
        return {"values": values, "weights": weights, "capacity": weights.sum().item() // 2}

    def tiny_and_huge() -> NDArray[Any]:
        huge = rng.integers(9 * 10**8, 10**9, size)
        return np.where(rng.random(size) < 0.5, rng.integers(1, 10, size), huge)

    def heavy() -> NDArray[Any]:
        return rng.integers(1, 10**9, size)

    def pieces(weights: NDArray[Any], capacity: int) -> dict[str, Any]:
        return {"weights": weights, "capacity": capacity}

    ten = [10, 13, 21, 34, 37, 41, 52, 53, 66, 71]
    names = "tours, clusters with coincident cities", "knapsacks, value is weight plus a constant"
    return {
        "tours, uniform": ("tsp", lambda: {"coords": rng.random((size, 2)), "edge_weight_type": "EXACT_2D"}),
        names[0]: ("tsp", lambda: {"coords": clustered(), "edge_weight_type": "EUC_2D"}),
        "knapsacks, uniform": ("knapsack", lambda: items(rng.random(size), rng.random(size))),
        "knapsacks, equal ratios": ("knapsack", lambda: items(7 * (w := heavy()), w)),
        names[1]: ("knapsack", lambda: items((w := heavy()) + 10**8, w)),
        "bins, uniform": ("bin", lambda: pieces(rng.random(size), 1)),
        "bins, ten sizes": ("bin", lambda: pieces(rng.choice(ten, size), 100)),
        "bins, all sizes different": ("bin", lambda: pieces(rng.permutation(size) + 1, 3 * size)),
        "bins, tiny and huge": ("bin", lambda: pieces(tiny_and_huge(), 10**9)),
    }


def judge(problem: Any, record: dict[str, Any]) -> float:
    """Give the objective of a classical heuristic."""
    instance, name = problem.from_record(record), JUDGES[problem.name]
    heuristics = find_contribution(problem).heuristics
    solve = heuristics[name].solve if name in heuristics else problem.start(name)
    return float(instance.objective(solve(instance, np.zeros)))


def by_the_clock(rows: Rows, size: int, limits: Sequence[float], wanted: Sequence[str]) -> None:
    """Run kinds within all limits."""
    for kind, (name, make) in kinds(size).items():
        missing = [limit for limit in limits if rows.find(kind, size, limit) is None]
        if not missing or (wanted and kind not in wanted):
            continue
        problem, data = nsa.find_problem(name), make()
        record = {key: value.tolist() if hasattr(value, "tolist") else value for key, value in data.items()}
        best = judge(problem, record)
        with tempfile.TemporaryDirectory() as folder:
            file, answer = Path(folder) / "instance.json", Path(folder) / "answer.json"
            file.write_text(json.dumps(record))
            for limit in missing:
                done = command("solve", file, "--time-limit", limit, "--seed", 1, "-q", "-o", answer)
                found = json.loads(answer.read_text()) if done.code == 0 else {}
                value = found.get("objective", math.nan)
                ratio = best / value if problem.sense == "max" else value / best
                by = found.get("found_by", f"exit code {done.code}")
                spent = round(done.wall, 2), round(done.cpu, 2), done.mb
                cells = kind, size, limit, best, value, round(ratio, 9), *spent, by
                rows.add(**dict(zip(LIMIT_FIELDS, cells, strict=True)))


def main() -> None:
    """Make what is missing, print the table, draw the figure."""
    if sys.argv[1:2] == ["--serve"]:
        print(json.dumps(serve(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=("targets", "limits"), default="targets")
    parser.add_argument("--problems", type=lambda text: tuple(text.split(",")), default=PROBLEMS)
    parser.add_argument("--kinds", action="append", help="of the part limits, by name; may be repeated")
    parser.add_argument("--sizes", type=numbers(int))
    parser.add_argument("--limits", type=numbers(float), default=LIMITS)
    parser.add_argument("--most", type=float, default=MOST, help="processor seconds of a run, at most")
    parser.add_argument("--csv", type=Path, help="scale.csv, or scale-limits.csv")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    if options.part == "limits":
        rows = Rows(options.csv or Path("scale-limits.csv"), LIMIT_FIELDS, 3)
        for size in options.sizes or (MANY,):
            by_the_clock(rows, size, options.limits, options.kinds or ())
        head(
            "kind", "elements", "limit", "answer / judge", "whole process", "processor", "memory", "found by"
        )
        for r in rows.all.values():
            cells = f"{float(r['limit']):g} s", f"{float(r['ratio']):.6g}", f"{r['wall']} s", f"{r['cpu']} s"
            row(r["kind"], f"{int(r['size']):,}", *cells, f"{r['mb']} MB", r["found_by"])
        return
    rows = Rows(options.csv or Path("scale.csv"), FIELDS, 3)
    for size in options.sizes or SIZES:
        for problem in options.problems:
            for number in range(1, COUNTS.get(size, 1) + 1):
                measure(rows, problem, size, number, options.most)
    table(rows)
    if options.figure:
        write_picture(picture((13, 3.8), lambda figure: draw(rows, figure)), options.figure)


if __name__ == "__main__":
    main()
