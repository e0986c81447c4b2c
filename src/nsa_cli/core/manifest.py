"""What it takes to get a result again, beside the instance: program, settings, policy, machine."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from nsa_cli import __version__


@functools.cache
def machine() -> dict[str, Any]:
    """Name the system and what on it may change the last digit of an answer, or its time."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "torch": metadata.version("torch"),
        "cpus": os.cpu_count(),
    }


def manifest(
    seed: int, settings: Mapping[str, Any], policy_sha256: str | None, file: str | None
) -> dict[str, Any]:
    """Put a manifest together.

    Parameters
    ----------
    seed : int
        The one that was used, drawn or given.
    settings : mapping
        What the user said, other than the defaults.
    policy_sha256 : str or None
        Hash of the policy's file; None for uniform proposals.
    file : str or None
        Where the instance was read from.
    """
    return {
        "version": __version__,
        "seed": seed,
        "file": file,
        "settings": dict(settings),
        "policy_sha256": policy_sha256,
        "machine": machine(),
    }
