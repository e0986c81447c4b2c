"""Tours beside fast-tsp and another commit: families that half of are never chosen on, and TSPLIB.

    python benchmarks/tours.py --part reporting              for reporting: .1, 1 and 5 s, three seeds
    python benchmarks/tours.py --quick --against OTHER/src   while choosing: few instances, one seed, 1 s
    python benchmarks/tours.py --families none --tsplib DIR  DIR holds ``*.tsp`` and ``best-known.txt``
    python benchmarks/tours.py --make-references 60          longer runs, whose best lengths are kept

Everyone has one thread and the same seconds of the processor, in turn on each instance, as `contestants` has
it. Each run is a row of a CSV file as soon as it is ready, and the same command makes only those that are
missing. A version of ours is what its sources hold: after an edit only ours runs again. (After one of
`families`, begin with other files.) Every tour is checked, and measured exactly.

Gaps are in per cent to the optimum where it is known (TSPLIB, full lattices), else to the shortest tour in
the references or the CSV file. Means are over instances, of each the mean of its seeds, with a 95 % interval
by Student's t, and in brackets the worst run. ``gained`` is the other commit's gap less ours, in pairs.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import Rows, head, mean, numbers, row
from contestants import Server, contestants
from families import FAMILIES, REFERENCES, SIZES, instances, read_references

import nsa_cli as nsa
from nsa_cli.bench.suites import read_references as read_optima
from nsa_cli.problems.tsp.instance import TspInstance

#: What ``--quick`` measures: one core, three minutes.
QUICK = {"part": "choosing", "sizes": (1_000, 3_000), "limits": (1.0,), "seeds": 1}

#: The seed of longer runs.
LONG_SEED = 1_000

#: Of a run; the first five tell it from others.
FIELDS = ("solver", "version", "instance", "limit", "seed", "length", "wall", "cpu", "note")


class Case(NamedTuple):
    """An instance with the row of the table that it belongs to, its group's, and its optimum, if known."""

    name: str
    row: str
    group: str
    instance: TspInstance
    file: Path
    optimum: float | None


def runs_of(path: Path) -> Rows:
    """Open the file of runs; those of ours have their version: what was ``now`` may be ``against`` later."""
    return Rows(path, FIELDS, 5)


def shortest(runs: Rows) -> dict[str, float]:
    """Give the least length of each instance."""
    least: dict[str, float] = {}
    for run in runs.all.values():
        if float(run["length"]) < least.get(run["instance"], np.inf):
            least[run["instance"]] = float(run["length"])
    return least


def family_cases(options: argparse.Namespace) -> Iterator[Case]:
    """Make the instances of families, and write each to a file that all solvers read."""
    names = None if options.families is None else options.families.split(",")
    if unknown := {*(names or ())} - {"none", *(f.name for f in FAMILIES), *(f.group for f in FAMILIES)}:
        raise SystemExit(f"--families: there is no {', '.join(sorted(unknown))}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, family, instance, optimum in instances(options.part, options.sizes, options.count, names):
        if not (file := options.folder / f"{name}.json").exists():
            file.write_text(json.dumps(instance.record()))
        yield Case(name, family.name, family.group, instance, file, optimum)


def library_cases(options: argparse.Namespace) -> Iterator[Case]:
    """Read TSPLIB's files whose optimum is known, smaller ones first."""
    best = read_optima(options.tsplib / "best-known.txt")
    found = [
        (path, nsa.read(path)[0].instance)
        for path in sorted(options.tsplib.glob("*.tsp"))
        if path.stem in best and "FIXED_EDGES_SECTION" not in path.read_text()  # fast-tsp has no such edges
    ]
    for path, instance in sorted(found, key=lambda pair: pair[1].size):
        if options.smallest <= instance.size <= options.largest:
            yield Case(path.stem, "TSPLIB", "TSPLIB", instance, path, best[path.stem])


def measure(
    cases: Iterable[Case],
    solvers: Sequence[Server],
    runs: Rows,
    plan: Sequence[tuple[float, int]],
) -> None:
    """Make the runs that are missing: at each instance all solvers in turn, another first each time."""
    for turn, (case, (limit, seed)) in enumerate(itertools.product(cases, plan), 1):
        for solver in (*solvers[turn % len(solvers) :], *solvers[: turn % len(solvers)]):
            key = _key(solver, case, limit, seed)
            if runs.find(*key) is not None:
                continue
            answer = solver.run(case.file, limit, seed)
            length, note = float("nan"), answer.note
            if answer.tour is not None:
                tour = np.array(answer.tour, dtype=np.int64)
                wrong = case.instance.violation(tour)
                length, note = (length, wrong) if wrong else (float(case.instance.objective(tour)), note)
            cells = (*key, length, round(answer.wall, 4), round(answer.cpu, 4), note)
            runs.add(**dict(zip(FIELDS, cells, strict=True)))


def _key(solver: Server, case: Case, limit: float, seed: int) -> tuple[object, ...]:
    name = "ours" if solver.name in ("now", "against") else solver.name
    return name, solver.version, case.name, limit, seed


class Table(NamedTuple):
    """What a table is made of."""

    cases: Sequence[Case]
    solvers: Sequence[Server]
    runs: Rows
    limits: Sequence[float]
    seeds: int
    base: dict[str, float]

    def found(self, case: Case, solver: Server, limit: float) -> list[dict[str, str]]:
        """Give the runs that there are of an instance."""
        every = (self.runs.find(*_key(solver, case, limit, k)) for k in range(1, self.seeds + 1))
        return [run for run in every if run is not None]

    def gaps(self, case: Case, solver: Server, limit: float) -> list[float] | None:
        """Gaps of an instance in per cent, one a seed; None if one is missing."""
        lengths = np.array([float(run["length"]) for run in self.found(case, solver, limit)])
        if len(lengths) < self.seeds or np.isnan(lengths).any():
            return None
        base = self.base[case.name]
        return [100 * (length - base) / base if base else 0.0 for length in lengths.tolist()]

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
                cells.append(f"{mean(means[solver.name])} ({max(itertools.chain(*gaps)):.2f}){missing}")
            if self.compares:
                now, then = means.get("now"), means.get("against")
                same = now is not None and then is not None and len(now) == len(then)
                cells.append(mean(then - now, "+.3f") if same else "")
        return cells

    @property
    def compares(self) -> bool:
        """Whether there are two versions of ours."""
        return {"now", "against"} <= {solver.name for solver in self.solvers}

    def show(self) -> None:
        """Print the table: families, their groups, and all."""
        names = [*(solver.name for solver in self.solvers), *(["gained"] * self.compares)]
        head("family", "instances", *(f"{limit:g} s, {name}" for limit in self.limits for name in names))
        rows, groups = defaultdict[str, list[Case]](list), defaultdict[str, list[Case]](list)
        for case in self.cases:
            rows[case.row].append(case)
            groups[case.group].append(case)
        several = {f"**{name}**": some for name, some in groups.items() if len({c.row for c in some}) > 1}
        families = [case for case in self.cases if case.group != "TSPLIB"]
        if len({case.group for case in families}) > 1:
            several["**families**"] = families
        for name, some in (rows | several).items():
            row(name, len(some), *self.cells(some))

    def seconds(self) -> Iterator[str]:
        """Tell what each solver took, and where it failed."""
        for solver in self.solvers:
            taken, failed = [], set()
            for limit in self.limits:
                some = [run for case in self.cases for run in self.found(case, solver, limit)]
                failed |= {run["note"] for run in some if run["length"] == "nan"}
                if some:
                    cpu, wall = np.mean([(float(run["cpu"]), float(run["wall"])) for run in some], axis=0)
                    taken.append(f"{limit:g} s: {cpu:.3f} of the processor, {wall:.3f} by the clock")
            yield f"{solver.name} ({solver.version}), mean seconds, {'; '.join(taken)}."
            yield from (f"{solver.name} failed: {note}" for note in sorted(failed))


def bases(cases: Sequence[Case], runs: Rows, kept: dict[str, float]) -> tuple[dict[str, float], str]:
    """Choose the length that each instance's gaps are to, and say which they are."""
    seen, chosen = shortest(runs), dict[str, float]()
    known = references = better = 0
    for case in cases:
        here, before = seen.get(case.name, np.inf), kept.get(case.name, np.inf)
        chosen[case.name] = min(here, before) if case.optimum is None else case.optimum
        known += case.optimum is not None
        references += case.optimum is None and before < np.inf
        better += case.optimum is None and here < before < np.inf
    text = f"Gaps are to the optimum ({known} instances), to the references or a shorter tour of any run "
    text += f"({references}, of which {better} shorter), or to the shortest tour of any run "
    return chosen, text + f"({len(cases) - known - references})."


def parse() -> argparse.Namespace:
    """Read the options; ``--quick`` sets several."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=("choosing", "reporting"), default="reporting")
    parser.add_argument("--quick", action="store_true", help="choosing, one seed, 1 s of the processor")
    parser.add_argument("--families", metavar="NAMES", help="families and groups, or none; all by default")
    parser.add_argument("--sizes", type=numbers(int), default=SIZES, help="cities")
    parser.add_argument("--count", type=int, default=1, help="instances of each family and size")
    parser.add_argument("--limits", type=numbers(float), default=(0.1, 1.0, 5.0), help="seconds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--against", type=Path, metavar="SRC", help="the folder src of another checkout")
    parser.add_argument("--tsplib", type=Path, metavar="DIR")
    parser.add_argument("--smallest", type=int, default=200, help="cities of TSPLIB's files, at least")
    parser.add_argument("--largest", type=int, default=20_000, help="and at most")
    parser.add_argument("--runs", type=Path, default=Path("tours.csv"), help="where runs are kept")
    parser.add_argument("--folder", type=Path, default=Path("tours-instances"), help="where instances are")
    parser.add_argument("--references", type=Path, default=REFERENCES, metavar="FILE")
    longer = "run so long, and keep the best lengths there"
    parser.add_argument("--make-references", type=float, metavar="SECONDS", help=longer)
    options = parser.parse_args()
    if options.quick:
        parser.set_defaults(**QUICK)
        options = parser.parse_args()
    return options


def main() -> None:
    """Measure what is missing, and print the table."""
    options = parse()
    solvers, notes = contestants(options.against)
    cases = list(family_cases(options))
    if options.tsplib is not None:
        cases += library_cases(options)
    runs, kept = runs_of(options.runs), read_references(options.references)
    plan = list(itertools.product(options.limits, range(1, options.seeds + 1)))
    if options.make_references is not None:
        plan = [(options.make_references, LONG_SEED)]
    try:
        measure(cases, solvers, runs, plan)
    finally:
        for solver in solvers:
            solver.close()
    if options.make_references is not None:
        seen, unknown = shortest(runs), {case.name for case in cases if case.optimum is None}
        best = kept | {name: min(seen[name], kept.get(name, np.inf)) for name in unknown & set(seen)}
        options.references.write_text(json.dumps(dict(sorted(best.items())), indent=0) + "\n")
        print(f"{options.references}: best lengths of {len(best)} instances")
        return
    base, about = bases(cases, runs, kept)
    table = Table(cases, solvers, runs, options.limits, options.seeds, base)
    table.show()
    print("", about, *table.seconds(), *notes, sep="\n")


if __name__ == "__main__":
    main()
