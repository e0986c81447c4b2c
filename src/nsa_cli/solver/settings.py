"""Settings of a solve: options as typed values, checked when they are made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from os import PathLike
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from nsa_cli.anneal.schedule import KINDS, Kind
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.instance import Solution
from nsa_cli.core.options import (
    Patience,
    Steps,
    Temperature,
    parse_chains,
    parse_choice,
    parse_count,
    parse_device,
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
from nsa_cli.kernels.acceptance import RULES

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
    acceptance: str
    init: str | ArrayLike | None
    time_limit: float | str | None
    target: float | None
    gap: float | str | None
    no_improvement: int | str | Patience | None
    bound: bool
    unit: float | None
    started: float


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to solve; every field has a default that fits the instance.

    Options may be given as on the command line (``steps="10N2"``, ``gap="1%"``); the fields hold their typed
    values.

    Attributes
    ----------
    steps : Steps, optional
        Of each chain: a number, or in terms of the size: ``10N2``.
    seed : int, optional
        0 <= seed < 2**63; drawn if not given, and reported either way.
    device : str
        ``auto``, ``cpu``, ``cuda`` or ``cuda:1``. On CUDA it is annealing by the reference implementation.
        ``auto`` is the CPU; with ``backend="torch"`` it is CUDA where there is a device.
    method : {'auto', 'anneal', 'large-step'}
        ``large-step``: each step is a kick with its repair by local search (iterated local search), where a
        problem has them. ``auto`` takes large steps unless something is asked for that only annealing move by
        move has, such as a policy or a number of steps.
    backend : {'auto', 'torch', 'numba'}
        ``auto`` takes compiled kernels on a CPU wherever there are some for the problem and the policy.
    threads : int, optional
        CPU threads; they change no answer. All cores by default.
    chains : int, optional
        Independent chains an instance; the best answer counts. By default, or ``auto``, as many as do best at
        this size and in this time.
    policy : str, optional
        ``uniform``, the name of a shipped policy, or a file; the problem's best one by default.
    neighbourhood : str, optional
        Move set with its energy: ``paper``, ``squares`` (bins), ``nearest:K`` (tours); by default the
        policy's, or the best one.
    greedy : bool
        Always take the policy's likeliest action.
    t_start, t_end : float or 'auto', optional
        First and last temperature in normalised units (TSP: the side of the square around the cities is 1;
        knapsack: the largest value is 1; bins: one bin is 1); ``auto`` estimates it from a sample of moves.
    schedule : {'geometric', 'linear', 'constant', 'adaptive'}
        ``adaptive`` goes slowly where energy falls, as a pilot of a tenth of the run tells.
    acceptance : str
        Acceptance rule, one of `nsa_cli.kernels.acceptance`.
    init : str or ndarray, optional
        Name of one of the problem's starts, or a solution.
    time_limit : float, optional
        Seconds, from `started`.
    target : float, optional
        Stop at this objective, or a better one.
    gap : float, optional
        Stop at this relative gap to the bound: ``0.01`` or ``"1%"``; 0 is proven optimal.
    no_improvement : Patience, optional
        Stop after this many steps (``5000``, ``"10N"``) or seconds (``"2s"``) without improvement.
    bound : bool
        Whether to bound the optimum, and to stop where the bound is reached.
    unit : float, optional
        What is 1 in normalised units, in file units; estimated from the data by default.
    started : float
        `time.monotonic` at which the user's clock started.

    Raises
    ------
    UsageError
        If a value cannot be, or two do not go together; names the option.
    """

    steps: Steps | None = None
    seed: int | None = None
    device: str = "auto"
    method: str = "auto"
    backend: str = "auto"
    threads: int | None = None
    chains: int | None = None
    policy: str | None = None
    neighbourhood: str | None = None
    greedy: bool = False
    t_start: Temperature | None = None
    t_end: Temperature | None = None
    schedule: Kind = "geometric"
    acceptance: str = "metropolis"
    init: str | Solution | None = None
    time_limit: float | None = None
    target: float | None = None
    gap: float | None = None
    no_improvement: Patience | None = None
    bound: bool = True
    unit: float | None = None
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        for name, parse in _PARSERS.items():
            object.__setattr__(self, name, parse(name, getattr(self, name)))
        for name in ("greedy", "bound"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise UsageError(f"expected True or False, got {shown(getattr(self, name))}", option=name)
        if self.gap is not None and not self.bound:
            raise UsageError("is relative to the bound", option="gap", drop={"bound": False})

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


def _start(option: str, value: Any) -> str | Solution | None:
    return value if isinstance(value, np.ndarray) else parse_text(option, value)


_PARSERS: dict[str, Callable[[str, Any], Any]] = {
    "steps": parse_steps,
    "seed": lambda option, value: None if value is None else parse_seed(option, value),
    "device": parse_device,
    "method": partial(parse_choice, choices=METHODS),
    "backend": partial(parse_choice, choices=BACKENDS),
    "threads": parse_count,
    "chains": parse_chains,
    "policy": parse_text,
    "neighbourhood": parse_text,
    "t_start": parse_temperature,
    "t_end": parse_temperature,
    "schedule": partial(parse_choice, choices=KINDS),
    "acceptance": partial(parse_choice, choices=tuple(RULES)),
    "init": _start,
    "time_limit": parse_seconds,
    "target": parse_target,
    "gap": parse_gap,
    "no_improvement": parse_patience,
    "unit": partial(parse_number, minimum=0.0),
}
