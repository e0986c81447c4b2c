"""Policy files: readable JSON; loading one runs no code, as a pickle would."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.core.neighbourhood import Neighbourhood, Trained
from nsa_cli.core.problem import Problem
from nsa_cli.io.atomic import write_text
from nsa_cli.io.source import read_bytes

if TYPE_CHECKING:
    from nsa_cli.policy.gaussian import GaussianPolicy
    from nsa_cli.policy.slots import SlotPolicy

#: Format and version of policy files.
FORMAT = "nsa-policy-1"

#: A policy file is some kilobytes; nothing larger is read.
_LARGEST = 8_000_000

#: Most steps between two temperatures that a policy sees.
_LONGEST = 1_000_000

_UNIFORM = "uniform"


def directories() -> list[Path]:
    """List the folders of shipped policies: in the installed package, or beside the source."""
    package = Path(__file__).resolve().parents[1]
    return [package / "checkpoints", package.parents[1] / "checkpoints"]


def available(problem: str) -> list[str]:
    """List the shipped policies of a problem."""
    found = {p.stem for d in directories() if d.is_dir() for p in d.glob(f"{problem}-*.json")}
    return sorted(found)


def digest(spec: str, problem: str) -> str | None:
    """Hash a policy's file (SHA-256, hexadecimal); None for uniform proposals."""
    return None if spec == _UNIFORM else hashlib.sha256(_bytes(_locate(spec, problem))).hexdigest()


def problem_of(spec: str) -> str:
    """Read the problem of a shipped policy, or of one in a file.

    Raises
    ------
    UsageError
        If there is none of that name, or it is ``uniform``, which is for all.
    InputError
        If the file is no policy.
    """
    if spec == _UNIFORM:
        raise UsageError("uniform proposals are not learnt; give a policy's name or file")
    path = _locate(spec, "*")
    name = _read(path).get("problem")
    if not isinstance(name, str):
        raise InputError(f"is no policy file: expected the name of a problem, got {shown(name)}", str(path))
    return name


def _locate(spec: str, problem: str) -> Path:
    for directory in directories():
        if os.path.isfile(path := directory / f"{spec}.json") and "/" not in spec:
            return path
    if os.path.exists(spec):
        return Path(spec)
    known = ", ".join([_UNIFORM, *available(problem)])
    purpose = "" if problem == "*" else f" for {problem}"
    raise UsageError(
        f"there is no policy {shown(spec)}{purpose}; there are {known}, or give a file", option="policy"
    )


def save(
    path: str | Path,
    policy: SlotPolicy | GaussianPolicy,
    problem: str,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a policy.

    Parameters
    ----------
    path : str or Path
    policy : SlotPolicy or GaussianPolicy
    problem : str
    notes : mapping, optional
        Anything else worth keeping: training configuration, seed, scores.
    """
    data: dict[str, Any] = {"format": FORMAT, "problem": problem, "name": policy.name}
    if policy.feature_set == "gaussian":
        data |= {"kind": "gaussian"}
    else:
        data |= {"kind": "slots", "feature_set": policy.feature_set}
    data |= {"hidden": policy.hidden, "temperature_steps": policy.temperature_steps, **(notes or {})}
    # As texts, float32 numbers have the fewest digits that read back the same.
    texts = {key: value.cpu().numpy().astype(str) for key, value in policy.state_dict().items()}
    data["weights"] = {key: text.astype(np.float64).tolist() for key, text in texts.items()}
    write_text(path, _layout(data))


def _layout(data: Mapping[str, Any]) -> str:
    """Lay out one line a key and one line a row of weights: readable, and small in a diff."""
    head = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in data.items() if k != "weights"]
    arrays = []
    for key, value in data["weights"].items():
        rows = value if isinstance(value[0], list) else [value]
        body = ",\n      ".join(json.dumps(row) for row in rows)
        text = body if rows[0] is value else f"[\n      {body}\n    ]"
        arrays.append(f"    {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join([*head, '  "weights": {\n' + ",\n".join(arrays) + "\n  }"]) + "\n}\n"


@dataclass(frozen=True, eq=False)
class Stored:
    """A policy file, parsed; its weights are checked by `arrays`.

    Attributes
    ----------
    name : str
    feature_set : str
        ``gaussian`` for a policy of that kind.
    hidden : int
    trained : Trained or None
    neighbourhood : str
        Name of the one that it was trained on.
    source : str
        The file, for messages.
    weights : object
        As read.
    temperature_steps : int
        Steps between two temperatures that it sees, see `nsa_cli.anneal.schedule`; 1 by default.
    """

    name: str
    feature_set: str
    hidden: int
    trained: Trained | None
    neighbourhood: str
    source: str
    weights: Any
    temperature_steps: int = 1

    def shapes(self, features: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """Compute the shapes of all weights, for networks of so many features: one a slot, or one."""
        if self.feature_set == "gaussian":
            bias = self.weights.get("second.bias") if isinstance(self.weights, dict) else None
            axes = len(bias) if isinstance(bias, list) else 2
            first = {"first.weight": (self.hidden, features[0]), "first.bias": (self.hidden,)}
            return {**first, "second.weight": (axes, self.hidden), "second.bias": (axes,)}
        shapes: dict[str, tuple[int, ...]] = {}
        for slot, count in enumerate(features):
            if count:
                shapes[f"networks.{slot}.first.weight"] = (self.hidden, count)
                shapes[f"networks.{slot}.first.bias"] = (self.hidden,)
                shapes[f"networks.{slot}.second.weight"] = (1, self.hidden)
        return shapes

    def arrays(self, features: Sequence[int]) -> dict[str, NDArray[np.float32]]:
        """Check the weights and give them as arrays.

        Parameters
        ----------
        features : sequence of int
            Of each network, as the feature set has it.

        Raises
        ------
        InputError
            If they are not all there, of their shapes and finite.
        """
        expected = self.shapes(features)
        if not isinstance(self.weights, dict) or set(self.weights) != set(expected):
            raise InputError(f"damaged policy: expected the weights {', '.join(expected)}", self.source)
        arrays = {}
        for key, shape in expected.items():
            numbers = _numbers(self.weights[key], shape)
            if numbers is None:
                raise InputError(f"damaged policy: {key} is not {list(shape)} finite numbers", self.source)
            arrays[key] = numbers.astype(np.float32)
        return arrays


def find_stored(spec: str, problem: str, *, greedy: bool = False) -> Stored | None:
    """Read a policy by its shipped name or file; None for ``uniform``.

    Raises
    ------
    UsageError
        If there is none of that name, or it is to be greedy and its proposals have no likeliest action.
    InputError
        If the file is no policy, is damaged, or is for another problem; one line.
    """
    stored = None if spec == _UNIFORM else read(_locate(spec, problem), problem, spec)
    if greedy and stored is None:
        raise UsageError("uniform proposals have no most probable action", option="greedy")
    if greedy and stored is not None and stored.feature_set == "gaussian":
        raise UsageError("the most probable Gaussian step is 0", option="greedy")
    return stored


def neighbourhood_for(
    problem: Problem[Any], stored: Stored | None, name: str | None = None
) -> Neighbourhood[Any]:
    """Find the neighbourhood of a policy; uniform proposals fit all, by default the paper's.

    Parameters
    ----------
    problem : Problem
    stored : Stored or None
        The policy; None for uniform proposals.
    name : str, optional
        One of the same family as the policy's; by default the policy's.

    Raises
    ------
    UsageError
        If there is none of that name, or it is of another family.
    InputError
        If the policy's is unknown.
    """
    if stored is None:
        return problem.neighbourhoods[0] if name is None else problem.neighbourhood(name)
    try:
        own = problem.neighbourhood(stored.neighbourhood)
    except UsageError as error:
        raise InputError(f"damaged policy: neighbourhood: {error.message}", stored.source) from None
    if name is None:
        return own
    asked = problem.neighbourhood(name)
    if asked.family != own.family:
        raise UsageError(
            f"policy {stored.name} is for {own.name}, got {shown(name)}",
            option="neighbourhood",
            drop={"neighbourhood": None},
        )
    return asked


def read(path: str | Path, problem: str, told: str | None = None) -> Stored:
    """Read a policy for a problem; `told` is what the user calls it.

    Raises
    ------
    InputError
        If the file is no policy, is damaged, or is for another problem; one line.
    """
    source, data = told or str(path), _read(Path(path))
    if data.get("format") != FORMAT:
        raise InputError(
            f"is no policy file: expected format {FORMAT}, got {shown(data.get('format'))}", source
        )
    if data.get("problem") != problem:
        raise InputError(f"is a policy for {shown(data.get('problem'))}, the instance is {problem}", source)
    kind: Any = data.get("kind")
    hidden: Any = data.get("hidden")
    held = data.get("temperature_steps", 1)
    if kind not in ("slots", "gaussian"):
        raise wrong_kind(kind, source)
    name = data.get("name") if isinstance(data.get("name"), str) else Path(path).stem
    feature_set = "gaussian" if kind == "gaussian" else data.get("feature_set")
    neighbourhood = data.get("neighbourhood", "paper")
    for good, expected, got in (
        (_is_count(hidden, 4096), "1 to 4096 hidden units", hidden),
        (isinstance(feature_set, str), "the name of a feature set", feature_set),
        (isinstance(neighbourhood, str), "the name of a neighbourhood", neighbourhood),
        (_is_count(held, _LONGEST), f"temperature_steps from 1 to {_LONGEST}", held),
    ):
        if not good:
            raise InputError(f"damaged policy: expected {expected}, got {shown(got)}", source)
    trained = _trained(data, source)
    return Stored(
        str(name), str(feature_set), hidden, trained, neighbourhood, source, data.get("weights"), held
    )


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def wrong_kind(kind: Any, source: str) -> InputError:
    """Make the error of a kind of policy that the problem does not have."""
    return InputError(f"is a policy of kind {shown(kind)}, which does not go with this problem", source)


def _trained(data: Mapping[str, Any], source: str) -> Trained | None:
    """Read size and temperatures of the training, if the file has them."""
    schedule, training = data.get("schedule"), data.get("training")
    if not isinstance(schedule, dict) or not isinstance(training, dict):
        return None
    numbers = [training.get("size"), schedule.get("t_start"), schedule.get("t_end")]
    size, t_start, t_end = (_numbers(x, ()) for x in numbers)
    if not all(x is not None and x > 0 for x in (size, t_start, t_end)):
        raise InputError("damaged policy: expected a size and temperatures above 0 in its training", source)
    return Trained(int(size), float(t_start), float(t_end))


def _read(path: Path) -> dict[str, Any]:
    source = str(path)
    try:
        data = json.loads(_bytes(path).decode())
    except (ValueError, RecursionError):
        raise InputError("is no policy file: not JSON (pickled models are not loaded)", source) from None
    if not isinstance(data, dict):
        raise InputError("is no policy file: expected a JSON object", source)
    return data


def _bytes(path: Path) -> bytes:
    """Read a policy's file, twice in a solve: no pipe."""
    if not os.path.isfile(path):
        raise InputError("is no policy file: expected a file", str(path))
    return read_bytes(path, _LARGEST)


def _numbers(data: Any, shape: tuple[int, ...]) -> Any:
    """Read nested lists of finite numbers of a shape as an array; None if they are something else."""
    try:
        array = np.array(data)
    except (ValueError, OverflowError):  # lists of unequal lengths, an integer of hundreds of digits
        return None
    good = array.shape == shape and array.dtype.kind in "iuf" and bool((np.abs(array) < 1e30).all())
    return array if good else None
