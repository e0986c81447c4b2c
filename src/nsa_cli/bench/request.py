"""What a benchmark is asked for, as typed settings, see `nsa_cli.core.setting`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

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

_option = partial(setting, group="Options")


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
    sizes: tuple[int, ...] | None = _option(
        None, text="Sizes of instances: 50,100.", metavar="SIZES", read=parse_numbers
    )
    budget: tuple[float, ...] | None = _option(
        None,
        text="Measure by time instead of steps: 5ms,20ms,1s an instance.",
        metavar="TIMES",
        read=parse_budgets,
    )
    steps: tuple[int, ...] = _option(
        "10",
        text="Multiples of N (of N^2 for tours): 1,2,5,10. Greedy rows need 1.",
        metavar="FACTORS",
        read=parse_numbers,
    )
    seeds: tuple[int, ...] = _option(
        "1",
        text="Runs of each instance: 1..5, or 1,2,3.",
        metavar="SEEDS",
        read=partial(parse_numbers, minimum=0),
    )
    count: int = _option(
        100, text="Instances of each size, at most.", metavar="N", read=parse_count, kind=int
    )
    policies: tuple[str, ...] | None = _option(
        None, text="Names or files, or none. Default: all shipped ones.", metavar="NAMES", read=parse_words
    )
    neighbourhood: str | None = _option(
        None, text="Uniform proposals in this one, too: nearest:10 for tours.", metavar="NAME"
    )
    against: tuple[str, ...] | None = _option(
        None, text="Peers, other projects' solvers, by name; or all.", metavar="NAMES", read=parse_words
    )
    time_limit: float = _option(
        "1", text="Time of a peer for each instance: 10, 500ms, 2m.", metavar="TIME", read=parse_limit
    )
    references: str | None = _option(
        None, text="Folder of reference objectives; for files, a list NAME : OBJECTIVE.", metavar="DIR"
    )
    device: str = setting(
        "auto", SEARCH, "Where to anneal by steps.", words=("auto", "cpu", "cuda"), read=parse_device
    )
    out: str | None = _option(None, text="Where runs.csv, summary.json and curves.png go.", metavar="DIR")
    again: bool = _option(False, text="Measure anew what an earlier run has left in DIR.")
    #: Of each solver by steps; one for each core if not given.
    threads: int | None = None

    def __post_init__(self) -> None:
        read_settings(self)
        if self.again and self.out is None:
            raise UsageError("nothing is kept without a folder", option="again", use={"out": "DIR"})
        if self.budget and self.device not in ("auto", "cpu"):
            why = f"by seconds all solvers take turns on a CPU, got {self.device}"
            raise UsageError(why, option="device", use={"device": "cpu"})
