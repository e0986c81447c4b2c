"""The page on own problems: its blocks run in their order, and its problems are sound and short."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-problem.md").read_text()
BLOCKS = re.findall(r"```(python|sh)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def bash(tmp_path):
    """Run a script where `nsa` is this program; give what it prints."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = tmp_path / "bin" / "nsa"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nsa_cli "$@"\n')
    program.chmod(0o755)
    paths = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}

    def run(script):
        command = ["bash", "-ec", script]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **paths}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.folder = tmp_path
    return run


@pytest.mark.slow  # tests/test_docs.py runs the blocks, too; here the whole page is one session
def test_every_block_of_the_page_works(bash):
    """From top to bottom; the small instance is solved to its optimum."""
    for kind, text in BLOCKS:
        if kind == "sh":
            out = bash(text)
            if "three.json" in text:
                assert json.loads(out)["objective"] == 2 * (5 * 8 + 3 * 13 + 2 * 15)
        else:
            (bash.folder / "purses.py").write_text(text)
    (bash.folder / "purses.json").write_text(json.dumps({"wishes": [3, 1, 4, 1, 5, 9], "most": 4}))
    bash("nsa check-problem purses.py purses.json; nsa check-problem assign.py:Assign three.json")
    for name in ("assign", "delivery"):
        lines = (bash.folder / f"{name}.py").read_text().splitlines()
        assert sum(bool(line.strip()) for line in lines) <= 30
