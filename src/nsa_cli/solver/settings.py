"""Settings of a solve, and the keyword arguments of the Python functions."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from os import PathLike
from typing import Any, Literal, TypedDict, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from nsa_cli.anneal.chains import Progress
from nsa_cli.anneal.schedule import KINDS, Kind
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.instance import Solution
from nsa_cli.core.options import (
    ANNEALING,
    SEARCH,
    STOPPING,
    Patience,
    Steps,
    Temperature,
    parse_chains,
    parse_count,
    parse_device,
    parse_flag,
    parse_gap,
    parse_patience,
    parse_seconds,
    parse_seed,
    parse_steps,
    parse_target,
    parse_temperature,
    parse_text,
    parse_unit,
    read_settings,
    setting,
)
from nsa_cli.core.record import Reading, ReadingOptions
from nsa_cli.core.words import nearest
from nsa_cli.problems import builtin_names, find_problem


class SettingOptions(TypedDict, total=False):
    """Fields of `Settings` as keyword arguments of Python, which take what the command line takes, too."""

    steps: int | float | str | Steps | None
    seed: int | None
    device: str
    method: Literal["auto", "anneal", "large-step"]
    backend: Literal["auto", "torch", "numba", "python"]
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
    prove: bool
    unit: float | None
    started: float


def policy_names() -> Sequence[str]:
    """Names of the shipped policies, and ``uniform``."""
    from nsa_cli.policy.checkpoint import available

    return ["uniform", *(policy for name in builtin_names() for policy in available(name))]


def start_names() -> Sequence[str]:
    """Names of the starts of all built-in problems."""
    return sorted({start for name in builtin_names() for start in find_problem(name).starts})


def _start(option: str, value: Any) -> str | Solution | None:
    return value if isinstance(value, np.ndarray) else parse_text(option, value)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to solve; every field has a default that fits the instance.

    Options may be given as on the command line (``steps="10N2"``, ``gap="1%"``); the fields hold their typed
    values. What is said here of a field is the help of its option.

    Attributes
    ----------
    steps : Steps, optional
        Make so many steps in each chain: 20000, 1e6, 10N, 10N2 (N: the size). They mean annealing by default.
    time_limit : float, optional
        Stop after this time: 10 (seconds), 500ms, 2m, 1h.
    target : float, optional
        Stop at this objective or a better one.
    gap : float, optional
        Stop at this gap to the bound: 1%, 0.01; 0 is proven optimal.
    no_improvement : Patience, optional
        Stop after 5000 or 10N steps, or 2s, without improvement.
    bound : bool
        Do without a bound: search only, without a proof or an exact method.
    prove : bool
        Go on until the answer is proved optimal or the time is over. Without it a proof has about a second.
    seed : int, optional
        The same seed gives the same answer. Without one, a seed is drawn and reported.
    device : str
        Compute there. On CUDA the reference implementation anneals; auto is a CPU.
    method : str
        anneal: a policy proposes moves. large-step: kicks, each repaired by local search, without a policy.
        auto: large-step where possible, unless a policy or steps are given.
    backend : str
        numba: compiled kernels, on a CPU. torch: the reference, on any device. python: functions of an own
        problem as they are.
    threads : int, optional
        Use so many CPU threads, by default one a core. They change no answer.
    chains : int, optional
        Run so many independent chains; the best one counts. auto: by size and time limit.
    init : str or ndarray, optional
        Begin from a named start (greedy, random, paper, …) or from the solution in a file.
    policy : str, optional
        Take moves from a shipped policy, a file, or uniform. Annealing takes the best one by default.
    neighbourhood : str, optional
        Moves and energy of annealing: paper; squares (of loads) for bins; nearest:K for tours. By default
        those that the policy was trained with.
    greedy : bool
        Take the policy's most probable move instead of sampling.
    t_start : float or 'auto', optional
        Begin at this temperature, in normalised units. auto: found by the first part of the run.
    t_end : float or 'auto', optional
        End at this temperature, in the same units.
    schedule : str
        Lower temperatures in this way.
    unit : float, optional
        What is 1 in normalised units, as a cost; from the data by default.
    started : float
        `time.monotonic` at which the user's clock started.

    Raises
    ------
    UsageError
        If a value cannot be, or two do not go together; names the option.
    """

    steps: Steps | None = setting(None, STOPPING, parse_steps, "STEPS")
    time_limit: float | None = setting(None, STOPPING, parse_seconds, "TIME")
    target: float | None = setting(None, STOPPING, parse_target, "COST")
    gap: float | None = setting(None, STOPPING, parse_gap, "SHARE")
    no_improvement: Patience | None = setting(None, STOPPING, parse_patience, "STEPS|TIME")
    bound: bool = setting(True, STOPPING, parse_flag)
    prove: bool = setting(False, STOPPING, parse_flag)
    seed: int | None = setting(None, SEARCH, parse_seed, "N")
    device: str = setting("auto", SEARCH, parse_device, words=("auto", "cpu", "cuda"))
    method: str = setting("auto", SEARCH, words=("auto", "anneal", "large-step"))
    backend: str = setting("auto", SEARCH, words=("auto", "torch", "numba", "python"))
    threads: int | None = setting(None, SEARCH, parse_count, "N")
    chains: int | None = setting(None, SEARCH, parse_chains, "N|auto")
    init: str | Solution | None = setting(None, SEARCH, _start, "NAME|FILE", words=start_names)
    policy: str | None = setting(None, ANNEALING, parse_text, "NAME|FILE|uniform", words=policy_names)
    neighbourhood: str | None = setting(
        None, ANNEALING, parse_text, "NAME", words=("paper", "squares", "nearest:10")
    )
    greedy: bool = setting(False, ANNEALING, parse_flag)
    t_start: Temperature | None = setting(None, ANNEALING, parse_temperature, "T|auto")
    t_end: Temperature | None = setting(None, ANNEALING, parse_temperature, "T|auto")
    schedule: Kind = setting("geometric", ANNEALING, words=KINDS)
    unit: float | None = setting(None, ANNEALING, parse_unit, "COST")
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        read_settings(self)
        if self.gap is not None and not self.bound:
            raise UsageError("is relative to the bound", option="gap", drop={"bound": False})
        if self.prove and not self.bound:
            raise UsageError("takes a bound", option="prove", drop={"bound": False})

    def clock(self, asked: Callable[[], bool] | None = None) -> Clock:
        """Give the clock of a run by these settings; `asked` tells whether somebody wants it to end."""
        return Clock.of(self.time_limit, self.started, asked)

    def without_large_steps(self, device: str, *, asked: bool) -> dict[str, Any]:
        """List the given options that large steps do not have; ``device`` with the one that they need."""
        options = ["policy", "neighbourhood", "unit"] + ([] if asked else ["steps", "t_start", "t_end"])
        found: dict[str, Any] = {name: None for name in options if getattr(self, name) is not None}
        found |= {"greedy": None} if self.greedy else {}
        found |= {"device": "cpu"} if device != "cpu" else {}
        return found | ({"backend": self.backend} if self.backend in ("torch", "python") else {})

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


FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class RunOptions(SettingOptions, total=False):
    """Keyword arguments of a solve: fields of `Settings`, and what to do meanwhile.

    Attributes
    ----------
    progress : bool
        Whether to show a bar, in a terminal on standard error or in a notebook.
    on_progress : callable, optional
        Called with a `Progress` about ten times a second.
    """

    progress: bool
    on_progress: Callable[[Progress], None] | None


class SolveOptions(RunOptions, ReadingOptions, total=False):
    """Keyword arguments of a solve of files or data: `RunOptions`, fields of `Reading`, and these.

    Attributes
    ----------
    data : mapping, optional
        Keys beside, or instead of, the instance's own: ``{"capacity": 5}``.
    """

    data: Mapping[str, Any] | None


def _defaults() -> dict[str, Any]:
    """Default of each keyword argument."""
    known = {f.name: f for cls in (Settings, Reading) for f in fields(cls)}
    others = {"progress": False, "on_progress": None, "data": None}
    return {name: None if f.default is MISSING else f.default for name, f in known.items()} | others


def with_options(options: type) -> Callable[[FunctionT], FunctionT]:
    """Name the keyword arguments of a function that takes them as ``**options``.

    Completion then knows them, and another one is refused with the nearest of them.

    Parameters
    ----------
    options : type
        Class of the typed dictionary that they are.
    """

    def decorate(function: FunctionT) -> FunctionT:
        signature, defaults = inspect.signature(function), _defaults()
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        keyword = inspect.Parameter.KEYWORD_ONLY
        added = []
        for name, annotation in options.__annotations__.items():
            written = getattr(annotation, "__forward_arg__", annotation)
            added.append(inspect.Parameter(name, keyword, default=defaults[name], annotation=written))
        names = {p.name for p in (*own, *added)}

        @functools.wraps(function)
        def call(*arguments: Any, **given: Any) -> Any:
            for word in given:
                if word not in names:
                    raise _unknown(word, function.__name__, names)
            return function(*arguments, **given)

        call.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        return cast(FunctionT, call)

    return decorate


def _unknown(word: str, function: str, names: set[str]) -> UsageError:
    near = nearest(word, sorted(names), 0.6)
    known = f"it has {', '.join(sorted(names))}" if near is None else f"the nearest is {near}"
    return UsageError(f"{function} has no argument {shown(word)}; {known}")
