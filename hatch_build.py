"""Build hook: machine code of the kernels and a stub travel in the wheel: `build_kernels`, `build_stub`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_LINKER = "ziglang"


class KernelHook(BuildHookInterface):
    """Makes the libraries before files are collected, also for an editable installation.

    Without them the package works, and compiles at the first call: a machine that is not listed is no reason
    not to install. ``NSA_TARGETS=all`` makes those of all targets, and then nothing may fail.
    """

    @property
    def _every(self) -> bool:
        return os.environ.get("NSA_TARGETS") == "all"

    def dependencies(self) -> list[str]:
        """Name a linker where the system has none, or not for all targets."""
        return [_LINKER] if self._every or shutil.which("cc") is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the stub and the libraries."""
        subprocess.run([sys.executable, str(Path(self.root) / "build_stub.py")], check=True)
        if self.target_name != "wheel":
            return
        command = [sys.executable, str(Path(self.root) / "build_kernels.py"), *(["--all"] * self._every)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode and self._every:
            raise RuntimeError(done.stderr)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            self.app.display_warning(f"no machine code: kernels compile when first used: {last}")
        build_data["artifacts"].append("src/nsa_cli/kernels/libraries/")
        if not (self._every or done.returncode):
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}"
