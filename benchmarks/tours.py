"""Tours beside fast-tsp, LKH and another commit: families that half of are never chosen on, and TSPLIB.

    python benchmarks/tours.py --part reporting              for reporting: .1, 1 and 5 s, three seeds
    python benchmarks/tours.py --quick --against OTHER/src   while choosing: few instances, one seed, 1 s
    python benchmarks/tours.py --families none --tsplib DIR  DIR holds ``*.tsp`` and ``best-known.txt``
    python benchmarks/tours.py --make-references 60          longer runs, whose best lengths are kept

Everyone has one thread and the same seconds, in turn on each instance; clocks are told in `contestants`. Each
run is a row of a CSV file as soon as it is ready, and the same command makes only those that are missing. A
version of ours is what its sources hold: after an edit only ours runs again. (After one of `families`, begin
with other files.) Every tour is checked and measured exactly, whatever its solver was given.

Gaps are in per cent to the optimum where it is known (TSPLIB, full lattices), else to the shortest tour in
the references or the CSV file. Means are over instances, of each the mean of its seeds, with a 95 % interval
by Student's t, and in brackets the worst run. ``gained`` is the other commit's gap less ours, in pairs.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from contestants import Contestant, contestants
from families import FAMILIES, REFERENCES, SIZES, instances, read_references

import nsa_cli as nsa
from nsa_cli.bench.statistics import half_width
from nsa_cli.problems.tsp.instance import TspInstance

#: What ``--quick`` measures: one core, three minutes.
QUICK = {"part": "choosing", "sizes": (1_000, 3_000), "limits": (1.0,), "seeds": 1, "clock": "cpu"}

#: The seed of longer runs.
LONG_SEED = 1_000

FIELDS = ("solver", "version", "clock", "instance", "limit", "seed", "length", "wall", "cpu", "note")


class Case(NamedTuple):
    """An instance with the row of the table that it belongs to, its group's, and its optimum, if known."""

    name: str
    row: str
    group: str
    instance: TspInstance
    file: Path
    optimum: float | None


class Key(NamedTuple):
    """What distinguishes a run."""

    solver: str
    version: str
    clock: str
    instance: str
    limit: float
    seed: int


class Run(NamedTuple):
    """Length of a run's tour, NaN for none, and its seconds."""

    length: float
    wall: float
    cpu: float
    note: str


class Runs:
    """Runs of a CSV file, which grows by a line a run.

    Runs of ours are found by their version: what was ``now`` may be ``against`` later.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.all = path, dict[Key, Run]()
        if path.exists():
            if not (text := path.read_text(encoding="utf-8")).endswith("\n"):
                path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")  # a run that was ended
            with path.open(newline="", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    key = Key(*(row[f] for f in FIELDS[:4]), float(row["limit"]), int(row["seed"]))
                    self.all[key] = Run(*(float(row[f]) for f in FIELDS[6:9]), row["note"])

    def add(self, key: Key, run: Run) -> None:
        """Keep a run."""
        self.all[key] = run
        self.path.parent.mkdir(parents=True, exist_ok=True)
        head = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if head:
                writer.writerow(FIELDS)
            writer.writerow([*key, *run])

    def shortest(self) -> dict[str, float]:
        """Give the least length of each instance."""
        least: dict[str, float] = {}
        for key, run in self.all.items():
            if run.length < least.get(key.instance, np.inf):
                least[key.instance] = run.length
        return least


def family_cases(options: argparse.Namespace) -> Iterator[Case]:
    """Make the instances of families, and write each to a file that all solvers read."""
    names = None if options.families is None else options.families.split(",")
    if unknown := {*(names or ())} - {"none", *(f.name for f in FAMILIES), *(f.group for f in FAMILIES)}:
        raise SystemExit(f"--families: there is no {', '.join(sorted(unknown))}")
    for name, family, instance, optimum in instances(options.part, options.sizes, options.count, names):
        file = options.folder / f"{name}.json"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(instance.record()))
        yield Case(name, family.name, family.group, instance, file, optimum)


def library_cases(options: argparse.Namespace) -> Iterator[Case]:
    """Read TSPLIB's files whose optimum is known, smaller ones first."""
    text = (options.tsplib / "best-known.txt").read_text()
    best = {name: int(known) for name, known in re.findall(r"^\s*(\w+)\s*:\s*(\d+)", text, re.MULTILINE)}
    found = [
        (path, nsa.read(path)[0].instance)
        for path in sorted(options.tsplib.glob("*.tsp"))
        if path.stem in best and "FIXED_EDGES_SECTION" not in path.read_text()  # fast-tsp has no such edges
    ]
    for path, instance in sorted(found, key=lambda pair: pair[1].size):
        if options.smallest <= instance.size <= options.largest:
            row = path.stem if options.each else "TSPLIB"
            yield Case(path.stem, row, "TSPLIB", instance, path, best[path.stem])


def measure(
    cases: Iterable[Case],
    solvers: Sequence[Contestant],
    runs: Runs,
    plan: Sequence[tuple[float, int]],
    clock: str,
) -> None:
    """Make the runs that are missing: at each instance all solvers in turn, another first each time."""
    turn = 0
    for case in cases:
        for limit, seed in plan:
            turn += 1
            for solver in (*solvers[turn % len(solvers) :], *solvers[: turn % len(solvers)]):
                key = _key(solver, clock, case, limit, seed)
                if key in runs.all:
                    continue
                answer = solver.run(case.file, limit, seed)
                length, note = float("nan"), answer.note
                if answer.tour is not None:
                    tour = np.array(answer.tour, dtype=np.int64)
                    wrong = case.instance.violation(tour)
                    length, note = (length, wrong) if wrong else (float(case.instance.objective(tour)), note)
                runs.add(key, Run(length, round(answer.wall, 4), round(answer.cpu, 4), note))


def _key(solver: Contestant, clock: str, case: Case, limit: float, seed: int) -> Key:
    name = "ours" if solver.name in ("now", "against") else solver.name
    return Key(name, solver.version, clock, case.name, limit, seed)


class Table(NamedTuple):
    """What a table is made of."""

    cases: Sequence[Case]
    solvers: Sequence[Contestant]
    runs: Runs
    limits: Sequence[float]
    seeds: int
    clock: str
    base: dict[str, float]

    def gaps(self, case: Case, solver: Contestant, limit: float) -> list[float] | None:
        """Gaps of an instance in per cent, one a seed; None if one is missing."""
        found = []
        for seed in range(1, self.seeds + 1):
            run = self.runs.all.get(_key(solver, self.clock, case, limit, seed))
            if run is None or np.isnan(run.length):
                return None
            base = self.base[case.name]
            found.append(100 * (run.length - base) / base if base else 0.0)
        return found

    def cells(self, cases: Sequence[Case]) -> list[str]:
        """Give the cells of a row."""
        cells = []
        for limit in self.limits:
            means: dict[str, np.ndarray] = {}
            for solver in self.solvers:
                every = [self.gaps(case, solver, limit) for case in cases]
                if not (gaps := [some for some in every if some is not None]):
                    cells.append("")
                    continue
                means[solver.name] = np.array([np.mean(some) for some in gaps])
                missing = f", {len(every) - len(gaps)} missing" if len(gaps) < len(every) else ""
                cells.append(f"{_mean(means[solver.name])} ({max(itertools.chain(*gaps)):.2f}){missing}")
            if self.compares:
                now, then = means.get("now"), means.get("against")
                same = now is not None and then is not None and len(now) == len(then)
                cells.append(_mean(then - now, "+.3f") if same else "")
        return cells

    @property
    def compares(self) -> bool:
        """Whether there are two versions of ours."""
        return {"now", "against"} <= {solver.name for solver in self.solvers}

    def lines(self) -> Iterator[str]:
        """Give the lines of the table: families, their groups, and all."""
        head = [
            f"{limit:g} s, {name}"
            for limit in self.limits
            for name in (*(solver.name for solver in self.solvers), *(["gained"] * self.compares))
        ]
        yield "| " + " | ".join(["family", "instances", *head]) + " |"
        yield "|" + "---|" * (len(head) + 2)
        rows, groups = defaultdict[str, list[Case]](list), defaultdict[str, list[Case]](list)
        for case in self.cases:
            rows[case.row].append(case)
            groups[case.group].append(case)
        for name, some in rows.items():
            yield "| " + " | ".join([name, str(len(some)), *self.cells(some)]) + " |"
        for name, some in groups.items():
            if name not in rows and len({case.row for case in some}) > 1:
                yield "| " + " | ".join([f"**{name}**", str(len(some)), *self.cells(some)]) + " |"
        families = [case for case in self.cases if case.group != "TSPLIB"]
        if len({case.group for case in families}) > 1:
            yield "| " + " | ".join(["**families**", str(len(families)), *self.cells(families)]) + " |"

    def seconds(self) -> Iterator[str]:
        """Tell what each solver took, and what it was given in other units than the file's."""
        for solver in self.solvers:
            taken, notes = [], set()
            for limit in self.limits:
                some = [
                    run
                    for case in self.cases
                    for seed in range(1, self.seeds + 1)
                    if (run := self.runs.all.get(_key(solver, self.clock, case, limit, seed)))
                ]
                notes |= {run.note for run in some if np.isnan(run.length) or "scaled" in run.note}
                if some:
                    cpu, wall = np.mean([(run.cpu, run.wall) for run in some], axis=0)
                    taken.append(f"{limit:g} s: {cpu:.3f} of the processor, {wall:.3f} by the clock")
            yield f"{solver.name} ({solver.version}), mean seconds, {'; '.join(taken)}."
            errors = sorted(note for note in notes if "scaled" not in note)
            scaled = len(notes) - len(errors)
            if scaled:
                yield f"{solver.name} had lengths scaled and rounded to 16 bits on some instances."
            yield from (f"{solver.name} failed: {note}" for note in errors)


def _mean(values: np.ndarray, form: str = ".3f") -> str:
    half = half_width(values)
    return f"{values.mean():{form}}" + ("" if half is None else f" ± {half:.3f}")


def bases(cases: Sequence[Case], runs: Runs, kept: dict[str, float]) -> tuple[dict[str, float], str]:
    """Choose the length that each instance's gaps are to, and say which they are."""
    seen, chosen = runs.shortest(), dict[str, float]()
    known = references = better = 0
    for case in cases:
        here, before = seen.get(case.name, np.inf), kept.get(case.name, np.inf)
        if case.optimum is not None:
            chosen[case.name] = case.optimum
            known += 1
        else:
            chosen[case.name] = min(here, before)
            references += before < np.inf
            better += here < before < np.inf
    text = f"Gaps are to the optimum ({known} instances), to the references or a shorter tour of any run "
    text += f"({references}, of which {better} shorter), or to the shortest tour of any run "
    return chosen, text + f"({len(cases) - known - references})."


def parse() -> argparse.Namespace:
    """Read the options; ``--quick`` sets several."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=("choosing", "reporting"), default="reporting")
    parser.add_argument("--quick", action="store_true", help="choosing, one seed, 1 s of the processor")
    parser.add_argument("--families", metavar="NAMES", help="families and groups, or none; all by default")
    parser.add_argument("--sizes", type=_numbers(int), default=SIZES, help="cities")
    parser.add_argument("--count", type=int, default=1, help="instances of each family and size")
    parser.add_argument("--limits", type=_numbers(float), default=(0.1, 1.0, 5.0), help="seconds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--solvers", default="now,against,fast-tsp,lkh", help="those to measure")
    parser.add_argument("--against", type=Path, metavar="SRC", help="the folder src of another checkout")
    parser.add_argument("--tsplib", type=Path, metavar="DIR")
    parser.add_argument("--each", action="store_true", help="a row for each of TSPLIB's files")
    parser.add_argument("--smallest", type=int, default=200, help="cities of TSPLIB's files, at least")
    parser.add_argument("--largest", type=int, default=20_000, help="and at most")
    parser.add_argument("--runs", type=Path, default=Path("tours.csv"), help="where runs are kept")
    parser.add_argument("--folder", type=Path, default=Path("tours-instances"), help="where instances are")
    parser.add_argument("--references", type=Path, default=REFERENCES, metavar="FILE")
    parser.add_argument(
        "--make-references",
        type=float,
        metavar="SECONDS",
        help="run so long, and keep the best lengths there",
    )
    options = parser.parse_args()
    if options.quick:
        parser.set_defaults(**QUICK)
        options = parser.parse_args()
    return options


def _numbers(kind: type) -> type:
    return lambda text: tuple(kind(word) for word in text.split(","))  # type: ignore[return-value]


def main() -> None:
    """Measure what is missing, and print the table."""
    options = parse()
    solvers, notes = contestants(options.clock, options.against, set(options.solvers.split(",")))
    cases = list(family_cases(options))
    if options.tsplib is not None and options.tsplib.is_dir():
        cases += library_cases(options)
    elif options.tsplib is not None:
        notes.append(f"TSPLIB: there is no folder {options.tsplib}: left out.")
    runs, kept = Runs(options.runs), read_references(options.references)
    plan = list(itertools.product(options.limits, range(1, options.seeds + 1)))
    if options.make_references is not None:
        plan = [(options.make_references, LONG_SEED)]
    try:
        measure(cases, solvers, runs, plan, options.clock)
    finally:
        for solver in solvers:
            solver.close()
    if options.make_references is not None:
        seen, unknown = runs.shortest(), {case.name for case in cases if case.optimum is None}
        best = kept | {name: min(seen[name], kept.get(name, np.inf)) for name in unknown & set(seen)}
        options.references.write_text(json.dumps(dict(sorted(best.items())), indent=0) + "\n")
        print(f"{options.references}: best lengths of {len(best)} instances")
        return
    base, about = bases(cases, runs, kept)
    table = Table(cases, solvers, runs, options.limits, options.seeds, options.clock, base)
    print(*table.lines(), "", about, *table.seconds(), *notes, sep="\n")


if __name__ == "__main__":
    main()
