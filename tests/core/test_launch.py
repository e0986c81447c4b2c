"""What launchers tell a process is understood, or refused by name."""

import pytest

from nsa_cli.cli.main import exit_code
from nsa_cli.core.errors import UsageError
from nsa_cli.core.machine import Launch, launch

GOOD = {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "localhost", "MASTER_PORT": "1234"}


@pytest.fixture(autouse=True)
def tell(monkeypatch):
    """Set variables, and none but these."""
    for name in (*GOOD, "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)

    def run(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return run


def test_a_launched_process_knows_its_place(tell):
    """Other launchers than torchrun need not say which processes are on this machine."""
    tell(**GOOD)
    assert launch() == Launch(rank=1, size=3, local_rank=0, local_size=1, attempt=0)
    tell(LOCAL_RANK="1", LOCAL_WORLD_SIZE="2", TORCHELASTIC_RESTART_COUNT="4")
    assert launch() == Launch(1, 3, 1, 2, 4)


@pytest.mark.parametrize("variables", [{}, {"WORLD_SIZE": "1"}, {"WORLD_SIZE": ""}, {"RANK": "0"}])
def test_a_process_on_its_own(tell, variables):
    """As a scheduler's job of one process is, too."""
    tell(**variables)
    assert launch() is None


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RANK": "", "MASTER_PORT": ""}, "but no RANK or MASTER_PORT; start processes with torchrun"),
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE='two' in the environment: expected a whole number from 1"),
        ({"WORLD_SIZE": "99999999999999"}, "WORLD_SIZE='99999999999999'"),
        ({"RANK": "3"}, "RANK=3 in the environment: expected less than WORLD_SIZE, 3"),
        ({"MASTER_PORT": "70000"}, "MASTER_PORT='70000'.*to 65535"),
        ({"LOCAL_RANK": "-1"}, "LOCAL_RANK='-1'"),
        ({"TORCHELASTIC_RESTART_COUNT": "once"}, "TORCHELASTIC_RESTART_COUNT='once'"),
    ],
)
def test_what_makes_no_sense_is_refused(tell, variables, words):
    """With the variable and what it holds, before anything is waited for."""
    tell(**GOOD | variables)
    with pytest.raises(UsageError, match=words):
        launch()


@pytest.mark.parametrize(
    "command",
    [("solve", "examples/capitals.csv"), ("benchmark", "knapsack", "--sizes", "50"), ("train", "knapsack")],
)
def test_every_command_that_is_shared_out_refuses_it(tell, command, capsys):
    """In one line."""
    tell(WORLD_SIZE="2")
    assert exit_code([*command]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("nsa: error: WORLD_SIZE=2 in the environment, but no RANK")
    assert err.count("\n") == 1
