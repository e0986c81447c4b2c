"""How a command ends: signals, streams that are closed or full, places that cannot be written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from nsa_cli.cli import console
from nsa_cli.core.errors import UsageError

PACKING = """{"name": "Zoë", "values": [1, 2], "weights": [1, 1], "capacity": 1, "names": ["ä", "😀"]}"""


@pytest.fixture
def items(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "items.json"
    path.write_text(PACKING)
    return path


def shell(line, **environment):
    """Run a line of a shell in which `nsa` is this program; code, stdout and stderr as bytes."""
    line = f'nsa() {{ "{sys.executable}" -m nsa_cli "$@"; }}; {line}'
    environment = {**os.environ, **environment}
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, timeout=120, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


def answers(folder):
    return sorted(folder.glob("nsa-answer-*.json"))


@pytest.mark.parametrize("sink", [">&-", "> /dev/full"])
def test_an_answer_that_stdout_does_not_take_is_in_a_file(items, tmp_path, sink):
    """Whose name is said; the exit code tells that it is not where it should be."""
    code, _, err = shell(f"nsa solve items.json -q {sink}")
    (path,) = answers(tmp_path)
    assert code == 2
    assert path.name.encode() in err
    assert b"standard output cannot be written" in err
    assert json.loads(path.read_text())["objective"] == 2


def test_lines_that_stdout_does_not_take_are_in_one_file(items, tmp_path):
    """All of them, and said once."""
    items.write_text("\n".join([PACKING] * 3))
    code, _, err = shell("nsa solve items.json -q > /dev/full")
    (path,) = answers(tmp_path)
    assert code == 2
    assert err.count(b"error:") == 1
    assert [json.loads(line)["objective"] for line in path.read_text().splitlines()] == [2, 2, 2]


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_matter_to_a_file(items, tmp_path, closed):
    """Nor does what is said end up in it."""
    code, out, _ = shell(f"nsa solve items.json -v -o out.json {closed}")
    assert (code, out) == (0, b"")
    assert json.loads((tmp_path / "out.json").read_text())["objective"] == 2


def test_without_stderr_the_answer_is_on_stdout_alone(items):
    """An error is not, and the exit code tells it."""
    code, out, _ = shell("nsa solve items.json -v 2>&-")
    assert (code, json.loads(out)["objective"]) == (0, 2)
    assert shell("nsa solve nowhere.json 2>&-")[:2] == (2, b"")


def test_a_closed_stdin_is_named(items):
    """As a file that cannot be read is."""
    code, out, err = shell("nsa solve - <&-")
    assert (code, out) == (2, b"")
    assert err.startswith(b"nsa: error: <stdin>: cannot be read")


@pytest.mark.parametrize("words", ["--help", "--version", "solve --help"])
def test_help_that_cannot_be_written_is_an_error_of_one_line(words):
    """And no fault of ours; one whose reader has gone is no error."""
    code, _, err = shell(f"nsa {words} > /dev/full")
    assert (code, err.count(b"\n")) == (2, 1)
    assert b"internal" not in err
    assert shell(f"nsa {words} | true")[2] == b""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_json_is_ascii_where_the_terminal_is_not_utf_8(items, encoding):
    """So that it is valid JSON for whoever reads it; a table shows what the terminal can."""
    code, out, _ = shell("nsa solve items.json -q", PYTHONIOENCODING=encoding)
    result = json.loads(out.decode(encoding))
    assert (code, result["name"], result["solution"]) == (0, "Zoë", ["😀"])
    if encoding != "utf-16":
        assert out.isascii()
        assert shell("nsa solve items.json -q --format csv", PYTHONIOENCODING=encoding)[0] == 0


def test_a_file_whose_name_is_not_utf_8_has_an_answer(items, tmp_path):
    """In JSON that our own readers take; the name is shown byte by byte."""
    os.rename(items, os.fsencode(tmp_path) + b"/b\xe9.json")
    code, _, err = shell("nsa solve $'b\\xe9.json' -q -o out.json && nsa check $'b\\xe9.json' out.json")
    assert (code, err) == (0, b"")
    assert json.loads((tmp_path / "out.json").read_bytes())["manifest"]["file"] == r"b\xe9.json"
    code, out, _ = shell("nsa solve $'b\\xe9.json' -q | nsa check $'b\\xe9.json' - --format json")
    assert (code, json.loads(out)["feasible"]) == (0, True)


def test_a_result_goes_beside_a_file_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    """Or to stdout where nothing can be written there; the error says where it is."""
    monkeypatch.setattr(console, "write_text", _refuses(tmp_path / "out.json", console.write_text))
    with pytest.raises(UsageError, match=r"out\.json: is full; the answer is in .*out\.nsa-\d+\.json"):
        console.emit("{}\n", str(tmp_path / "out.json"))
    (beside,) = tmp_path.glob("out.nsa-*.json")
    assert beside.read_text() == "{}\n"
    with pytest.raises(UsageError, match="the answer is on standard output"):
        console.emit("{}\n", str(tmp_path / "gone" / "out.json"))
    assert capsys.readouterr().out == "{}\n"


def _refuses(full, write):
    def refuse(path, text):
        if str(path) == str(full):
            raise UsageError(f"{path}: is full")
        write(path, text)

    return refuse


def test_a_file_that_fails_does_not_stop_the_others(items, tmp_path):
    """Of a folder of outputs; the exit code is that of the one that failed."""
    items.write_text("\n".join(PACKING.replace("Zoë", name) for name in "abc"))
    (tmp_path / "out" / "b.json").mkdir(parents=True)
    code, out, err = shell("nsa solve items.json -q -o out/")
    assert code == 2
    assert b"out/b.json" in err
    written = sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_file())
    assert [name.partition(".")[0] for name in written] == ["a", "b", "c", "journal"]
    assert out == b""


@pytest.mark.parametrize("name", ["x" * 300, "nowhere/x.json", "items.json/x.json"])
def test_an_output_that_cannot_be_is_refused_before_the_work(nsa, items, name):
    """In one line."""
    done = nsa("solve", items, "-o", name)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "error: -o " in done.err


def test_a_current_folder_that_is_gone_is_named(tmp_path, items):
    """Libraries fail without one, in the middle of the work."""
    line = f"mkdir gone && cd gone && rmdir ../gone && nsa solve {items}"
    code, out, err = shell(line)
    assert (code, out) == (2, b"")
    assert err == b"nsa: error: the current directory: No such file or directory; go to one that is there\n"


def test_two_thousand_outputs_are_named_apart(nsa, items, tmp_path):
    """Each is apart from every input, and from the others, by whatever name."""
    from nsa_cli.api import read
    from nsa_cli.cli.writing import Writer, file_names

    (tmp_path / "out").mkdir()
    tasks = read(items) * 4_000
    for name in file_names(tasks[:2000], ".json"):
        (tmp_path / "out" / name).touch()
    writer = Writer(tasks, f"{tmp_path}/out/", "json")
    assert len(set(file_names(tasks, ""))) == len(tasks)
    assert writer.exit_code == 0


@pytest.fixture
def pieces(tmp_path):
    """A hundred thousand items that no bound solves."""
    path = tmp_path / "pieces.json"
    weights = np.random.default_rng(0).integers(30_000, 60_001, 100_000)
    path.write_text(json.dumps({"weights": weights.tolist(), "capacity": 150_000}))
    return path


def test_signals_are_answered_with_what_there_is(interrupted, pieces):
    """Whole, long before the limit, and with the exit code of the signal; a lost terminal is one, too."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    found = interrupted("solve", pieces, "-q", "--time-limit", 600, numbers=numbers, after=4)
    assert [done.code for done in found] == [128 + number for number in numbers]
    for done in found:  # an interrupt while the file is still read has nothing to tell
        assert not done.out or done.json["status"] == "interrupted"


def test_what_is_ignored_at_the_beginning_stays_ignored():
    """As `nohup` has it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with console.Signals() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(0.01)
        assert signals.received == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.study
@pytest.mark.parametrize(
    ("record", "limit"),
    [
        ({"weights": "1..100", "capacity": 150}, 20),
        ({"weights": "30000..60000", "capacity": 150_000}, 20),
        ({"weights": "uniform", "capacity": 1}, 20),
        ({"weights": [0.1], "capacity": 1, "copies": [1_000_000]}, 5),
        ({"a": 1, "b": 100, "dim": 1_000_000}, 5),
        ({"weights": "uniform", "capacity": 1}, 5),
    ],
)
def test_a_million_elements_within_the_limit(tmp_path, record, limit):
    """Of a second; measured alone on a machine, twice as much is left here for others."""
    rng = np.random.default_rng(0)
    drawn = {
        "1..100": lambda: rng.integers(1, 101, 10**6),
        "30000..60000": lambda: rng.integers(30_000, 60_001, 10**6),
        "uniform": lambda: rng.random(10**6),
    }
    if isinstance(record.get("weights"), str):
        record = {**record, "weights": drawn[record["weights"]]().tolist()}
    path, out = tmp_path / "million.json", tmp_path / "out.json"
    path.write_text(json.dumps(record))
    begin = time.monotonic()
    words = ["solve", path, "-q", "-o", out, "--time-limit", str(limit)]
    subprocess.run([sys.executable, "-m", "nsa_cli", *words], check=True)
    assert time.monotonic() - begin < limit + 3
    assert json.loads(out.read_text())["feasible"]
