"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from nsa_cli.cli.command import completion, option_of
from nsa_cli.core.errors import UsageError
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
        Read the file as this problem: bin, knapsack, rosenbrock, tsp, or FILE.py:CLASS. By default it is
        recognised.
    capacity : str, optional
        Take this capacity instead of the file's.
    open_ : bool
        Find a path that need not return to its start (tours).
    start : str, optional
        Write the answer from this city on; by default from the depot, or the first city of the file.
    from_ : str, optional
        Begin an open path at this city.
    to : str, optional
        End an open path at this city.
    set_ : tuple of str
        Set a key of the instance; may be repeated.
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
        given, pairs = {k: v for k, v in own.items() if v is not None}, parse_pairs("set", self.set_)
        if twice := sorted(given.keys() & pairs.keys()):
            raise UsageError(f"{twice[0]} is given by --{twice[0]}, too; give it once", option="set")
        return pairs | given
