"""An instance with its problem: the unit of work of a solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nsa_cli.core.instance import Instance
from nsa_cli.core.problem import Problem


@dataclass(frozen=True)
class Task:
    """An instance with the problem it belongs to.

    Attributes
    ----------
    problem : Problem
    instance : Instance
    seconds : float
        What reading it took.
    stream : int
        Number of its random streams. 0 for all instances that a user solves, so that an answer depends on the
        instance and the seed alone; a benchmark numbers its instances, or their errors would not average out.
    file : str, optional
        Where it was read from.
    notes : tuple of str
        What was decided in reading it, and should be said.
    """

    problem: Problem[Any]
    instance: Instance
    seconds: float = 0.0
    stream: int = 0
    file: str | None = None
    notes: tuple[str, ...] = ()

    def remarks(self) -> list[str]:
        """List warnings about the data and their reading, one line each."""
        return [*self.notes, *self.instance.remarks()]
