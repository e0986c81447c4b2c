"""Why compiled code of a user's functions has failed: the same is done in Python, which names the line."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from nsa_cli.core.errors import NsaError
from nsa_cli.kernels.toolchain.kept import Owner
from nsa_cli.user.calls import MistakeError, class_place
from nsa_cli.user.check import check_changes, walk
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.model import Model
from nsa_cli.user.scalar import Scalars

#: Seconds that the case is sought for, and moves from each solution.
_SECONDS, _MOVES = 2.0, 200


@cache
def owner_of(model: Model) -> Owner:
    """Make the owner of the kernels that are compiled from a problem's functions."""
    return Owner(model.digest, model.is_hashed, partial(explained, model))


def explained(model: Model, arguments: Sequence[Any]) -> NsaError:
    """Make the error of a kernel that an exception ended.

    Parameters
    ----------
    model : Model
    arguments : sequence
        Of the kernel: among their parts are the data, and solutions as it left them.
    """
    end, parts = time.monotonic() + _SECONDS, list(_parts(arguments))
    fields = (*model.keys, "scale")
    data = next(part for part in parts if getattr(part, "_fields", ())[: len(fields)] == fields)
    try:
        for which in range(len(data.scale)):
            keys = {key: getattr(data, key)[which] for key in model.keys}
            instance = UserInstance(model=model, data=SimpleNamespace(**keys, scale=1.0))
            rows = (row for part in parts if isinstance(part, np.ndarray) for row in np.atleast_2d(part))
            for seed, x in enumerate(rows):
                if x.dtype == model.kind.dtype and instance.wrong_form(x) is None:
                    _look_around(instance, x.copy(), seed, end)
    except NsaError as error:
        return error
    message = "compiled code fails where Python was not seen to: an index out of range, or a raise"
    return MistakeError(f"{class_place(model.cls)}: {model.cls.__name__}: {message}")


def _look_around(instance: UserInstance, x: Any, seed: int, end: float) -> None:
    """Evaluate a solution, and those some random moves away, until a time by `time.monotonic`."""
    Scalars(instance).cost(x)
    for state in walk(instance, _MOVES, seed, x):
        if time.monotonic() > end:
            return
        check_changes(state)
        state.scalars.cost(state.moved())


def _parts(value: Any) -> Iterator[Any]:
    yield value
    for part in value if isinstance(value, tuple | list) else ():
        yield from _parts(part)
