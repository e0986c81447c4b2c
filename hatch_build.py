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

#: Beginnings of the names of targets, and the tag of a wheel, by the value of ``NSA_TARGETS``.
PLATFORMS: dict[str | None, tuple[list[str], str]] = {
    None: ([], re.sub("[-.]", "_", sysconfig.get_platform())),
    "linux-x86-64": (["linux-x86-64"], "manylinux_2_17_x86_64"),
    "linux-arm64": (["linux-arm64"], "manylinux_2_17_aarch64"),
    "macos-x86-64": (["macos-x86-64"], "macosx_10_15_x86_64"),
    "macos-arm64": (["macos-arm64"], "macosx_11_0_arm64"),
    "all": (["linux", "macos"], "any"),
}


class KernelHook(BuildHookInterface):
    """Makes the libraries before files are collected, also for an editable installation.

    By default there is one, for this processor. Without it the package works, and compiles at the first
    call: a machine that is not listed is no reason not to install. ``NSA_TARGETS``, a key of `PLATFORMS`,
    makes a wheel for all processors of a platform, whichever this one is, or for all platforms; then nothing
    may fail.
    """

    @property
    def _platform(self) -> str | None:
        return os.environ.get("NSA_TARGETS") or None

    def dependencies(self) -> list[str]:
        """Name a linker where the system has none, or not for all targets."""
        return [_LINKER] if self._platform or shutil.which("cc") is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the stub and the libraries."""
        subprocess.run([sys.executable, str(Path(self.root) / "build_stub.py")], check=True)
        if self.target_name != "wheel":
            return
        if self._platform not in PLATFORMS:
            known = ", ".join(filter(None, PLATFORMS))
            raise ValueError(f"NSA_TARGETS: expected one of {known}, or nothing, got {self._platform!r}")
        names, tag = PLATFORMS[self._platform]
        command = [sys.executable, str(Path(self.root) / "build_kernels.py"), *names]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode and self._platform:
            raise RuntimeError(done.stderr)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            self.app.display_warning(f"no machine code: kernels compile when first used: {last}")
        build_data["artifacts"].append("src/nsa_cli/kernels/libraries/")
        if not done.returncode:
            build_data["pure_python"] = tag == "any"
            build_data["tag"] = f"py3-none-{tag}"
