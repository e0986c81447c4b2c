"""What the README says is what the program does."""

import re
import shlex
from pathlib import Path

import pytest

from nsa_cli.cli.main import exit_code

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line.split("  #")[0].strip() for block in BLOCKS for line in block.splitlines() if line.startswith("nsa ")
]


def test_there_are_commands_to_test():
    """The examples of the README are found."""
    assert len(COMMANDS) > 5


@pytest.mark.parametrize("command", [c for c in COMMANDS if "|" not in c])
def test_the_readmes_commands_work(command, capsys, monkeypatch, tmp_path):
    """From a folder that holds the examples; with few steps, for the commands' sake and not the answers'."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    if "--init" in command:
        first = next(c for c in COMMANDS if "-o capitals.tour" in c)
        assert exit_code([*shlex.split(first)[1:], "--steps", "50"]) == 0
    assert exit_code([*shlex.split(command)[1:], "--steps", "50"]) == 0, capsys.readouterr().err


def test_every_option_of_the_readme_exists_and_the_other_way_round(capsys):
    """The table of options and the help of solve name the same ones."""

    def helped_by(command):
        assert exit_code([command, "--help"]) == 0
        return set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))

    helped, told = helped_by("solve"), set(re.findall(r"--[a-z][a-z-]+", README))
    elsewhere = {"--index-url", "--install-completion"}.union(
        *map(helped_by, ("check", "generate", "train", "benchmark"))
    )
    assert told - elsewhere <= helped
    assert helped - told <= {"--help", "--threads", "--output", "--quiet", "--verbose"}


def test_the_test_command_is_what_runs_before_landing():
    """Word for word."""
    (command,) = [line for block in BLOCKS for line in block.splitlines() if line.endswith("-m pytest")]
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_python_example_runs(monkeypatch, capsys):
    """As printed, with less work."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(code.replace('"10N2"', "50").replace("count=100", "count=3"), {})
    assert len(capsys.readouterr().out.splitlines()) == 3
