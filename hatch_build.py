"""Build hook: machine code of the kernels and a stub travel in the wheel: `build_kernels`, `build_stub`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):
    """Makes the objects before files are collected, also for an editable installation.

    Without them the package works, and compiles at the first call: a machine that is not listed is no reason
    not to install. ``NSA_TARGETS=all`` makes those of all targets, and then nothing may fail.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the stub and the objects."""
        subprocess.run([sys.executable, str(Path(self.root) / "build_stub.py")], check=True)
        if self.target_name != "wheel":
            return
        every = os.environ.get("NSA_TARGETS") == "all"
        command = [sys.executable, str(Path(self.root) / "build_kernels.py"), *(["--all"] if every else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode and every:
            raise RuntimeError(done.stderr)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            self.app.display_warning(f"no machine code: kernels compile when first used: {last}")
        build_data["artifacts"].append("src/nsa_cli/kernels/objects/")
