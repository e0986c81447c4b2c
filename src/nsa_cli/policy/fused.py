"""Policies as NumPy arrays for fused kernels, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from nsa_cli.kernels.hooks import Fused

Weights = Mapping[str, NDArray[np.float32]]


def uniform() -> Any:
    """Make uniform proposals."""
    from nsa_cli.kernels.hooks import Uniform

    return Uniform(False)


def learnt(fused: Fused, feature_set: str, weights: Weights, *, greedy: bool = False) -> Any | None:
    """Lay out a policy's weights for a problem's kernel; None if it has none for such a policy.

    Parameters
    ----------
    fused : Fused
    feature_set : str
        ``gaussian`` for that kind of policy.
    weights : mapping of float32 arrays
        Named as in checkpoints; of P members, all with a leading axis.
    greedy : bool
    """
    from nsa_cli.kernels.lanes import HIDDEN
    from nsa_cli.kernels.slots import Mode

    made = fused.policies.get(feature_set)
    hidden = next(iter(weights.values())).shape[-2]
    if made is None or hidden > HIDDEN:
        return None
    if feature_set == "gaussian":
        return _gaussian(made, weights)
    slots = len(fused.features[feature_set])
    order = fused.order.get(feature_set, (None,) * slots)
    networks = (
        _network(weights, f"networks.{k}", order[k])
        for k, features in enumerate(fused.features[feature_set])
        if features
    )
    return made(*networks, Mode(greedy))


def _network(weights: Weights, prefix: str, order: Any) -> Any:
    from nsa_cli.kernels.slots import Network

    first = _members(weights[f"{prefix}.first.weight"], 2).swapaxes(1, 2)  # [P, F, H]
    if order is not None:
        first = first[:, list(order)]
    second = _members(weights[f"{prefix}.second.weight"], 2)[:, 0]
    bias = _members(weights[f"{prefix}.first.bias"], 1)
    return Network(_padded(first, 2), _padded(bias, 1), _padded(second, 1))


def _gaussian(made: Any, weights: Weights) -> Any:
    first = _members(weights["first.weight"], 2).swapaxes(1, 2)
    second = _members(weights["second.weight"], 2).swapaxes(1, 2)  # [P, H, D]
    bias, offset = (_members(weights[name], 1) for name in ("first.bias", "second.bias"))
    return made(_padded(first, 2), _padded(bias, 1), _padded(second, 1), np.ascontiguousarray(offset))


def _members(array: NDArray[np.float32], axes: int) -> NDArray[np.float32]:
    """Give an array its axis of members."""
    return np.asarray(array, dtype=np.float32).reshape(-1, *array.shape[-axes:])


def _padded(array: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Fill up to the hidden units of kernels with zeros, which add nothing to a score."""
    from nsa_cli.kernels.lanes import HIDDEN

    widths = [(0, HIDDEN - n if k == axis else 0) for k, n in enumerate(array.shape)]
    return np.ascontiguousarray(np.pad(array, widths))
