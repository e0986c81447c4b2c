"""Training configurations; presets are YAML files in the problems' folders."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.core.options import (
    OPTIONS,
    Steps,
    parse_choice,
    parse_count,
    parse_device,
    parse_seed,
    parse_steps,
    parse_target,
    parse_text,
    read_settings,
    setting,
    settings_of,
)
from nsa_cli.io.yaml_text import read_yaml

ConfigT = TypeVar("ConfigT", bound="TrainConfig")

_SCALES = ("best", "log_best", "root_best")


def _given(read: Callable[[str, Any], Any], option: str, value: Any) -> Any:
    """Read a value that may not be left open."""
    if value is None:
        raise UsageError("expected a value, got none", option=option)
    return read(option, value)


def _above_zero(option: str, value: Any) -> float | None:
    """Read a number above 0, or None."""
    number = parse_target(option, value)
    if number is not None and not number > 0:
        raise UsageError(f"expected a number above 0, got {shown(value)}", option=option)
    return None if number is None else float(number)


def _float(option: str, value: Any) -> float:
    return float(parse_target(option, value) or 0.0)


def _sizes(option: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple):
        raise UsageError(f"expected a list of whole numbers, got {shown(value)}", option=option)
    return tuple(_count(option, size) for size in value)


def _even(option: str, value: Any) -> int:
    if (count := parse_count(option, value)) is None or count % 2:
        raise UsageError(f"expected an even number of at least 2, got {shown(value)}", option=option)
    return count


_count, _number, _name = partial(_given, parse_count), partial(_given, _float), partial(_given, parse_text)


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What the command line says of a training. What is None is as in the configuration, which checks it.

    Attributes
    ----------
    method : str
        Train by evolution strategies (es) or proximal policy optimisation (ppo).
    preset : str
        Take this preset: best, paper (the published recipe), or another one of the problem.
    size : int, optional
        Train on instances of this size.
    epochs : int, optional
        Update the policy so many times.
    features : str, optional
        Let the network see these features.
    neighbourhood : str, optional
        Train for this neighbourhood, the moves and energy of annealing.
    seed : int
        The same seed gives the same policy.
    device : str
        Compute on this device.
    out : str, optional
        Write the policy to this file.
    resume : bool
        Go on from the state that lies beside FILE.
    """

    method: str = setting("es", OPTIONS, words=("es", "ppo"))
    preset: str = setting("best", OPTIONS, parse_text, "NAME", words=("paper", "best"))
    size: int | None = setting(None, OPTIONS, parse_count, "N", short=("-n",))
    epochs: int | None = setting(None, OPTIONS, parse_count, "N")
    features: str | None = setting(None, OPTIONS, parse_text, "NAME")
    neighbourhood: str | None = setting(None, OPTIONS, parse_text, "NAME")
    seed: int = setting(0, OPTIONS, parse_seed, "N")
    device: str = setting("cpu", OPTIONS, parse_device, words=("auto", "cpu", "cuda"))
    out: str | None = setting(None, OPTIONS, parse_text, "FILE", short=("-o",))
    resume: bool = setting(False, OPTIONS)

    def __post_init__(self) -> None:
        read_settings(self)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Fields of both methods.

    Attributes
    ----------
    size : int
        N of the training instances.
    mixed_sizes : tuple of int
        Further N: epochs take `size` and these in turn, and there are as many more instances of each for
        validation. Where the distribution changes with the size, a policy that sees one size is at home at
        that one only.
    steps : int
        K of a rollout.
    t_start, t_end : float or None
        Temperatures of a rollout, in normalised units; geometric. None takes them from pilots of
        random instances (`nsa_cli.anneal.pilot`), the default for problems without presets.
    epochs : int
    problems : int
        Instances an epoch, drawn afresh.
    neighbourhood : str
        Name of one of the problem's.
    features : str
        Feature set of the policy, one of the neighbourhood's.
    hidden : int
        Units of the networks' one hidden layer.
    unit : float or None
        Unit of lengths, weights, … in the generated instances; None estimates it from each instance as
        `solve` does.
    validate_every : int
        Epochs between two looks at the validation instances; the policy that does best there is kept.
    validation_problems, validation_size : int
    validation_steps : Steps
        A number, or in terms of the size: ``10N``.
    temperature_steps : int
        Steps between two temperatures that the finished policy sees, see `nsa_cli.anneal.schedule`. Training
        shows each step's, so that the weights do not depend on it.
    """

    method: ClassVar[str]

    size: int = setting(50, read=_count)
    mixed_sizes: tuple[int, ...] = setting((), read=_sizes)
    steps: int = setting(100, read=_count)
    t_start: float | None = setting(1.0, read=_above_zero)
    t_end: float | None = setting(0.1, read=_above_zero)
    epochs: int = setting(1000, read=_count)
    problems: int = setting(256, read=_count)
    neighbourhood: str = setting("paper", read=_name)
    features: str = setting("paper", read=_name)
    hidden: int = setting(16, read=_count)
    unit: float | None = setting(1.0, read=_above_zero)
    validate_every: int = setting(25, read=_count)
    validation_problems: int = setting(128, read=_count)
    validation_size: int = setting(50, read=_count)
    validation_steps: Steps = setting(Steps(10, 1), read=partial(_given, parse_steps))
    temperature_steps: int = setting(1, read=_count)

    def __post_init__(self) -> None:
        read_settings(self)

    @property
    def judged(self) -> str:
        """Scale in which energies are judged, see `nsa_cli.train.estimators.shaped`."""
        return str(getattr(self, "fitness", getattr(self, "reward", "best")))

    def to_dict(self) -> dict[str, Any]:
        """Give all fields that training goes by, for checkpoints and logs."""
        numbers = asdict(self)
        del numbers["temperature_steps"]
        return {"method": self.method, **numbers, "validation_steps": self.validation_steps.plain()}


@dataclass(frozen=True, kw_only=True)
class PpoConfig(TrainConfig):
    """Proximal policy optimisation (Schulman et al. 2017; Appendix A of the paper).

    Attributes
    ----------
    learning_rate, critic_learning_rate : float
        Of Adam.
    weight_decay : float
        0.01 in the paper; it pulls a policy towards uniform.
    discount : float
        gamma.
    trace : float
        lambda of the generalised advantage estimator.
    clip : float
        epsilon of the clipped objective.
    passes : int
        Times that an epoch's transitions are used.
    minibatch : int
        Transitions a gradient step.
    entropy : float
        Weight of the entropy bonus.
    gradient_norm : float
        Gradients are scaled down to this norm.
    reward : {'gain', 'log_gain', 'log_best', 'root_best'}
        Fall of the energy, of its logarithm, or of the logarithm or fourth root of
        the lowest energy so far.
    """

    method: ClassVar[str] = "ppo"

    learning_rate: float = setting(2e-4, read=_number)
    critic_learning_rate: float = setting(2e-4, read=_number)
    weight_decay: float = setting(0.0, read=_number)
    discount: float = setting(0.9, read=_number)
    trace: float = setting(0.9, read=_number)
    clip: float = setting(0.25, read=_number)
    passes: int = setting(10, read=_count)
    minibatch: int = setting(1024, read=_count)
    entropy: float = setting(0.0, read=_number)
    gradient_norm: float = setting(1.0, read=_number)
    reward: str = setting("gain", read=partial(parse_choice, choices=("gain", "log_gain", *_SCALES[1:])))


@dataclass(frozen=True, kw_only=True)
class EsConfig(TrainConfig):
    """Evolution strategies (Salimans et al. 2017; Appendix A of the paper).

    Attributes
    ----------
    population : int
        Perturbed policies an epoch, in antithetic pairs.
    sigma : float
        Standard deviation of the perturbations.
    learning_rate : float
        Of gradient ascent; 1e-3 in the paper. The gradient is that of ranks in [-1/2, 1/2], divided by
        sigma: its norm is about 20 for the paper's networks and this population.
    momentum : float
    final_learning_rate : float
        Factor on the learning rate in the last tenth of the epochs.
    fitness : {'best', 'log_best', 'root_best'}
        Mean over the instances of the lowest energy of a rollout, of its logarithm, or of its fourth root:
        the raw mean of energies over many magnitudes hears the worst instances only, that of logarithms not
        at all.
    """

    method: ClassVar[str] = "es"

    population: int = setting(16, read=_even)
    sigma: float = setting(0.05, read=_number)
    learning_rate: float = setting(1e-2, read=_number)
    momentum: float = setting(0.9, read=_number)
    final_learning_rate: float = setting(0.1, read=_number)
    fitness: str = setting("best", read=partial(parse_choice, choices=_SCALES))


#: Fields of problems without presets: small rollouts, in units of each instance's own moves.
_OWN: dict[str, Any] = {
    "unit": None,
    "t_start": None,
    "t_end": None,
    "size": 20,
    "validation_size": 20,
    "steps": 200,
    "epochs": 300,
    "problems": 64,
    "validation_problems": 64,
    "validate_every": 10,
}

METHODS: dict[str, type[TrainConfig]] = {"ppo": PpoConfig, "es": EsConfig}


def choose_config(
    problem_package: str, options: TrainOptions, path: str | None, names: Collection[str] = ()
) -> TrainConfig:
    """Build a configuration: the problem's preset, then a file's fields, then those among the options.

    A problem without presets, such as one in a file, starts from defaults of its own. `names` are those that
    the file may have beside fields.

    Raises
    ------
    UsageError, InputError
        If there is no such preset or field.
    """
    config = load_preset(problem_package, options.method, options.preset)
    if path is not None:
        config = load_config(path, config, names)
    fields = settings_of(type(config)).keys() & vars(options).keys()
    given = {name: getattr(options, name) for name in fields}
    return replace(config, **{name: value for name, value in given.items() if value is not None})


def load_preset(problem_package: str, method: str, preset: str) -> TrainConfig:
    """Read the preset ``<method>-<preset>.yaml`` in a problem's folder; without presets, the defaults.

    Raises
    ------
    UsageError
        If there is no such preset.
    """
    try:
        files = list((resources.files(problem_package) / "presets").iterdir())
    except (ModuleNotFoundError, TypeError, AttributeError, OSError):  # a module, or no such folder
        return METHODS[method](**_OWN)
    presets = {file.name.removesuffix(".yaml"): str(file) for file in files}
    if (name := f"{method}-{preset}") not in presets:
        raise UsageError(f"there is no {name}; there are {', '.join(sorted(presets))}", option="preset")
    return load_config(presets[name], METHODS[method]())


def load_config(path: str | Path, base: ConfigT, names: Collection[str] = ()) -> ConfigT:
    """Read a YAML file of fields over a base; keys in `names` are skipped.

    Raises
    ------
    InputError
        If it is no YAML, names a field that there is not, or has a value that cannot be.
    """
    known, given = settings_of(type(base)), {}
    for key, value in read_yaml(str(path)).items():
        if key in known:
            given[key] = value
        elif str(key).replace("_", "-") not in names:
            beside = f", and the options {', '.join(names)}" if names else ""
            why = f"there is no field {shown(key)}; there are {', '.join(known)}{beside}"
            raise InputError(why, str(path))
    try:
        return replace(base, **given)
    except UsageError as error:
        raise InputError(f"{error.option}: {error.message}", str(path)) from None
