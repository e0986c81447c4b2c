"""What a problem brings to benchmarks: figures to compare with, heuristics, and solvers of others.

A problem's package may have a module `bench` with an attribute `contribution`, and beside it a file
``paper.csv``; a problem without them is measured all the same, by its own budget.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Start

#: First and last temperature.
Temperatures: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Heuristic:
    """A classical method that is no annealing.

    Attributes
    ----------
    solve : callable
        ``solve(instance, draws) -> solution``, as a start of a problem.
    largest : int, optional
        Size up to which it ends in reasonable time.
    paper : str, optional
        The solver of the paper that it is to be compared with, as in ``paper.csv``.
    """

    solve: Start
    largest: int | None = None
    paper: str | None = None


@dataclass(frozen=True)
class Peer:
    """A solver of others, run only when it is asked for.

    Attributes
    ----------
    solve : callable
        ``solve(instance, seconds) -> solution``, set-up included; imports what it needs.
    module : str
        The module to import; of a program, none.
    package : str
        The name to install it by.
    about : str
        What it is, one line.
    paper : str, optional
        The solver of the paper that it is to be compared with, as in ``paper.csv``.
    program : str, optional
        A program on the path that it starts, and that users have to find themselves.
    """

    solve: Callable[[Any, float], Solution]
    module: str
    package: str
    about: str
    paper: str | None = None
    program: str | None = None

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        if self.program is not None:
            return shutil.which(self.program) is not None
        return importlib.util.find_spec(self.module) is not None


@dataclass(frozen=True)
class References:
    """Files with a reference objective for each instance of the paper's sets.

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
    """Everything that benchmarks know about one problem.

    Attributes
    ----------
    steps : {'N', 'N2'}
        What the paper's multiples 1, 2, 5, 10 are multiples of.
    temperatures : mapping
        The paper's first and last temperature by method: ``sa``, ``ppo``, ``es``.
    tuned : callable, optional
        ``tuned(size)``: temperatures at which uniform proposals do best at K = 10 N (10 N^2).
    neighbourhoods : mapping
        The same in the problem's other neighbourhoods, by name.
    heuristics : mapping
        Beside the problem's named starts, or in their place.
    peers : mapping
    references : References, optional
    """

    steps: Literal["N", "N2"]
    temperatures: Mapping[str, Temperatures]
    tuned: Callable[[int], Temperatures] | None = None
    neighbourhoods: Mapping[str, Callable[[int], Temperatures]] = field(default_factory=dict)
    heuristics: Mapping[str, Heuristic] = field(default_factory=dict)
    peers: Mapping[str, Peer] = field(default_factory=dict)
    references: References | None = None
