"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from nsa_cli.cli.command import completion, option_of
from nsa_cli.core.options import READING, parse_amount, parse_pairs, parse_text, setting
from nsa_cli.problems import builtin_names
from nsa_cli.solver.settings import Settings

ProblemName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="Name of a problem, or FILE.py:CLASS.",
        autocompletion=completion(builtin_names),
    ),
]
Seed = Annotated[str | None, option_of(Settings, "seed")]


@dataclass(frozen=True, kw_only=True)
class Given:
    """What is said of instances beside their files.

    Attributes
    ----------
    problem : str, optional
        bin, knapsack, rosenbrock, tsp, or FILE.py:CLASS; recognised from the file by default.
    capacity : str, optional
        Capacity, where the file has none.
    open_ : bool
        Of tours: a path that need not return to its start.
    start : str, optional
        City where the answer begins; by default the depot, or the first one of the file.
    from_ : str, optional
        City where an open path begins.
    to : str, optional
        City where an open path ends.
    set_ : tuple of str
        Another key of the instance; may be repeated.
    """

    problem: str | None = setting(None, READING, parse_text, "PROBLEM", words=builtin_names, short=("-p",))
    capacity: str | None = setting(None, READING, metavar="C")
    open_: bool = setting(False, READING)
    start: str | None = setting(None, READING, metavar="CITY")
    from_: str | None = setting(None, READING, metavar="CITY")
    to: str | None = setting(None, READING, metavar="CITY")
    set_: tuple[str, ...] = setting((), READING, metavar="KEY=VALUE")

    def keys(self) -> dict[str, Any]:
        """Read the record keys that are given beside a file."""
        amount = None if self.capacity is None else parse_amount("capacity", self.capacity)
        own = {"capacity": amount, "open": self.open_ or None, "start": self.start}
        own |= {"from": self.from_, "to": self.to}
        return parse_pairs("set", self.set_) | {k: v for k, v in own.items() if v is not None}
