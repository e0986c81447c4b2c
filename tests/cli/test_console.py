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

from nsa_cli.api import read
from nsa_cli.cli import console
from nsa_cli.cli.console import Signals
from nsa_cli.cli.writing import Outputs, Writer, file_names
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
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=120, env=environment)
    return done.returncode, done.stdout, done.stderr


# Streams and files


@pytest.mark.parametrize("sink", [">&-", "> /dev/full"])
def test_what_stdout_does_not_take_is_in_a_file(items, tmp_path, sink):
    """All of it in one, whose name is said once; the exit code tells that it is not where it should be."""
    items.write_text("\n".join([PACKING] * 3))
    code, _, err = shell(f"nsa solve items.json -q {sink}")
    (path,) = tmp_path.glob("nsa-answer-*.json")
    assert (code, err.count(b"error:")) == (2, 1)
    assert path.name.encode() in err
    assert b"standard output cannot be written" in err
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


def test_a_reader_that_has_gone_is_no_error(items):
    """``nsa solve … | head -c 1`` ends without a word."""
    assert shell("nsa solve items.json | head -c 1")[1:] == (b"{", b"")


@pytest.mark.parametrize("words", ["--version", "solve --help"])
def test_help_that_cannot_be_written_is_an_error_of_one_line(words):
    """And no fault of ours; one whose reader has gone is no error."""
    code, _, err = shell(f"nsa {words} > /dev/full")
    assert (code, err.count(b"\n")) == (2, 1)
    assert b"internal" not in err
    assert shell(f"nsa {words} | true")[2] == b""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_json_is_ascii_where_the_terminal_is_not_utf_8(items, encoding):
    """So that it is valid JSON for whoever reads it. Where names cannot be written, texts are UTF-8."""
    code, out, _ = shell("nsa solve items.json -q", PYTHONIOENCODING=encoding)
    result = json.loads(out.decode(encoding))
    assert (code, result["name"], result["solution"]) == (0, "Zoë", ["😀"])
    if encoding == "ascii":
        assert out.isascii()
        for form in ("csv", "table"):
            _, out, _ = shell(f"nsa solve items.json -q --format {form}", PYTHONIOENCODING=encoding)
            assert "😀" in out.decode()
        _, _, err = shell("nsa solve Zoë.json", PYTHONIOENCODING=encoding)
        assert err.decode().startswith("nsa: error: Zoë.json:")


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
    full, write = str(tmp_path / "out.json"), console.write_text

    def refuse(path, text):
        if str(path) == full:
            raise UsageError(f"{path}: is full")
        write(path, text)

    monkeypatch.setattr(console, "write_text", refuse)
    with pytest.raises(UsageError, match=r"out\.json: is full; the answer is in .*out\.nsa-\d+\.json"):
        console.emit("{}\n", full)
    (beside,) = tmp_path.glob("out.nsa-*.json")
    assert beside.read_text() == "{}\n"
    with pytest.raises(UsageError, match="the answer is on standard output"):
        console.emit("{}\n", str(tmp_path / "gone" / "out.json"))
    assert capsys.readouterr().out == "{}\n"


def test_a_file_that_fails_does_not_stop_the_others(nsa, items, tmp_path):
    """Of a folder of outputs; the exit code is that of the one that failed."""
    items.write_text("\n".join(PACKING.replace("Zoë", name) for name in "abc"))
    (tmp_path / "out" / "b.json").mkdir(parents=True)
    done = nsa("solve", "items.json", "-q", "-o", "out/")
    assert (done.code, done.out, "out/b.json" in done.err) == (2, "", True)
    written = sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_file())
    assert [name.partition(".")[0] for name in written] == ["a", "b", "c", "journal"]


@pytest.mark.parametrize(
    "name",
    ["x" * 300, "nowhere/x.json", "/nowhere/x.json", "items.json/x.json", "items.json/", "items.json/out/"],
)
def test_an_output_that_cannot_be_is_refused_before_the_work(nsa, items, name):
    """In one line."""
    done = nsa("solve", items, "-o", name)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "error: -o " in done.err


def test_without_an_answer_no_directory_is_made(nsa, tmp_path):
    """An input that is not there is found out before."""
    assert nsa("solve", tmp_path / "none", "-o", f"{tmp_path}/out/").code == 2
    assert not (tmp_path / "out").exists()


def test_a_current_folder_that_is_gone_is_named(items):
    """Libraries fail without one, in the middle of the work."""
    code, out, err = shell(f"mkdir gone && cd gone && rmdir ../gone && nsa solve {items}")
    assert (code, out) == (2, b"")
    assert err == b"nsa: error: the current directory: No such file or directory; go to one that is there\n"


def test_two_thousand_outputs_are_named_apart(items, tmp_path):
    """Each is apart from every input, and from the others, by whatever name."""
    (tmp_path / "out").mkdir()
    tasks = read(items) * 4_000
    for name in file_names(tasks[:2000], ".json"):
        (tmp_path / "out" / name).touch()
    assert Writer(tasks, Outputs(output=f"{tmp_path}/out/", format_="json")).exit_code == 0
    assert len(set(file_names(tasks, ""))) == len(tasks)


# Signals

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def cities(tmp_path):
    path = tmp_path / "cities.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(0).random((60, 2)).tolist()}))
    return path


def test_an_interrupt_gives_the_best_so_far(interrupted, cities):
    """Complete output, status interrupted, the exit code of the signal; a lost terminal is one, too."""
    found = interrupted("solve", cities, "--steps", 10**8, numbers=NUMBERS, after=2)
    assert [done.code for done in found] == [128 + number for number in NUMBERS]
    for done in found:
        assert (done.err, done.json["status"]) == ("", "interrupted")
        assert sorted(done.json["solution"]) == list(range(1, 61))


def test_a_large_instance_is_answered_long_before_the_limit(interrupted, tmp_path):
    """A hundred thousand items that no bound solves."""
    path = tmp_path / "pieces.json"
    weights = np.random.default_rng(0).integers(30_000, 60_001, 100_000)
    path.write_text(json.dumps({"weights": weights.tolist(), "capacity": 150_000}))
    (done,) = interrupted("solve", path, "-q", "--time-limit", 600, numbers=NUMBERS[:1], after=3)
    assert done.code == 130
    # An interrupt while the file is still read has nothing to tell.
    assert not done.out or done.json["status"] == "interrupted"


def test_an_interrupt_while_the_instance_is_read(interrupted):
    """Has a line that says that there is no solution, and the exit code of the signal."""
    found = interrupted("solve", "-", "-v", numbers=NUMBERS, after="solve with", stdin=subprocess.PIPE)
    assert {done.err for done in found} == {"nsa: interrupted before there was a solution\n"}
    assert [done.code for done in found] == [128 + number for number in NUMBERS]


@pytest.mark.parametrize("wait", [0.06, 0.12, 0.18, 0.24, 0.3, 0.5])
def test_an_interrupt_at_any_moment_is_no_traceback(interrupted, cities, wait):
    """While the program is still being loaded there is no solution: one line, or an answer."""
    (done,) = interrupted("solve", cities, "--steps", 10**8, numbers=NUMBERS[:1], after=wait)
    if done.code != 130 and ", in run\n" not in done.err:
        pytest.skip("Python itself was not there yet")
    assert done.code == 130
    assert "Traceback" not in done.err
    assert done.json["status"] == "interrupted" if done.out else done.err.count("\n") <= 1


#: Writes more than a pipe holds.
WRITER = """
import sys
from nsa_cli.cli.console import Signals, emit
with Signals() as signals:
    print("ready", file=sys.stderr, flush=True)
    emit("x" * 400_000, None)
raise SystemExit(signals.exit_code)
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_interrupt_while_the_result_is_written_cuts_nothing_off(unbuffered):
    """The reader is slow, the pipe is full, the signal comes: everything arrives all the same."""
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", WRITER], env=environment, **pipes)
    process.stderr.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    out, _ = process.communicate(timeout=30)
    assert (len(out), process.returncode) == (400_000, 130)


def test_a_doubled_signal_is_one_and_a_later_one_leaves(monkeypatch):
    """As `timeout` sends it to a process and to its group; and as an impatient user does."""
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert (signals.exit_code, left) == (130, [])
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGTERM)
        assert (signals.exit_code, left) == (130, [143])


def test_what_is_ignored_at_the_beginning_stays_ignored():
    """As `nohup` has it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Signals() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(0.01)
        assert signals.received == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
