"""Manifest of a result for reproducing it: version, settings, policy, machine."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from nsa_cli.version import __version__


@functools.cache
def machine() -> dict[str, Any]:
    """Name system, library versions and cores, which may change last digits and times."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "torch": _version_of("torch"),
        "cpus": os.cpu_count(),
    }


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # while this package is built
        return None


@functools.cache
def source_version() -> str:
    """Name the exact code: `git describe` where this is a checkout, else the package's version."""
    root = Path(__file__).resolve().parents[3]
    if not ((root / ".git").exists() and (root / "src" / "nsa_cli").is_dir()):
        return __version__
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--tags"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return __version__
    return done.stdout.strip() or __version__


def manifest(
    seed: int, settings: Mapping[str, Any], policy_sha256: str | None, file: str | None
) -> dict[str, Any]:
    """Build a manifest.

    Parameters
    ----------
    seed : int
        As used, drawn or given.
    settings : mapping
        Settings that differ from the defaults.
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
