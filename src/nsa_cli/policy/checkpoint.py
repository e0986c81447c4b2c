"""Policies as files: one readable JSON text each; reading one runs nothing.

A pickle can run code when it is loaded, and cannot be read by people or by other languages; a policy of a
few hundred numbers needs neither.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.core.operations import ContinuousOperations, DiscreteOperations, Operations
from nsa_cli.core.policy import Policy
from nsa_cli.core.problem import Trained
from nsa_cli.io.atomic import write_text
from nsa_cli.policy.gaussian import ConstantGaussianPolicy, GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy

#: What the file says it is; another version is another number.
FORMAT = "nsa-policy-1"

#: A policy file is some kilobytes; nothing larger is read.
_LARGEST = 8_000_000

_UNIFORM = "uniform"

LearntPolicy = SlotPolicy | GaussianPolicy


def directories() -> list[Path]:
    """Where policies are found by name: in the installed package, or beside the source."""
    package = Path(__file__).resolve().parents[1]
    return [package / "checkpoints", package.parents[1] / "checkpoints"]


def available(problem: str) -> list[str]:
    """Names of the shipped policies of a problem."""
    found = {p.stem for d in directories() if d.is_dir() for p in d.glob(f"{problem}-*.json")}
    return sorted(found)


def find_policy(spec: str, problem: str, operations: Operations[Any, Any], *, greedy: bool = False) -> Policy:
    """Make the policy that ``--policy`` names: ``uniform``, a shipped name, or a file.

    Raises
    ------
    UsageError
        If there is none of that name, or it cannot be greedy.
    InputError
        If the file holds no policy for this problem.
    """
    if spec == _UNIFORM:
        if greedy:
            raise UsageError(
                "uniform proposals have no likeliest action; leave --greedy out, or give a policy"
            )
        return (
            ConstantGaussianPolicy() if isinstance(operations, ContinuousOperations) else UniformSlotPolicy()
        )
    policy = load(_locate(spec, problem), problem, operations)
    if greedy:
        if isinstance(policy, GaussianPolicy):
            raise UsageError("the likeliest Gaussian step is no step at all; leave --greedy out")
        policy.greedy = True
    return policy


def problem_of(spec: str) -> str:
    """Tell the problem that a shipped policy, or one in a file, is for.

    Raises
    ------
    UsageError
        If there is none of that name, or it is ``uniform``, which is for all.
    InputError
        If the file is no policy.
    """
    if spec == _UNIFORM:
        raise UsageError("uniform proposals have learnt nothing; give a policy's name or file")
    path = _locate(spec, "*")
    name = _read(path).get("problem")
    if not isinstance(name, str):
        raise InputError(f"is no policy file: expected the name of a problem, got {shown(name)}", str(path))
    return name


def _locate(spec: str, problem: str) -> Path:
    for directory in directories():
        if (path := directory / f"{spec}.json").is_file() and "/" not in spec:
            return path
    if Path(spec).exists():
        return Path(spec)
    known = ", ".join([_UNIFORM, *available(problem)])
    purpose = "" if problem == "*" else f" for {problem}"
    raise UsageError(f"there is no policy {spec!r}{purpose}; there are {known}, or give a file")


def save(
    path: str | Path, policy: LearntPolicy, problem: str, notes: Mapping[str, Any] | None = None
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
    if isinstance(policy, SlotPolicy):
        data |= {"kind": "slots", "feature_set": policy.feature_set}
    else:
        data |= {"kind": "gaussian"}
    data |= {"hidden": policy.hidden, **(notes or {})}
    data["weights"] = {key: _shortest(value) for key, value in policy.state_dict().items()}
    write_text(path, _layout(data))


def _shortest(tensor: torch.Tensor) -> Any:
    """Write float32 numbers with the fewest digits that read back the same."""
    return _map(tensor.tolist(), lambda x: float(str(np.float32(x))))


def _map(data: Any, function: Any) -> Any:
    return [_map(x, function) for x in data] if isinstance(data, list) else function(data)


def _layout(data: Mapping[str, Any]) -> str:
    """One line a key, one line a weight array's row: readable, and small in a diff."""
    head = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in data.items() if k != "weights"]
    arrays = []
    for key, value in data["weights"].items():
        rows = value if isinstance(value[0], list) else [value]
        body = ",\n      ".join(json.dumps(row) for row in rows)
        text = body if rows[0] is value else f"[\n      {body}\n    ]"
        arrays.append(f"    {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join([*head, '  "weights": {\n' + ",\n".join(arrays) + "\n  }"]) + "\n}\n"


def load(path: str | Path, problem: str, operations: Operations[Any, Any]) -> LearntPolicy:
    """Read a policy for a problem.

    Raises
    ------
    InputError
        If the file is no policy, is damaged, or is for another problem; one line.
    """
    source, data = str(path), _read(Path(path))
    if data.get("format") != FORMAT:
        raise InputError(
            f"is no policy file: expected format {FORMAT}, got {shown(data.get('format'))}", source
        )
    if data.get("problem") != problem:
        raise InputError(f"is a policy for {shown(data.get('problem'))}, the instance is {problem}", source)
    hidden = data.get("hidden")
    if not isinstance(hidden, int) or isinstance(hidden, bool) or not 1 <= hidden <= 4096:
        raise InputError(f"damaged policy: expected 1 to 4096 hidden units, got {shown(hidden)}", source)
    name = data.get("name") if isinstance(data.get("name"), str) else Path(path).stem
    policy = _build(data, operations, hidden, str(name), source)
    _fill(policy, data.get("weights"), source)
    policy.trained = _trained(data, source)
    policy.requires_grad_(False)
    return policy


def _trained(data: Mapping[str, Any], source: str) -> Trained | None:
    """Read where a policy is at home, if the file says so."""
    schedule, training = data.get("schedule"), data.get("training")
    if not isinstance(schedule, dict) or not isinstance(training, dict):
        return None
    numbers = [training.get("size"), schedule.get("t_start"), schedule.get("t_end")]
    size, t_start, t_end = (_numbers(x, ()) for x in numbers)
    if not all(x is not None and x > 0 for x in (size, t_start, t_end)):
        raise InputError("damaged policy: expected a size and temperatures above 0 in its training", source)
    return Trained(int(size), t_start, t_end)


def _read(path: Path) -> dict[str, Any]:
    source = str(path)
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError("is no policy file: too large", source)
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source) from None
    except (ValueError, RecursionError):
        raise InputError("is no policy file: not JSON (pickled models are not loaded)", source) from None
    if not isinstance(data, dict):
        raise InputError("is no policy file: expected a JSON object", source)
    return data


def _build(
    data: Mapping[str, Any], operations: Operations[Any, Any], hidden: int, name: str, source: str
) -> LearntPolicy:
    kind = data.get("kind")
    if kind == "slots" and isinstance(operations, DiscreteOperations):
        feature_set = data.get("feature_set")
        if not isinstance(feature_set, str) or feature_set not in operations.feature_sets:
            known = ", ".join(operations.feature_sets)
            raise InputError(f"wants features {shown(feature_set)}; this version has {known}", source)
        return SlotPolicy(operations.feature_sets[feature_set].slots, feature_set, hidden, name)
    if kind == "gaussian" and isinstance(operations, ContinuousOperations):
        axes = data.get("weights", {}).get("second.bias") if isinstance(data.get("weights"), dict) else None
        return GaussianPolicy(operations.features, len(axes) if isinstance(axes, list) else 2, hidden, name)
    raise InputError(f"is a policy of kind {shown(kind)}, which does not go with this problem", source)


def _fill(policy: nn.Module, weights: Any, source: str) -> None:
    expected = policy.state_dict()
    if not isinstance(weights, dict) or set(weights) != set(expected):
        raise InputError(f"damaged policy: expected the weights {', '.join(expected)}", source)
    filled = {}
    for key, like in expected.items():
        numbers = _numbers(weights[key], tuple(like.shape))
        if numbers is None:
            raise InputError(f"damaged policy: {key} is not {list(like.shape)} finite numbers", source)
        filled[key] = torch.tensor(numbers, dtype=like.dtype)
    policy.load_state_dict(filled)


def _numbers(data: Any, shape: tuple[int, ...]) -> Any:
    """Check nested lists of finite numbers against a shape; None if they are something else."""
    if not shape:
        good = isinstance(data, int | float) and not isinstance(data, bool) and math.isfinite(data)
        return float(data) if good and abs(data) < 1e30 else None
    if not isinstance(data, list) or len(data) != shape[0]:
        return None
    rows = [_numbers(x, shape[1:]) for x in data]
    return None if any(row is None for row in rows) else rows
