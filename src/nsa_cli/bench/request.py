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
        Measure instances of these sizes: 50,100.
    budget : tuple of float, optional
        Give each instance these times instead of steps: 5ms,20ms,1s.
    steps : tuple of int
        Make so many times N steps (N^2 for tours): 1,2,5,10. Greedy rows need 1.
    seeds : tuple of int
        Run each instance with these seeds: 1..5, or 1,2,3.
    count : int
        Measure at most so many instances of each size.
    policies : tuple of str, optional
        Measure these policies, by name or file; none: no policies. By default all shipped ones.
    neighbourhood : str, optional
        Measure uniform proposals of this neighbourhood, too: nearest:10 for tours.
    against : tuple of str, optional
        Measure these solvers of other projects, too; all: those that are installed.
    time_limit : float
        Give a solver of another project so long for each instance: 10, 500ms, 2m.
    references : str, optional
        Take gaps to the objectives in this folder; for files, in a list NAME : OBJECTIVE.
    device : str
        Anneal by steps on this device.
    out : str, optional
        Write runs.csv and summary.json into this folder.
    again : bool
        Measure again what an earlier run has left in DIR.
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
