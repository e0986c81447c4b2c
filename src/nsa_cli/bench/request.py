"""What a benchmark is asked for, as typed settings, see `nsa_cli.core.setting`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from nsa_cli.core.errors import UsageError
from nsa_cli.core.options import (
    parse_budgets,
    parse_count,
    parse_device,
    parse_limit,
    parse_numbers,
    parse_words,
)
from nsa_cli.core.setting import SEARCH, read_settings, setting


def _option(default: Any, metavar: str | None, read: Any, text: str, **known: Any) -> Any:
    return setting(default, "Options", text, metavar=metavar, read=read, **known)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Request for a benchmark; what each field means stands beside it, as the help of its option.

    Raises
    ------
    UsageError
        If a value cannot be, or two do not go together; names the option.
    """

    #: A problem, or files and folders.
    what: tuple[str, ...] = ()
    sizes: tuple[int, ...] | None = _option(None, "SIZES", parse_numbers, "Sizes of instances: 50,100.")
    budget: tuple[float, ...] | None = _option(
        None, "TIMES", parse_budgets, "Measure by time instead of steps: 5ms,20ms,1s an instance."
    )
    steps: tuple[int, ...] = _option(
        "10", "FACTORS", parse_numbers, "Multiples of N (of N^2 for tours): 1,2,5,10. Greedy rows need 1."
    )
    seeds: tuple[int, ...] = _option(
        "1", "SEEDS", partial(parse_numbers, minimum=0), "Runs of each instance: 1..5, or 1,2,3."
    )
    count: int = _option(100, "N", parse_count, "Instances of each size, at most.", kind=int)
    policies: tuple[str, ...] | None = _option(
        None, "NAMES", parse_words, "Names or files, or none. Default: all shipped ones."
    )
    neighbourhood: str | None = _option(
        None, "NAME", None, "Uniform proposals in this one, too: nearest:10 for tours."
    )
    against: tuple[str, ...] | None = _option(
        None, "NAMES", parse_words, "Peers, other projects' solvers, by name; or all."
    )
    time_limit: float = _option("1", "TIME", parse_limit, "Time of a peer for each instance: 10, 500ms, 2m.")
    references: str | None = _option(
        None, "DIR", None, "Folder of reference objectives; for files, a list NAME : OBJECTIVE."
    )
    device: str = setting(
        "auto", SEARCH, "Where to anneal by steps.", words=("auto", "cpu", "cuda"), read=parse_device
    )
    out: str | None = _option(None, "DIR", None, "Where runs.csv, summary.json and curves.png go.")
    again: bool = _option(False, None, None, "Measure anew what an earlier run has left in DIR.")
    #: Of each solver by steps; one for each core if not given.
    threads: int | None = None

    def __post_init__(self) -> None:
        read_settings(self)
        if self.again and self.out is None:
            raise UsageError("nothing is kept without a folder", option="again", use={"out": "DIR"})
        if self.budget and self.device not in ("auto", "cpu"):
            why = f"by seconds all solvers take turns on a CPU, got {self.device}"
            raise UsageError(why, option="device", use={"device": "cpu"})
