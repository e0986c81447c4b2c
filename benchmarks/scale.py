"""Size on one machine: time to 5, 2 and 1 % above the bound, and memory, from 1,000 to a million elements.

    python benchmarks/scale.py                              what is missing in scale.csv, and its table
    python benchmarks/scale.py --sizes 1000,3000 --problems tsp,bin
    python benchmarks/scale.py --figure scale.svg           draw the rows that there are
    python benchmarks/scale.py --part limits                a million of each kind, by the clock, and judges

Instances are uniform, as `nsa generate` makes them, in JSON. Targets are relative to the package's own bound,
computed apart, without a limit: Held and Karp's for tours (some .7 % below the optimum), the volume or a dual
feasible function for bins, the core programme for knapsacks. Times are processor seconds of one thread from
where the file begins to be read; Python and the libraries are loaded beforehand. What a run does depends on
its limit: limits rise by a factor of three until the last target is met, and each target has its time from
the shortest one that met it. A target that is met before the first report counts from that. Exponents are
least squares over the logarithms from 10,000 elements on. Memory is the most that the last process ever held,
libraries included.

The part ``limits`` runs the command ``nsa solve``, start of the process and writing included, by the clock:
what runs beside it counts. Judges are written here: greedy edges over neighbour lists, greedy by ratio, first
fit decreasing. A ratio above 1 is an answer worse than the judge's.

Each run is a row of a CSV file as soon as it is ready; the same command makes those that are missing.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SIZES = (1_000, 10_000, 100_000, 1_000_000)
PROBLEMS = ("tsp", "knapsack", "bin")

#: Shares above the bound; of knapsacks below it.
TARGETS = (0.05, 0.02, 0.01)

#: Processor seconds of the first run, an element and at least; of the last, at most; and how they rise.
AN_ELEMENT, LEAST, MOST, FACTOR = 1e-4, 0.3, 300.0, 3.0

#: Instances of a size.
COUNTS = {1_000: 3, 10_000: 2}

FIELDS = ("problem", "size", "number", "bound", "objective", "first", "at_5", "at_2", "at_1", "end", "mb")
LIMIT_FIELDS = ("kind", "size", "limit", "judge", "objective", "ratio", "wall", "cpu", "mb", "found_by")

#: Limits of the second part, and elements.
LIMITS, MANY = (2.0, 10.0, 20.0), 1_000_000


class Rows:
    """Rows of a CSV file by their first three cells, which grows by a line a run."""

    def __init__(self, path: Path, fields: tuple[str, ...]) -> None:
        self.path, self.fields = path, fields
        self.all: dict[tuple[str, ...], dict[str, str]] = {}
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                rows = [row for row in csv.DictReader(file) if row[fields[-1]]]  # not one that was cut off
            self.all = {tuple(row[f] for f in fields[:3]): row for row in rows}

    def add(self, **cells: Any) -> None:
        """Keep a row."""
        row = {name: str(cells[name]) for name in self.fields}
        self.all[tuple(row[f] for f in self.fields[:3])] = row
        head = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.fields)
            if head:
                writer.writeheader()
            writer.writerow(row)


# --- time to a target --------------------------------------------------------------------------------


def serve(job: dict[str, Any]) -> dict[str, Any]:
    """Do a job in a process of its own: bound an instance, solve it to the last target, or by the clock."""
    if job["what"] == "command":  # from a small process: a child's memory begins with that of its parent
        return command(Path(job["file"]), job["limit"])
    time.monotonic = time.process_time  # limits are of processor time
    import nsa_cli as nsa
    from nsa_cli.api import read_each
    from nsa_cli.solver.settings import Settings
    from nsa_cli.solver.solve import solve_all

    if job["what"] == "bound":
        (task,) = read_each([job["file"]], None, {})
        bound = task.problem.bound(task.instance)
        return {"bound": float(bound.value), "seconds": bound.seconds}
    # Everything is loaded: libraries, kernels.
    rng, problem = np.random.default_rng(0), nsa.find_problem(job["problem"])
    small = problem.generate(2_000, rng, None)
    solve_all([nsa.Task(problem, small)], Settings(time_limit=3.0 + time.process_time(), threads=1, seed=1))
    began = time.process_time()
    (task,) = read_each([job["file"]], None, {})
    sense = -1.0 if task.problem.sense == "max" else 1.0
    seen: list[tuple[float, float]] = []

    def note(progress: Any) -> None:
        seen.append((time.process_time() - began, float(progress.best)))

    settings = Settings(
        time_limit=job["seconds"], threads=1, seed=1, target=job["target"], started=began, bound=False
    )
    (result,) = solve_all([task], settings, on_progress=note, looks=1000)
    end = time.process_time() - began
    seen.append((end, sense * float(result.objective)))
    return {
        "objective": result.objective,
        "seen": seen,
        "end": end,
        "mb": int(re.search(r"VmHWM:\s*([0-9]+)", Path("/proc/self/status").read_text())[1]) // 1024,
    }


def ask(**job: Any) -> dict[str, Any]:
    """Have a process of its own do a job."""
    done = subprocess.run(
        [sys.executable, __file__, "--serve", json.dumps(job)], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(rows: Rows, problem: str, size: int, number: int, most: float) -> None:
    """Make a run, unless its row is there."""
    if (problem, str(size), str(number)) in rows.all:
        return
    import nsa_cli as nsa
    from nsa_cli.problems.files import write_instances

    owner, rng = nsa.find_problem(problem), np.random.default_rng([number, size])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "instance.json"
        file.write_text(write_instances(owner, [owner.generate(size, rng, None)], "json"))
        bound = ask(what="bound", file=str(file))["bound"]
        sense = -1.0 if owner.sense == "max" else 1.0
        goals = [sense * bound * (1 + sense * share) for share in TARGETS]
        at = [math.nan for _ in goals]
        limit, first = min(max(AN_ELEMENT * size, LEAST), most), math.inf
        while True:
            run = ask(
                what="solve",
                file=str(file),
                problem=problem,
                seconds=limit,
                target=sense * goals[-1],
            )
            first = min(first, run["seen"][0][0])
            met = [next((when for when, best in run["seen"] if best <= goal), math.nan) for goal in goals]
            at = [new if math.isnan(old) else old for old, new in zip(at, met, strict=True)]
            if not math.isnan(at[-1]) or limit * FACTOR > most:
                break
            limit *= FACTOR
    rows.add(
        problem=problem,
        size=size,
        number=number,
        bound=bound,
        objective=run["objective"],
        first=round(first, 4),
        **{f"at_{100 * share:.0f}": round(x, 4) for share, x in zip(TARGETS, at, strict=True)},
        end=round(run["end"], 4),
        mb=run["mb"],
    )


class Series(NamedTuple):
    """Sizes [K] with the median over instances [K] of a column, NaN where not all of them have a value."""

    sizes: NDArray[np.float64]
    values: NDArray[np.float64]

    @property
    def exponent(self) -> float:
        """Slope of the logarithms, from 10,000 elements on."""
        kept = (self.sizes >= 10_000) & (self.values > 0)
        if kept.sum() < 2:
            return math.nan
        return float(np.polyfit(np.log(self.sizes[kept]), np.log(self.values[kept]), 1)[0])


def series(rows: Rows, problem: str, column: str) -> Series:
    """Gather a column of a problem."""
    by_size: dict[int, list[float]] = {}
    for row in rows.all.values():
        if row["problem"] == problem:
            by_size.setdefault(int(row["size"]), []).append(float(row[column]))
    sizes = sorted(by_size)
    values = [float(np.median(by_size[size])) for size in sizes]  # NaN if one is
    return Series(np.array(sizes, dtype=float), np.array(values))


def table(rows: Rows) -> Iterator[str]:
    """Lay the rows out: seconds to each target by size, exponents in the last line of a problem."""
    heads = ["problem", "elements", "first report", *(f"{100 * t:.0f} %" for t in TARGETS), "best", "memory"]
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    columns = ("first", *(f"at_{100 * t:.0f}" for t in TARGETS))
    for problem in PROBLEMS:
        found = [series(rows, problem, column) for column in columns]
        memory = series(rows, problem, "mb")
        for k, size in enumerate(memory.sizes):
            mine = [r for r in rows.all.values() if r["problem"] == problem and int(r["size"]) == size]
            gaps = [abs(float(r["objective"]) / float(r["bound"]) - 1) for r in mine]
            times = ["not reached" if math.isnan(f.values[k]) else f"{f.values[k]:.3g} s" for f in found]
            last = f"{100 * float(np.mean(gaps)):.2g} %"
            yield (
                "| "
                + " | ".join([problem, f"{size:,.0f}", *times, last, f"{memory.values[k]:.0f} MB"])
                + " |"
            )
        slopes = [f.exponent for f in found]
        if len(memory.sizes):
            cells = ["" if math.isnan(x) else f"N^{x:.2f}" for x in (*slopes, math.nan, memory.exponent)]
            yield "| " + " | ".join([problem, "exponent", *cells]) + " |"


def draw(rows: Rows, path: Path) -> None:
    """Draw time over size, a panel a problem, and memory."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = {"tsp": "tours", "knapsack": "knapsacks", "bin": "bins"}
    colours = {"first": "0.6", "at_5": "#1b7837", "at_2": "#2166ac", "at_1": "#b2182b"}
    labels = {"first": "first report", "at_5": "5 %", "at_2": "2 %", "at_1": "1 %"}
    marks = {"first": "o", "at_5": "s", "at_2": "^", "at_1": "D"}
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.8), layout="constrained")
    for panel, problem in zip(panels, PROBLEMS, strict=False):
        for column, colour in colours.items():
            line = series(rows, problem, column)
            there = line.values > 0
            if not there.any():
                continue
            slope = "" if math.isnan(line.exponent) else f": N^{line.exponent:.2f}"
            panel.loglog(
                line.sizes[there],
                line.values[there],
                color=colour,
                marker=marks[column],
                markersize=4,
                linewidth=2.5 if column == "first" else 1.3,
                label=labels[column] + slope,
            )
        panel.set(title=names[problem], xlabel="elements", xlim=(700, 1.5e6), ylim=(1e-2, 1e3))
        panel.legend(fontsize=8)
    panels[0].set_ylabel("processor seconds from the file to the target")
    for problem in PROBLEMS:
        line = series(rows, problem, "mb")
        panels[3].loglog(line.sizes, line.values, marker="o", markersize=4, label=names[problem])
    panels[3].axhline(8192, color="0.5", linestyle="--")
    panels[3].text(1e3, 8192 * 0.9, "8 GiB", fontsize=8, va="top", color="0.4")
    panels[3].set(title="memory", xlabel="elements", ylabel="MB", xlim=(700, 1.5e6), ylim=(50, 2e4))
    panels[3].legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, 0.8))
    for panel in panels:
        panel.grid(which="major", color="0.9")
    plt.rcParams.update({"svg.hashsalt": "scale", "svg.fonttype": "none"})
    figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)


# --- a million by the clock --------------------------------------------------------------------------


def greedy_edges(points: NDArray[np.float64], *, rounded: bool) -> float:
    """Length of a tour of greedy edges among ten neighbours, ends joined by their nearest ends again."""
    from numba import njit
    from scipy.spatial import cKDTree

    @njit  # type: ignore[untyped-decorator]
    def join(i: Any, j: Any, degree: Any, parent: Any) -> Any:
        kept = np.zeros(len(i), np.bool_)
        for k in range(len(i)):
            a, b = i[k], j[k]
            if degree[a] > 1 or degree[b] > 1:
                continue
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            if a != b:
                parent[a] = b
                degree[i[k]] += 1
                degree[j[k]] += 1
                kept[k] = True
        return kept

    def lengths(i: Any, j: Any) -> NDArray[np.float64]:
        apart = np.hypot(*(points[i] - points[j]).T)
        return np.floor(apart + 0.5) if rounded else apart

    size = len(points)
    degree, parent, total, edges = np.zeros(size, np.int64), np.arange(size), 0.0, 0
    while edges < size - 1:
        ends = np.flatnonzero(degree < 2)
        count = min(11, len(ends))
        _, near = cKDTree(points[ends]).query(points[ends], k=count)
        i, j = np.repeat(ends, count), ends[near.ravel()]
        far = lengths(i, j)
        order = np.argsort(far, kind="stable")
        order = order[i[order] != j[order]]
        kept = join(i[order], j[order], degree, parent)
        if not kept.any():  # all near ends are of the same path
            rest = ends[np.lexsort(points[ends].T)]
            i, j = rest[:-1], rest[1:]
            far, order = lengths(i, j), np.arange(len(i))
            kept = join(i, j, degree, parent)
        total, edges = total + float(far[order][kept].sum()), edges + int(kept.sum())
    first, last = np.flatnonzero(degree < 2)
    return total + float(lengths(first, last))


def by_ratio(values: NDArray[Any], weights: NDArray[Any], capacity: float) -> float:
    """Value of a greedy selection by ratio, items that do not fit left out."""
    free, worth = capacity, 0.0
    for i in np.argsort(-(values / weights), kind="stable").tolist():
        if weights[i] <= free:
            free, worth = free - weights[i], worth + values[i]
    return float(worth)


def first_fit(weights: NDArray[Any], capacity: float) -> float:
    """Bins of first fit decreasing: a tournament over the room of the bins."""
    from numba import njit

    @njit  # type: ignore[untyped-decorator]
    def pack(weights: Any, capacity: Any) -> int:
        leaves = 1
        while leaves < len(weights):
            leaves *= 2
        room, used = np.full(2 * leaves, capacity), 0
        for weight in weights:
            node = 1
            while node < leaves:
                node *= 2
                if room[node] < weight:
                    node += 1
            room[node] -= weight
            used = max(used, node - leaves + 1)
            while node > 1:
                node //= 2
                room[node] = max(room[2 * node], room[2 * node + 1])
        return used

    kind = np.float64 if weights.dtype.kind == "f" else np.int64
    return float(pack(np.sort(weights)[::-1].astype(kind), kind(capacity)))


def _tours(points: NDArray[Any], kind: str) -> tuple[dict[str, Any], Callable[[], float]]:
    data = {"coords": points.tolist(), "edge_weight_type": kind}
    return data, lambda: greedy_edges(points.astype(float), rounded=kind == "EUC_2D")


def _items(values: NDArray[Any], weights: NDArray[Any]) -> tuple[dict[str, Any], Callable[[], float]]:
    capacity = weights.sum().item() // 2
    data = {"values": values.tolist(), "weights": weights.tolist(), "capacity": capacity}
    return data, lambda: by_ratio(values, weights, capacity)


def _pieces(weights: NDArray[Any], capacity: int) -> tuple[dict[str, Any], Callable[[], float]]:
    return {"weights": weights.tolist(), "capacity": capacity}, lambda: first_fit(weights, capacity)


def kinds(size: int) -> dict[str, Callable[[], tuple[dict[str, Any], Callable[[], float]]]]:
    """Makers of instances, as records with their judges."""
    rng = np.random.default_rng(size)

    def clustered() -> NDArray[Any]:
        centres = rng.random((1_000, 2)) * 1e5
        return np.rint(centres[rng.integers(0, 1_000, size)] + rng.normal(size=(size, 2)) * 10).astype(
            np.int64
        )

    def tiny_and_huge() -> NDArray[Any]:
        return np.where(
            rng.random(size) < 0.5, rng.integers(1, 10, size), rng.integers(9 * 10**8, 10**9, size)
        )

    def heavy() -> NDArray[Any]:
        return rng.integers(1, 10**9, size)

    sizes = [10, 13, 21, 34, 37, 41, 52, 53, 66, 71]
    return {
        "tours, uniform": lambda: _tours(rng.random((size, 2)), "EXACT_2D"),
        "tours, clusters with coincident cities": lambda: _tours(clustered(), "EUC_2D"),
        "knapsacks, uniform": lambda: _items(rng.random(size), rng.random(size)),
        "knapsacks, equal ratios": lambda: _items(7 * (w := heavy()), w),
        "knapsacks, value is weight plus a constant": lambda: _items((w := heavy()) + 10**8, w),
        "bins, uniform": lambda: _pieces(rng.random(size), 1),
        "bins, ten sizes": lambda: _pieces(rng.choice(sizes, size), 100),
        "bins, all sizes different": lambda: _pieces(rng.permutation(np.arange(1, size + 1)), 3 * size),
        "bins, tiny and huge": lambda: _pieces(tiny_and_huge(), 10**9),
    }


def command(file: Path, limit: float) -> dict[str, Any]:
    """Run ``nsa solve`` by the clock; its answer with seconds and memory."""
    answer, began = file.with_name("answer.json"), time.monotonic()
    words = ["solve", str(file), "--time-limit", str(limit), "--seed", "1", "-q", "-o", str(answer)]
    process = subprocess.Popen([sys.executable, "-m", "nsa_cli", *words])
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    found = json.loads(answer.read_text()) if process.returncode == 0 else {}
    return {
        "objective": found.get("objective", math.nan),
        "found_by": found.get("found_by", f"exit code {process.returncode}"),
        "wall": round(wall, 2),
        "cpu": round(used.ru_utime + used.ru_stime, 2),
        "mb": used.ru_maxrss // 1024,
    }


def by_the_clock(rows: Rows, size: int, limits: tuple[float, ...]) -> None:
    """Run all kinds within all limits, and print them."""
    for kind, make in kinds(size).items():
        missing = [limit for limit in limits if (kind, str(size), str(limit)) not in rows.all]
        if not missing:
            continue
        data, judge = make()
        best = judge()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "instance.json"
            file.write_text(json.dumps(data))
            del data
            for limit in missing:
                found = ask(what="command", file=str(file), limit=limit)
                pair = (found["objective"], best) if "knapsacks" not in kind else (best, found["objective"])
                rows.add(
                    kind=kind, size=size, limit=limit, judge=best, ratio=round(pair[0] / pair[1], 9), **found
                )
    print("| kind | limit | answer / judge | whole process | processor | memory | found by |")
    print("|" + "---|" * 7)
    for row in rows.all.values():
        cells = [row["kind"], f"{float(row['limit']):g} s", f"{float(row['ratio']):.6g}", f"{row['wall']} s"]
        print("| " + " | ".join([*cells, f"{row['cpu']} s", f"{row['mb']} MB", row["found_by"]]) + " |")


def main() -> None:
    """Make what is missing, print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=("targets", "limits"), default="targets")
    parser.add_argument("--problems", type=lambda text: tuple(text.split(",")), default=PROBLEMS)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--limits", type=lambda text: tuple(map(float, text.split(","))), default=LIMITS)
    parser.add_argument("--most", type=float, default=MOST, help="processor seconds of a run, at most")
    parser.add_argument("--csv", type=Path, help="scale.csv, or scale-limits.csv")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    if options.serve:
        print(json.dumps(serve(json.loads(options.serve))))
        return
    if options.part == "limits":
        rows = Rows(options.csv or Path("scale-limits.csv"), LIMIT_FIELDS)
        for size in options.sizes or (MANY,):
            by_the_clock(rows, size, options.limits)
        return
    rows = Rows(options.csv or Path("scale.csv"), FIELDS)
    for size in options.sizes or SIZES:
        for problem in options.problems:
            for number in range(1, COUNTS.get(size, 1) + 1):
                measure(rows, problem, size, number, options.most)
    print("\n".join(table(rows)))
    if options.figure:
        draw(rows, options.figure)


if __name__ == "__main__":
    main()
