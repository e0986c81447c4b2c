"""What trainings ask of a user's problem: which features its policies see. All else is compiled code."""

from __future__ import annotations

from typing import Any, NoReturn

from nsa_cli.core.errors import UsageError
from nsa_cli.core.operations import DiscreteOperations, FeatureSet, Slot
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.model import Model


class UserOperations(DiscreteOperations[UserInstance, Any]):
    """Choices of all types of moves in a row, for policies; there are no operations on tensors.

    Of several types the first choice is that of the type.

    Parameters
    ----------
    model : Model

    Raises
    ------
    UsageError
        If the problem has no features.
    """

    def __init__(self, model: Model) -> None:
        if not model.learns:
            raise UsageError(f"{model.spec}: has no features, which a policy sees")
        self._name, width = model.name, len(model.cls.feature_names)
        choices = [Slot(f"{m.move.name} {name}", width) for m in model.moves for name in m.move.choices]
        first = [Slot("move", 0)] if model.several else []
        self.feature_sets = {"paper": FeatureSet((*first, *choices), self.pack)}

    def pack(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse tensors: they are for PPO, for devices, and for the reference of annealing."""
        why = f"{self._name}, a problem of your own, runs as compiled code: its policies are trained by es"
        raise UsageError(why, option="method", use={"method": "es"})

    cost = delta = apply = allowed = pack
