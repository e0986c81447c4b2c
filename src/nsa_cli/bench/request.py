"""What a benchmark is asked for, as typed settings, see `nsa_cli.core.options`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from nsa_cli.core.errors import UsageError
from nsa_cli.core.options import (
    OPTIONS,
    SEARCH,
    parse_budgets,
    parse_count,
    parse_device,
    parse_limit,
    parse_numbers,
    parse_text,
    parse_words,
    read_settings,
    setting,
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Request for a benchmark. What is said here of a field is the help of its option.

    Attributes
    ----------
    what : tuple of str
        A problem, or files and folders.
    sizes : tuple of int, optional
        Sizes of instances: 50,100.
    budget : tuple of float, optional
        Measure by time instead of steps: 5ms,20ms,1s an instance.
    steps : tuple of int
        Multiples of N (of N^2 for tours): 1,2,5,10. Greedy rows need 1.
    seeds : tuple of int
        Runs of each instance: 1..5, or 1,2,3.
    count : int
        Instances of each size, at most.
    policies : tuple of str, optional
        Names or files, or none. Default: all shipped ones.
    neighbourhood : str, optional
        Uniform proposals in this one, too: nearest:10 for tours.
    against : tuple of str, optional
        Peers, other projects' solvers, by name; or all.
    time_limit : float
        Time of a peer for each instance: 10, 500ms, 2m.
    references : str, optional
        Folder of reference objectives; for files, a list NAME : OBJECTIVE.
    device : str
        Where to anneal by steps.
    out : str, optional
        Where runs.csv and summary.json go.
    again : bool
        Measure anew what an earlier run has left in DIR.
    threads : int, optional
        Of each solver by steps; one for each core if not given.

    Raises
    ------
    UsageError
        If a value cannot be, or two do not go together; names the option.
    """

    what: tuple[str, ...] = ()
    sizes: tuple[int, ...] | None = setting(None, OPTIONS, parse_numbers, "SIZES")
    budget: tuple[float, ...] | None = setting(None, OPTIONS, parse_budgets, "TIMES")
    steps: tuple[int, ...] = setting("10", OPTIONS, parse_numbers, "FACTORS")
    seeds: tuple[int, ...] = setting("1", OPTIONS, partial(parse_numbers, minimum=0), "SEEDS")
    count: int = setting(100, OPTIONS, parse_count, "N")
    policies: tuple[str, ...] | None = setting(None, OPTIONS, parse_words, "NAMES")
    neighbourhood: str | None = setting(None, OPTIONS, parse_text, "NAME")
    against: tuple[str, ...] | None = setting(None, OPTIONS, parse_words, "NAMES")
    time_limit: float = setting("1", OPTIONS, parse_limit, "TIME")
    references: str | None = setting(None, OPTIONS, parse_text, "DIR")
    device: str = setting("auto", SEARCH, parse_device, words=("auto", "cpu", "cuda"))
    out: str | None = setting(None, OPTIONS, parse_text, "DIR")
    again: bool = setting(False, OPTIONS)
    threads: int | None = None

    def __post_init__(self) -> None:
        read_settings(self)
        if self.again and self.out is None:
            raise UsageError("nothing is kept without a folder", option="again", use={"out": "DIR"})
        if self.budget and self.device not in ("auto", "cpu"):
            why = f"by seconds all solvers take turns on a CPU, got {self.device}"
            raise UsageError(why, option="device", use={"device": "cpu"})
