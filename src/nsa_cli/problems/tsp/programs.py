"""External programs: Concorde and LKH, started on a TSPLIB file.

Neither may be passed on with this package: Concorde is for academic use, LKH for research.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from nsa_cli.core.errors import NsaError
from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.formats import tsplib
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.starts import integer_matrix

#: Seconds after which a program that was told its limit is ended.
_PATIENCE = 60.0


def concorde(instance: TspInstance, seconds: float) -> Solution:
    """Branch and cut; to the optimum, if that takes no longer than a minute above the limit.

    Raises
    ------
    NsaError
        If it ends without a tour.
    """
    with tempfile.TemporaryDirectory() as folder:
        _write(instance, Path(folder) / "in.tsp")
        _run("concorde", ["-x", "-s", "1", "-o", "out.txt", "in.tsp"], folder, seconds)
        numbers = _words("concorde", Path(folder) / "out.txt")
        return np.array(numbers[1:], dtype=np.int64)


def lkh(instance: TspInstance, seconds: float) -> Solution:
    """Lin-Kernighan by Helsgaun: one run within the limit, with its usual parameters.

    Raises
    ------
    NsaError
        If it ends without a tour.
    """
    parameters = {
        "PROBLEM_FILE": "in.tsp",
        "OUTPUT_TOUR_FILE": "out.tour",
        "RUNS": 1,
        "SEED": 1,
        "TIME_LIMIT": f"{seconds:g}",
    }
    with tempfile.TemporaryDirectory() as folder:
        _write(instance, Path(folder) / "in.tsp")
        text = "".join(f"{key} = {value}\n" for key, value in parameters.items())
        (Path(folder) / "in.par").write_text(text, encoding="ascii")
        _run("LKH", ["in.par"], folder, seconds)
        words = _words("LKH", Path(folder) / "out.tour", after="TOUR_SECTION", until="-1")
        return np.array(words, dtype=np.int64) - 1


def _write(instance: TspInstance, path: Path) -> None:
    matrix = TspInstance(name="it", edge_weight_type="EXPLICIT", matrix=integer_matrix(instance))
    path.write_text(tsplib.write(matrix), encoding="ascii")


def _run(program: str, arguments: list[str], folder: str, seconds: float) -> None:
    try:
        subprocess.run(
            [program, *arguments],
            cwd=folder,
            timeout=seconds + _PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except subprocess.TimeoutExpired:
        raise NsaError(f"{program} did not end within {seconds + _PATIENCE:g} s") from None


def _words(program: str, path: Path, after: str = "", until: str = "") -> list[str]:
    """Read a program's output, between two words if they are given."""
    if not path.is_file():
        raise NsaError(f"{program} ended without a tour")
    text = path.read_text(encoding="ascii", errors="replace")
    words = text[text.find(after) + len(after) :].split()
    return words[: words.index(until)] if until and until in words else words
