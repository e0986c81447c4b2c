"""Training configurations; presets are YAML files in the problems' folders."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.io.yaml_text import read_yaml

ConfigT = TypeVar("ConfigT", bound="TrainConfig")


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
        Temperatures of a rollout, in normalised units; geometric. None takes them from a sample of the moves
        of random instances (`nsa_cli.anneal.auto`), the default for problems without presets.
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
    validation_steps : str
        A number, or in terms of the size: ``10N``.
    temperature_steps : int
        Steps between two temperatures that the finished policy sees, see `nsa_cli.anneal.hold`. Training
        shows each step's, so that the weights do not depend on it.
    """

    method: ClassVar[str]

    size: int = 50
    mixed_sizes: tuple[int, ...] = ()
    steps: int = 100
    t_start: float | None = 1.0
    t_end: float | None = 0.1
    epochs: int = 1000
    problems: int = 256
    neighbourhood: str = "paper"
    features: str = "paper"
    hidden: int = 16
    unit: float | None = 1.0
    validate_every: int = 25
    validation_problems: int = 128
    validation_size: int = 50
    validation_steps: str = "10N"
    temperature_steps: int = 1

    def __post_init__(self) -> None:
        for f in fields(self):
            if f.type == "int" and getattr(self, f.name) < 1:
                raise UsageError(f"{f.name}: expected at least 1, got {getattr(self, f.name)}")
        if min(self.mixed_sizes, default=1) < 1:
            raise UsageError(f"mixed_sizes: expected at least 1 each, got {list(self.mixed_sizes)}")
        for name in ("t_start", "t_end"):
            if (heat := getattr(self, name)) is not None and not heat > 0:
                raise UsageError(f"{name}: expected a temperature above 0, got {getattr(self, name)}")

    @property
    def judged(self) -> str:
        """Scale in which energies are judged, see `nsa_cli.train.estimators.shaped`."""
        return str(getattr(self, "fitness", getattr(self, "reward", "best")))

    def to_dict(self) -> dict[str, Any]:
        """Give all fields that training goes by, for checkpoints and logs."""
        numbers = asdict(self)
        del numbers["temperature_steps"]
        return {"method": self.method, **numbers}


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

    learning_rate: float = 2e-4
    critic_learning_rate: float = 2e-4
    weight_decay: float = 0.0
    discount: float = 0.9
    trace: float = 0.9
    clip: float = 0.25
    passes: int = 10
    minibatch: int = 1024
    entropy: float = 0.0
    gradient_norm: float = 1.0
    reward: Literal["gain", "log_gain", "log_best", "root_best"] = "gain"

    def __post_init__(self) -> None:
        super().__post_init__()
        known = ("gain", "log_gain", "log_best", "root_best")
        if self.reward not in known:
            raise UsageError(f"reward: expected one of {', '.join(known)}, got {self.reward!r}")


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

    population: int = 16
    sigma: float = 0.05
    learning_rate: float = 1e-2
    momentum: float = 0.9
    final_learning_rate: float = 0.1
    fitness: Literal["best", "log_best", "root_best"] = "best"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.population < 2 or self.population % 2:
            raise UsageError(f"population: expected an even number of at least 2, got {self.population}")
        if self.fitness not in ("best", "log_best", "root_best"):
            raise UsageError(f"fitness: expected best, log_best or root_best, got {self.fitness!r}")


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

#: Numbers that may be left open.
_OR_NONE = ("unit", "t_start", "t_end")

METHODS: dict[str, type[TrainConfig]] = {"ppo": PpoConfig, "es": EsConfig}


def choose_config(
    problem_package: str,
    method: str,
    preset: str,
    path: str | None,
    given: Mapping[str, Any],
    options: Collection[str] = (),
) -> TrainConfig:
    """Build a configuration: the problem's preset, then a file's fields, then `given` ones.

    A problem without presets, such as one in a file, starts from defaults of its own. `options` are names
    that the file may have beside fields.

    Raises
    ------
    UsageError, InputError
        If there is no such method, preset or field.
    """
    config = load_preset(problem_package, method, preset)
    if path is not None:
        config = load_config(path, config, options)
    return replace(config, **{key: value for key, value in given.items() if value is not None})


def load_preset(problem_package: str, method: str, preset: str) -> TrainConfig:
    """Read the preset ``<method>-<preset>.yaml`` in a problem's folder; without presets, the defaults.

    Raises
    ------
    UsageError
        If there is no such method or preset.
    """
    if method not in METHODS:
        raise UsageError(f"expected one of {', '.join(METHODS)}, got {shown(method)}", option="method")
    try:
        files = list((resources.files(problem_package) / "presets").iterdir())
    except (ModuleNotFoundError, TypeError, AttributeError, OSError):  # a module, or no such folder
        return METHODS[method](**_OWN)
    presets = {file.name.removesuffix(".yaml"): str(file) for file in files}
    if (name := f"{method}-{preset}") not in presets:
        raise UsageError(f"there is no {name}; there are {', '.join(sorted(presets))}", option="preset")
    return load_config(presets[name], METHODS[method]())


def load_config(path: str | Path, base: ConfigT, options: Collection[str] = ()) -> ConfigT:
    """Read a YAML file of fields over a base; keys in `options` are skipped.

    Raises
    ------
    InputError
        If it is no YAML, or names a field that there is not.
    """
    return replace(base, **_typed(read_yaml(str(path)), base, str(path), options))


def _typed(
    data: Mapping[Any, Any], base: TrainConfig, source: str, options: Collection[str]
) -> dict[str, Any]:
    """Check names and types of fields; YAML reads 1e-2 as text."""
    known = {f.name: getattr(base, f.name) for f in fields(base)}
    result: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            if str(key).replace("_", "-") in options:
                continue
            beside = f", and the options {', '.join(options)}" if options else ""
            raise InputError(f"there is no field {shown(key)}; there are {', '.join(known)}{beside}", source)
        like = known[key]
        if key in _OR_NONE and value is None:
            pass
        elif isinstance(like, float) or key in _OR_NONE:
            try:
                value = float(value)
            except (TypeError, ValueError):
                raise InputError(f"{key}: expected a number, got {shown(value)}", source) from None
        elif isinstance(like, tuple):
            if not isinstance(value, list) or not all(type(x) is int for x in value):
                raise InputError(f"{key}: expected a list of whole numbers, got {shown(value)}", source)
            value = tuple(value)
        elif type(value) is not type(like):
            raise InputError(f"{key}: expected {type(like).__name__}, got {shown(value)}", source)
        result[str(key)] = value
    return result
