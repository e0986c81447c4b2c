"""Certificates: bounds with their witnesses, as files that are checked without a solver.

A certificate is one JSON object: ``format``, ``problem``, the SHA-256 of the ``instance``'s data, the
``bound``, and the keys of the problem's own witness, from which `Problem.recompute_bound` computes the bound
again in exact arithmetic. Nothing else in it is believed.
"""

from __future__ import annotations

import hashlib
from typing import Any

from nsa_cli.core.bound import Bound
from nsa_cli.core.errors import DataError, InputError, UsageError, shown
from nsa_cli.core.exact import rounded
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.problem import Task
from nsa_cli.core.record import Source
from nsa_cli.io.json_text import dumps, loads
from nsa_cli.solver.proving import proved

FORMAT = "nsa-certificate-1"


def certificate_of(task: Task, bound: Bound | None, solution: Solution) -> str:
    """Write a bound as a certificate; where its method leaves no witness, the solution is proved anew.

    Raises
    ------
    UsageError
        If there is no bound, or it has no witness.
    """
    if bound is not None and bound.exact and bound.witness is None:
        bound = proved(task, None, solution) or bound
    if bound is None or bound.witness is None:
        why = "no bound" if bound is None else f"the bound, {bound.value} by {bound.method}, has no witness"
        raise UsageError(f"there is no certificate: {why}")
    return dumps({**_head(task), "bound": bound.value, **bound.witness}) + "\n"


def bound_from(task: Task, source: Source) -> Bound:
    """Check a certificate of an instance, and give its bound.

    Raises
    ------
    InputError
        If it is no certificate of this instance, or does not prove what it says.
    """
    data = loads(source)
    if not isinstance(data, dict):
        raise InputError("expected a certificate, one JSON object", source.name)
    for key, expected in _head(task).items():
        if (got := data.pop(key, None)) != expected:
            what = "certificate of another instance" if key == "instance" else "certificate"
            raise InputError(f"{what}: expected {key} {shown(expected)}, got {shown(got)}", source.name)
    claimed = data.pop("bound", None)
    try:
        value = task.problem.recompute_bound(task.instance, data)
    except DataError as error:
        raise InputError(f"the certificate does not hold: {error.message}", source.name) from None
    bound = Bound.of(value, task.problem.sense, method="certificate", witness=data)
    # What is exact is rounded to the nearest, other bounds outwards.
    if isinstance(claimed, bool) or claimed not in (rounded(value), bound.value):
        raise InputError(f"the certificate says {shown(claimed)}, and proves {bound.value}", source.name)
    return bound


def _head(task: Task) -> dict[str, Any]:
    return {"format": FORMAT, "problem": task.problem.name, "instance": digest(task.instance)}


def digest(instance: Instance) -> str:
    """Compute the SHA-256 of an instance's data, whatever it is called."""
    record = {key: value for key, value in instance.record().items() if key not in instance.head()}
    return hashlib.sha256(dumps(dict(sorted(record.items()))).encode()).hexdigest()
