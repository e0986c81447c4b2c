"""What this machine's processor can do, as the system tells it."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

#: Where macOS keeps names of features, and where they differ from those of Linux.
_KEYS = ("machdep.cpu.features", "machdep.cpu.leaf7_features", "machdep.cpu.extfeatures")
_OTHER_NAMES = {"lzcnt": "abm", "avx1.0": "avx"}


@cache
def features() -> frozenset[str]:
    """Names of the processor's features, as Linux has them; none where the system does not tell."""
    try:
        if sys.platform == "darwin":
            words = subprocess.run(
                ["sysctl", "-n", *_KEYS], capture_output=True, text=True, check=False
            ).stdout
        else:
            told = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
            words = told[1] if told else ""
    except OSError:
        return frozenset()
    return frozenset(_OTHER_NAMES.get(word, word) for word in words.lower().split())
