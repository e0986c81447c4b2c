"""Benchmark data of one problem: the paper's temperatures, heuristics, peers and reference files.

A problem's package may have a module `bench` with an attribute `contribution`, and beside it a file
``paper.csv`` with the paper's figures. Without them a problem is measured by its own budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from nsa_cli.core.extras import is_installed
from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Start

#: First and last temperature, in normalised units, or these as a function of the size N.
Temperatures: TypeAlias = tuple[float, float] | Callable[[int], tuple[float, float]]


def at_size(temperatures: Temperatures | None, size: int) -> tuple[float, float] | None:
    """Give the temperatures at a size, if there are any."""
    return temperatures(size) if callable(temperatures) else temperatures


@dataclass(frozen=True)
class Heuristic:
    """A constructive or local search heuristic, without annealing.

    Attributes
    ----------
    solve : callable
        ``solve(instance, draws) -> solution``, as a start of a problem.
    largest : int, optional
        Largest size N that it solves in reasonable time.
    paper : str, optional
        The solver of the paper that it is compared with, as in ``paper.csv``.
    """

    solve: Start
    largest: int | None = None
    paper: str | None = None


@dataclass(frozen=True)
class Peer:
    """Another project's solver, run on request only.

    Attributes
    ----------
    solve : callable
        ``solve(instance, seconds) -> solution``, set-up included; imports what it needs.
    package : str
        The package to install, whose module has its name.
    about : str
        A description, one line.
    paper : str, optional
        The solver of the paper that it is compared with, as in ``paper.csv``.
    """

    solve: Callable[[Any, float], Solution]
    package: str
    about: str
    paper: str | None = None

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        return is_installed(self.package.replace("-", "_"))


@dataclass(frozen=True)
class References:
    """Files with a reference objective for each instance of the paper's test sets.

    Attributes
    ----------
    file : str
        Name with ``{size}``, a ``.npy`` or ``.npz`` file.
    what : str
        What the reference is, for the caption.
    key : str, optional
        The array of an ``.npz`` file.
    """

    file: str
    what: str
    key: str | None = None


@dataclass(frozen=True)
class BenchContribution:
    """Benchmark data of one problem; a problem without any has the defaults.

    Attributes
    ----------
    power : {1, 2}
        The paper's numbers of steps are 1, 2, 5, 10 times N, or N^2.
    temperatures : mapping
        The paper's temperatures by method: ``sa``, ``ppo``, ``es``.
    tuned : tuple of float, or callable, optional
        Best temperatures of uniform proposals at K = 10 N (10 N^2).
    neighbourhoods : mapping
        The same in the problem's other neighbourhoods, by name.
    heuristics : mapping
        Heuristics by name, beside the problem's starts.
    peers : mapping
        Peers by name.
    references : References, optional
    """

    power: Literal[1, 2] = 1
    temperatures: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    tuned: Temperatures | None = None
    neighbourhoods: Mapping[str, Temperatures] = field(default_factory=dict)
    heuristics: Mapping[str, Heuristic] = field(default_factory=dict)
    peers: Mapping[str, Peer] = field(default_factory=dict)
    references: References | None = None

    def paper_temperatures(self, method: str) -> Temperatures | None:
        """Give the paper's temperatures of a method, or those of ``sa``; None without a paper."""
        return self.temperatures.get(method, self.temperatures.get("sa"))
