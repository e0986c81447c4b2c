"""What the README promises; its blocks run with those of the documentation, see `test_docs`."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_test_command_is_what_runs_before_landing():
    """Word for word."""
    (command,) = [line for line in README.splitlines() if line.endswith("-m pytest")]
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_it_is_short():
    """What a newcomer needs; the rest is in the documentation."""
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) < 700
