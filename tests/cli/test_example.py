"""`nsa example`: examples for users of a wheel."""

import pytest

from nsa_cli.cli.example import example_folder, example_names


def test_the_list_names_and_describes_all(nsa):
    """Each on a line."""
    done = nsa("example")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()] == example_names()
    assert "n = 32" in next(line for line in done.out.splitlines() if line.startswith("capitals.tsp"))
    assert {"capitals.csv", "capitals.tsp", "packing.csv", "cutting.json", "valley.json"} <= set(
        example_names()
    )


def test_an_example_is_written_once(nsa, tmp_path, monkeypatch):
    """Into the current folder, and never over a file that is there."""
    monkeypatch.chdir(tmp_path)
    assert nsa("example", "capitals.csv").out == "capitals.csv\n"
    assert (tmp_path / "capitals.csv").read_bytes() == (example_folder() / "capitals.csv").read_bytes()
    (tmp_path / "capitals.csv").write_text("mine")
    done = nsa("example", "capitals.csv")
    assert (done.code, done.out) == (2, "")
    assert done.err == "nsa: error: --output: capitals.csv: is there already; give another name\n"
    assert (tmp_path / "capitals.csv").read_text() == "mine"
    assert nsa("example", "capitals.csv", "-o", "other.csv").code == 0
    assert nsa("solve", "other.csv", "--steps", "10").code == 0


def test_an_example_goes_to_stdout_or_a_folder(nsa, tmp_path):
    """As outputs of other commands do."""
    text = (example_folder() / "valley.json").read_text()
    assert nsa("example", "valley.json", "-o", "-").out == text
    assert nsa("example", "valley.json", "-o", tmp_path).code == 0
    assert (tmp_path / "valley.json").read_text() == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("capitals",), "there is no example 'capitals'; the nearest is capitals."),
        (("zzz",), "there is no example 'zzz'; capitals.csv, "),
        (("../README.md",), "there is no example '../README.md'"),
        (("valley.json", "-o", "/nowhere/x"), "--output: /nowhere/x: cannot be written: "),
        (("-o", "x"), "--output: expected the name of an example with it"),
    ],
)
def test_mistakes_are_one_line(nsa, arguments, message):
    """With what to do."""
    done = nsa("example", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"nsa: error: {message}")
    assert done.err.count("\n") == 1


def test_a_new_problem_solves_at_once(nsa, tmp_path, monkeypatch):
    """Its file is good, has the name, and is not written over."""
    monkeypatch.chdir(tmp_path)
    assert nsa("example", "--new", "late_jobs").out == "late_jobs.py\n"
    assert "class LateJobs(UserProblem)" in (tmp_path / "late_jobs.py").read_text()
    assert nsa("generate", "late_jobs.py", "--size", 12, "--seed", 1, "-o", "jobs.json").code == 0
    done = nsa("solve", "jobs.json", "-p", "late_jobs.py", "--backend", "python", "--steps", 500, "--seed", 1)
    assert (done.code, done.json["problem"]) == (0, "late_jobs")
    assert "is there already" in nsa("example", "--new", "late_jobs").err
    for words, said in ((["3x"], "a name that Python can have"), (["x", "qap.py"], "leave out the example")):
        done = nsa("example", "--new", *words)
        assert (done.code, said in done.err) == (2, True)


@pytest.mark.slow
def test_a_new_problem_compiles(nsa, tmp_path, monkeypatch):
    """Compiled code says what Python says."""
    monkeypatch.chdir(tmp_path)
    nsa("example", "--new", "mine")
    assert "compiled code" in nsa("check-problem", "mine.py").out
