"""How a training begins, and begins again, whatever of an older one lies there."""

from __future__ import annotations

import pytest

import nsa_cli as nsa
from nsa_cli.cli.main import exit_code

FIELDS = (
    "problems: 4\nsteps: 3\nvalidation_problems: 2\nvalidation_size: 5\nvalidate_every: 2\npopulation: 2\n"
)


@pytest.fixture
def train(tmp_path, monkeypatch, capsys):
    """Train a little policy; exit code and what is said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(FIELDS)

    def run(*words, out="p.json", epochs="4"):
        command = ["train", "knapsack", "-n", "5", "--config", "c.yaml", "--epochs", epochs, "-q", "-o", out]
        code = exit_code([*command, *words])
        return code, capsys.readouterr().err

    return run


@pytest.fixture
def finished(train, tmp_path):
    """A training that is done: its policy's text."""
    assert train() == (0, "")
    return (tmp_path / "p.json").read_text()


def weights(text):
    return text[text.index('"weights"') :]


@pytest.mark.parametrize(
    "log", ["", "epoch,seconds\n", "epoch,seconds\n1,0.5\n", "\x00", "epoch,seconds\n1,0"]
)
@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_one_that_was_killed_before_its_first_state_begins_again(finished, train, tmp_path, log, resume):
    """By the plain command, or by the one that would go on; to the same policy."""
    (tmp_path / "p.state.pt").unlink()
    (tmp_path / "p.json").unlink()
    (tmp_path / "p.csv").write_text(log)
    assert train(*resume) == (0, "")
    assert weights((tmp_path / "p.json").read_text()) == weights(finished)
    head, *rows = (tmp_path / "p.csv").read_text().splitlines()
    assert head.startswith("epoch,seconds")
    assert [row.split(",")[0] for row in rows] == ["1", "2", "3", "4"]


def test_a_policy_is_not_begun_anew_over_another(finished, train, tmp_path):
    """Without a state it can be begun again, if that is said; with one, gone on with."""
    code, said = train()
    assert (code, said.count("\n")) == (2, 1)
    assert "there is a training already" in said
    assert "--resume" in said
    (tmp_path / "p.state.pt").unlink()
    assert train()[0] == 2
    assert weights((tmp_path / "p.json").read_text()) == weights(finished)
    assert train("--resume") == (0, "")
    assert weights((tmp_path / "p.json").read_text()) == weights(finished)


def test_an_empty_log_does_not_stop_one_that_goes_on(finished, train, tmp_path):
    """The rows that are made from then on are in it."""
    (tmp_path / "p.csv").write_text("")
    assert train("--resume", epochs="6") == (0, "")
    assert [row.split(",")[0] for row in (tmp_path / "p.csv").read_text().splitlines()] == ["epoch", "5", "6"]


@pytest.mark.parametrize("out", ["x.csv", "x.CSV"])
def test_a_policy_has_not_the_name_of_its_log(train, tmp_path, out):
    """Rows would be added to the policy."""
    code, said = train(out=out)
    assert (code, said.count("\n")) == (2, 1)
    assert "give a name that ends in .json" in said
    assert not (tmp_path / out).exists()


def test_nothing_is_not_resumed(train):
    """A name with a typing error would be a new training."""
    code, said = train("--resume", out="other.json")
    assert (code, said) == (2, "nsa: error: other.state.pt: there is no training to resume\n")


@pytest.mark.parametrize("spoil", [lambda data: data[:500], lambda data: b"", lambda data: b"x" + data[1:]])
def test_a_state_that_is_none_is_refused(finished, train, tmp_path, spoil):
    """In one line that says what to do, before anything is trained from it."""
    path = tmp_path / "p.state.pt"
    path.write_bytes(spoil(path.read_bytes()))
    code, said = train("--resume", epochs="6")
    assert (code, said.count("\n")) == (2, 1)
    assert "delete it to begin again" in said
    assert weights((tmp_path / "p.json").read_text()) == weights(finished)


def test_a_log_that_cannot_be_written_is_named(train, tmp_path):
    """No fault of ours."""
    (tmp_path / "p.csv").symlink_to("/dev/full")
    code, said = train()
    assert (code, said.count("\n")) == (2, 1)
    assert "p.csv: cannot be written" in said


def test_python_is_told_the_same(tmp_path):
    """The class that trains checks the name itself."""
    from nsa_cli.problems import find_problem
    from nsa_cli.train.config import EsConfig
    from nsa_cli.train.loop import Training

    with pytest.raises(nsa.UsageError, match="csv at once"):
        Training(find_problem("knapsack"), EsConfig(), 0, tmp_path / "x.csv")
