"""Settings of a solve: options as typed values, checked when they are made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from os import PathLike
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from nsa_cli.anneal.schedule import KINDS, Kind
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Solution
from nsa_cli.core.options import (
    Patience,
    Steps,
    Temperature,
    parse_chains,
    parse_choice,
    parse_count,
    parse_device,
    parse_flag,
    parse_gap,
    parse_number,
    parse_patience,
    parse_seconds,
    parse_seed,
    parse_steps,
    parse_target,
    parse_temperature,
    parse_text,
)
from nsa_cli.core.setting import ANNEALING, SEARCH, STOPPING, read_settings, setting
from nsa_cli.problems import builtin_names, find_problem

METHODS = ("auto", "anneal", "large-step")
BACKENDS = ("auto", "torch", "numba")


class SettingOptions(TypedDict, total=False):
    """Fields of `Settings` as keyword arguments of Python, which take what the command line takes, too."""

    steps: int | float | str | Steps | None
    seed: int | None
    device: str
    method: Literal["auto", "anneal", "large-step"]
    backend: Literal["auto", "torch", "numba"]
    threads: int | None
    chains: int | Literal["auto"] | None
    policy: str | PathLike[str] | None
    neighbourhood: str | None
    greedy: bool
    t_start: float | Literal["auto"] | None
    t_end: float | Literal["auto"] | None
    schedule: Kind
    init: str | ArrayLike | None
    time_limit: float | str | None
    target: float | None
    gap: float | str | None
    no_improvement: int | str | Patience | None
    bound: bool
    unit: float | None
    started: float


def policy_names() -> Sequence[str]:
    """Names of the shipped policies, and ``uniform``."""
    from nsa_cli.policy.checkpoint import available

    return ["uniform", *(policy for name in builtin_names() for policy in available(name))]


def start_names() -> Sequence[str]:
    """Names of the starts of all built-in problems."""
    return sorted({start for name in builtin_names() for start in find_problem(name).starts})


def _seed(option: str, value: Any) -> int | None:
    return None if value is None else parse_seed(option, value)


def _start(option: str, value: Any) -> str | Solution | None:
    return value if isinstance(value, np.ndarray) else parse_text(option, value)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to solve; every field has a default that fits the instance.

    Options may be given as on the command line (``steps="10N2"``, ``gap="1%"``); the fields hold their typed
    values. What each means stands beside it, as the help of its option.

    Raises
    ------
    UsageError
        If a value cannot be, or two do not go together; names the option.
    """

    steps: Steps | None = setting(
        None,
        STOPPING,
        "Steps of each chain: 20000, 1e6, 10N, 10N2 (N: the size). By default they are for annealing.",
        metavar="STEPS",
        read=parse_steps,
    )
    time_limit: float | None = setting(
        None,
        STOPPING,
        "Stop after this wall-clock time: 10 (seconds), 500ms, 2m, 1h.",
        metavar="TIME",
        read=parse_seconds,
    )
    target: float | None = setting(
        None, STOPPING, "Stop at this objective or a better one.", metavar="COST", read=parse_target
    )
    gap: float | None = setting(
        None,
        STOPPING,
        "Stop at this relative gap to the bound: 1%, 0.01; 0 is optimal.",
        metavar="SHARE",
        read=parse_gap,
    )
    no_improvement: Patience | None = setting(
        None,
        STOPPING,
        "Stop after 5000 or 10N steps, or 2s, without improvement.",
        metavar="STEPS|TIME",
        read=parse_patience,
    )
    bound: bool = setting(
        True, STOPPING, "Search only: no bound, no proof of optimality, no exact method.", read=parse_flag
    )
    seed: int | None = setting(
        None,
        SEARCH,
        "Same seed, same answer; drawn and reported if not given.",
        metavar="N",
        read=_seed,
        kind=int,
    )
    device: str = setting(
        "auto",
        SEARCH,
        "Where to compute; on CUDA the reference implementation anneals. Default: auto, a CPU.",
        words=("auto", "cpu", "cuda"),
        read=parse_device,
    )
    method: str = setting(
        "auto",
        SEARCH,
        "anneal: a policy proposes moves; large-step: kicks, each repaired by local search, no policy; "
        "auto: large-step where possible, unless a policy or steps are given.",
        words=METHODS,
        read=partial(parse_choice, choices=METHODS),
    )
    backend: str = setting(
        "auto",
        SEARCH,
        "numba: compiled kernels, on a CPU; torch: the reference, on any device.",
        words=BACKENDS,
        read=partial(parse_choice, choices=BACKENDS),
    )
    threads: int | None = setting(
        None,
        SEARCH,
        "CPU threads; they change no answer. Default: all cores.",
        metavar="N",
        read=parse_count,
        kind=int,
    )
    chains: int | None = setting(
        None,
        SEARCH,
        "Independent chains, the best of which counts; auto: by size and time limit.",
        metavar="N|auto",
        read=parse_chains,
    )
    init: str | Solution | None = setting(
        None,
        SEARCH,
        "Initial solution: a named start (greedy, random, paper, …) or a file.",
        metavar="NAME|FILE",
        words=start_names,
        read=_start,
    )
    policy: str | None = setting(
        None,
        ANNEALING,
        "Where moves come from: a shipped policy, a file, uniform. Default: for annealing the best one.",
        metavar="NAME|FILE|uniform",
        words=policy_names,
        read=parse_text,
    )
    neighbourhood: str | None = setting(
        None,
        ANNEALING,
        "Moves and energy of annealing: paper; squares (of loads) for bins; nearest:K for tours. "
        "Default: those the policy was trained with.",
        metavar="NAME",
        words=("paper", "squares", "nearest:10"),
        read=parse_text,
    )
    greedy: bool = setting(
        False, ANNEALING, "Take the policy's most probable move, do not sample.", read=parse_flag
    )
    t_start: Temperature | None = setting(
        None,
        ANNEALING,
        "First temperature, in normalised units; auto: estimated from a sample of moves.",
        metavar="T|auto",
        read=parse_temperature,
    )
    t_end: Temperature | None = setting(
        None, ANNEALING, "Last temperature, in the same units.", metavar="T|auto", read=parse_temperature
    )
    schedule: Kind = setting(
        "geometric",
        ANNEALING,
        "How temperatures fall.",
        words=KINDS,
        read=partial(parse_choice, choices=KINDS),
    )
    #: What is 1 in normalised units, in file units; estimated from the data by default.
    unit: float | None = setting(None, read=partial(parse_number, minimum=0.0))
    #: `time.monotonic` at which the user's clock started.
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        read_settings(self)
        if self.gap is not None and not self.bound:
            raise UsageError("is relative to the bound", option="gap", drop={"bound": False})

    def clock(self, asked: Callable[[], bool] | None = None) -> Clock:
        """Give the clock of a run by these settings; `asked` tells whether somebody wants it to end."""
        return Clock.of(self.time_limit, self.started, asked)

    def given(self) -> dict[str, Any]:
        """Give the fields that are not at their defaults, except seed and clock, ready for JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("seed", "started")}
        defaults = {f.name: f.default for f in fields(self)}
        return {
            name: _plain(value)
            for name, value in values.items()
            if isinstance(value, np.ndarray) or value != defaults[name]
        }


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return "given"
    return value.plain() if isinstance(value, Steps | Patience) else value
