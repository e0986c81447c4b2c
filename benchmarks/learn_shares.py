"""Can a network that is trained share out a run's time better than the rule? Evolution strategies, on tours.

    python benchmarks/learn_shares.py train --seconds 420 --out shares.json       on families for choosing
    python benchmarks/learn_shares.py constants --count 40                        on families for choosing
    python benchmarks/learn_shares.py test shares.json --count 66 --seeds 2       on families for reporting

In the place of four constants of a run with a population (share of the run for making members, noise of
their starts, idle generations, a factor of the chain's temperatures) a network of forty parameters gives four
numbers for each instance and limit. They are set in this process; no source is edited. Runs are by the
processor's clock, one thread, no bound, 200 to 3,000 cities (of a matrix 1,000) with .25 to .7 ms a city (.1
to 1 s), and in pairs: the rule and what stands in its place have equal seeds. What is known of an instance
(neighbours, greedy edges) is computed beforehand and not charged, in the network's favour. One run of a
command is one process; its last lines are the table.
"""

from __future__ import annotations

import argparse
import concurrent.futures  # noqa: F401  waiting goes on by the wall clock, which these two keep
import dataclasses
import json
import math
import threading  # noqa: F401
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

time.monotonic = time.process_time  # before anything of the package is imported

import numpy as np  # noqa: E402
from families import FAMILIES, Family, Part, member  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.stats import rankdata  # noqa: E402

import nsa_cli as nsa  # noqa: E402
from nsa_cli.anneal import population  # noqa: E402
from nsa_cli.anneal.large_step import LargeStepChains  # noqa: E402
from nsa_cli.bench.statistics import half_width  # noqa: E402
from nsa_cli.problems.tsp.greedy_edge import greedy  # noqa: E402
from nsa_cli.problems.tsp.instance import TspInstance  # noqa: E402
from nsa_cli.problems.tsp.large_step import chains as tour_chains  # noqa: E402
from nsa_cli.problems.tsp.large_step import population as tour_population  # noqa: E402
from nsa_cli.problems.tsp.neighbour_lists import neighbour_lists  # noqa: E402

#: Cities, of a matrix at most so many; seconds a city, and a run.
SIZES, MATRIX, EACH, LIMITS = (200, 3_000), 1_000, (2.5e-4, 7e-4), (0.1, 1.0)

#: Numbers of instances of training, of constants and of the test begin here.
TRAINING, SWEEP, TEST = 10_000, 20_000, 30_000

#: Inputs, among them a constant, hidden units and outputs.
INPUTS, HIDDEN, OUTPUTS = 5, 4, 4

#: Antithetic pairs an instance, standard deviation of parameters, length of the first step (of the last, 0).
PAIRS, SIGMA, RATE = 4, 0.4, 0.15

#: Seconds of the processor of a kick, as the search assumes it.
KICK = 1e-4


class Shares(NamedTuple):
    """What decides how a run shares out its time; the defaults are the rule.

    Attributes
    ----------
    made : float
        Share of the run for making members.
    noise : float
        Of their starts, as a standard deviation of logarithms.
    idle : float
        Generations in a row without a better best tour, after which there are no more.
    heat : float
        Factor of the temperatures of the chain that follows.
    recombined : float
        Share of the run after which none recombine; no output of the network.
    """

    made: float = 0.5
    noise: float = 0.5
    idle: float = 4.0
    heat: float = 1.0
    recombined: float = 0.9


RULE = Shares()


class Case(NamedTuple):
    """An instance with a limit and what a network sees of it, float64[INPUTS]."""

    name: str
    instance: TspInstance
    limit: float
    inputs: NDArray[np.float64]


def shares_of(values: NDArray[np.float64]) -> Shares:
    """Turn outputs float64[OUTPUTS] into shares; zeros are the rule."""
    made, noise, idle, heat = values
    return Shares(
        float(np.clip(1.0 / (1.0 + math.exp(-made)), 0.1, 0.85)),
        float(np.clip(RULE.noise * math.exp(0.5 * noise), 0.15, 1.5)),
        float(np.clip(RULE.idle * math.exp(idle), 1.0, 20.0)),
        float(np.clip(math.exp(heat), 0.1, 10.0)),
    )


def network(theta: NDArray[np.float64], inputs: NDArray[np.float64]) -> Shares:
    """Apply the network with parameters float64[INPUTS * HIDDEN + (HIDDEN + 1) * OUTPUTS]."""
    first, last = np.split(theta, [INPUTS * HIDDEN])
    hidden = np.tanh(first.reshape(HIDDEN, INPUTS) @ inputs)
    return shares_of(last.reshape(OUTPUTS, HIDDEN + 1) @ np.append(hidden, 1.0))


def case(family: Family, number: int) -> Case:
    """Draw size and limit of an instance, and make it."""
    rng = np.random.default_rng(number)
    most = MATRIX if family.metric == "EXPLICIT" else SIZES[1]
    size = round(math.exp(rng.uniform(math.log(SIZES[0]), math.log(most))))
    each = math.exp(rng.uniform(*np.log(EACH)))
    made = member(family, size, number)
    limit = round(float(np.clip(each * size, *LIMITS)), 3)
    return Case(made.name, made.instance, limit, features(dataclasses.replace(made.instance), limit))


def features(instance: TspInstance, limit: float) -> NDArray[np.float64]:
    """Compute the inputs: size, kicks a city, clusteredness, equal or no lengths; about 0, about 1 wide."""
    lists = neighbour_lists(instance)
    size, near = len(lists.sites.numbers), lists.distances
    edge = instance.objective(greedy(instance)) / instance.size
    tied = 1.0 - size / instance.size + float(np.mean(near[:, 0] == near[:, 1]))
    return np.array(
        [
            (math.log(instance.size) - 6.65) / 0.8,
            (math.log(limit / KICK / instance.size) - 1.43) / 0.3,
            (float(near[:, 0].mean()) / max(edge, 1e-9) - 0.7) / 0.2,
            (tied - 0.3) / 0.4,
            1.0,
        ]
    )


def cases(part: Part, begin: int, count: int | None) -> Iterator[Case]:
    """Make instances of all families of a part in turn."""
    families = [family for family in FAMILIES if family.part == part]
    number = begin
    while count is None or number < begin + count:
        yield case(families[(number - begin) % len(families)], number)
        number += 1


class _Heat:
    """Factor of the temperatures of chains that had a population, by replacing a method."""

    factor = 1.0

    def __init__(self) -> None:
        begin, advance = LargeStepChains.__init__, LargeStepChains.advance
        populated: set[int] = set()

        def init(chains: LargeStepChains, *given: Any, **options: Any) -> None:
            begin(chains, *given, **options)
            populated.clear()
            populated.update({id(chains)} if chains._populations else ())

        def go_on(chains: LargeStepChains, temperatures: NDArray[np.float64], used: float = 0.0) -> None:
            advance(chains, temperatures * (self.factor if id(chains) in populated else 1.0), used)

        LargeStepChains.__init__, LargeStepChains.advance = init, go_on  # type: ignore[method-assign]


HEAT = _Heat()


def run(some: Case, shares: Shares, seed: int, limit: float | None = None) -> float:
    """Solve an instance, from which nothing is left of earlier runs, and give the tour's length."""
    population.CONSTRUCTION_SHARE = shares.made  # type: ignore[attr-defined]
    tour_chains.CONSTRUCTION_SHARE = shares.made  # type: ignore[attr-defined]
    tour_population._NOISE, population._IDLE = shares.noise, shares.idle  # type: ignore[assignment]
    population._CROSSOVER_END, HEAT.factor = shares.recombined, shares.heat
    fresh = dataclasses.replace(some.instance)
    found = nsa.solve(fresh, time_limit=limit or some.limit, seed=seed, threads=1, bound=False)
    return float(found.objective)


def warm_up() -> None:
    """Load machine code of every metric."""
    for family in FAMILIES:
        run(Case("", member(family, 200, 1).instance, 0.1, np.zeros(INPUTS)), RULE, 1)


def train(seconds: float, out: Path) -> None:
    """Step by step: an instance, pairs of networks about the present one, and a step by their ranks."""
    rng = np.random.default_rng(1)
    theta = np.zeros(INPUTS * HIDDEN + (HIDDEN + 1) * OUTPUTS)
    theta[: INPUTS * HIDDEN] = 0.5 * rng.normal(size=INPUTS * HIDDEN)
    began, used, seen, gained = time.process_time(), 0.0, [], []
    mean = np.zeros_like(theta)  # of the second half of all steps: single ones are mostly noise
    averaged = 0
    for step, some in enumerate(cases("choosing", TRAINING, None)):
        if used > seconds:
            break
        noise = rng.normal(size=(PAIRS, len(theta)))
        noise = np.concatenate([noise, -noise])
        found = np.array([run(some, network(theta + SIGMA * e, some.inputs), step) for e in noise])
        rate = RATE * max(1.0 - used / seconds, 0.0)
        # Ranks within an instance: those with large gaps weigh no more. The rule's length would change none.
        theta += rate * (0.5 - (rankdata(found) - 0.5) / len(found)) @ noise / PAIRS
        rule = run(some, RULE, step)
        gained.append(100.0 * (rule - float(found.mean())) / rule)
        seen.append(some.inputs)
        used = time.process_time() - began
        averaged += used > 0.5 * seconds
        mean = theta.copy() if averaged < 2 else mean + (theta - mean) / averaged
        out.write_text(
            json.dumps(
                {
                    "steps": step + 1,
                    "seconds": round(used, 1),
                    "theta": mean.round(4).tolist(),
                    "mean": np.mean([network(mean, x) for x in seen], axis=0).round(4).tolist(),
                    "gained": np.round(gained, 4).tolist(),
                }
            )
        )
        print(
            f"{step:>4} {used:>5.0f} s  {some.name:<28} {some.limit:>5.3f} s  spread "
            f"{100 * np.ptp(found) / rule:.3f} %  gained {gained[-1]:+.3f} (last 33: "
            f"{np.mean(gained[-33:]):+.4f})  now {[round(v, 2) for v in network(theta, some.inputs)]}",
            flush=True,
        )


def report(arms: dict[str, list[Shares]], some: list[Case], seeds: int, reference: float) -> None:
    """Run all arms on each instance in turn, and print each one's gap and what it gains on the first."""
    gaps: dict[str, list[float]] = {name: [] for name in arms}
    spent = dict.fromkeys(arms, 0.0)
    for k, one in enumerate(some):
        lengths: dict[str, list[float]] = {}
        for seed in range(1, seeds + 1):
            names = list(arms)
            turn = (k + seed) % len(names)  # nobody is always the first
            for name in names[turn:] + names[:turn]:
                begin = time.process_time()
                lengths.setdefault(name, []).append(run(one, arms[name][k], 1_000 * k + seed))
                spent[name] += time.process_time() - begin
        best = min(map(min, lengths.values()))
        if reference:
            best = min(best, run(one, RULE, 7, min(reference * one.limit, 2.0)))
        for name in arms:
            gaps[name].append(100.0 * (float(np.mean(lengths[name])) / best - 1.0))
        print(
            f"{one.name:<28} {one.limit:.3f}  " + "  ".join(f"{n} {g[-1]:.3f}" for n, g in gaps.items()),
            flush=True,
        )
    print("| | gap % | shorter than the rule by | of the gap | better, worse | CPU s |\n" + "|---" * 6 + "|")
    rule = np.array(next(iter(gaps.values())))
    for name, values in gaps.items():
        gain = rule - np.array(values)
        width, share = half_width(gain) or 0.0, 100.0 / rule.mean()
        print(
            f"| {name} | {np.mean(values):.4f} | {gain.mean():+.4f} ± {width:.4f} | "
            f"{share * gain.mean():+.0f} ± {share * width:.0f} % | "
            f"{(gain > 1e-9).sum()}, {(gain < -1e-9).sum()} | {spent[name]:.1f} |"
        )


def test(file: Path, count: int, seeds: int, reference: float) -> None:
    """Compare the rule, the network, and the network's mean outputs as constants."""
    kept = json.loads(file.read_text())
    some = list(cases("reporting", TEST, count))
    theta, mean = np.array(kept["theta"]), Shares(*kept["mean"])
    print(f"{kept['steps']} steps, {kept['seconds']} s; means {mean}")
    arms = {
        "rule": [RULE] * count,
        "rule again": [RULE] * count,  # what chance alone makes: by the clock equal seeds are not equal runs
        "network": [network(theta, one.inputs) for one in some],
        "its means as constants": [mean] * count,
    }
    report(arms, some, seeds, reference)


def constants(count: int) -> None:
    """Compare the rule with one constant changed at a time."""
    others = [Shares(made=m) for m in (0.3, 0.4, 0.65)] + [Shares(recombined=r) for r in (0.6, 0.75)]
    others += [Shares(noise=n) for n in (0.35, 0.7)]
    others += [Shares(idle=i) for i in (2.0, 8.0)] + [Shares(heat=h) for h in (0.5, 2.0)]
    names = {"rule": [RULE] * count, "rule again": [RULE] * count}
    for shares in others:
        pairs = zip(Shares._fields, shares, RULE, strict=True)
        changed = [f"{key} {value:g}" for key, value, usual in pairs if value != usual]
        names[", ".join(changed)] = [shares] * count
    report(names, list(cases("choosing", SWEEP, count)), 1, reference=0.0)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("train")
    command.add_argument("--seconds", type=float, default=420.0, help="of the processor")
    command.add_argument("--out", type=Path, default=Path("shares.json"))
    command = commands.add_parser("constants")
    command.add_argument("--count", type=int, default=40, help="instances")
    command = commands.add_parser("test")
    command.add_argument("file", type=Path)
    command.add_argument("--count", type=int, default=66, help="instances")
    command.add_argument("--seeds", type=int, default=2)
    command.add_argument(
        "--reference",
        type=float,
        default=4.0,
        help="a longer run for the best length, in limits; 0: none",
    )
    options = parser.parse_args()
    warm_up()
    if options.command == "train":
        train(options.seconds, options.out)
    elif options.command == "constants":
        constants(options.count)
    else:
        test(options.file, options.count, options.seeds, options.reference)


if __name__ == "__main__":
    main()
