"""`nsa solve` as a user meets it."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from helpers import KEYS, QUICK


def cities(path, count, seed=0):
    """Write random cities as JSON."""
    path.write_text(json.dumps({"coords": np.random.default_rng(seed).random((count, 2)).tolist()}))
    return path


def test_the_result_has_the_keys_of_the_contract(nsa, square):
    """All of them, in one strict JSON document."""
    done = nsa("solve", square, "--seed", 1, *QUICK)
    assert done.code == 0
    assert done.err == ""
    result = done.json
    assert set(result) >= KEYS
    assert result["problem"] == "tsp"
    assert result["name"] == "square"
    assert result["n"] == 4
    assert result["status"] == "optimal"
    assert result["stop_reason"] == "optimal"
    assert result["objective"] == 140
    assert isinstance(result["objective"], int)
    assert result["distance"] == "EUC_2D (rounded)"
    assert sorted(result["solution"]) == [1, 2, 3, 4]
    assert (result["bound"]["value"], result["bound"]["method"]) == (140, "enumeration")
    assert result["gap"] == 0.0
    assert result["best_known"] is None
    assert set(result["seconds"]) == {"load", "setup", "solve", "bound", "total"}


INSTANCES = {
    "knapsack": ({"values": [6, 10, 12], "weights": [1, 2, 3], "capacity": 5}, 22, [2, 3]),
    "bin": ({"weights": [4, 8, 1, 4, 2, 1], "capacity": 10}, 2, None),
    "tsp": ({"coords": [[0, 0], [0, 1], [1, 1], [1, 0]]}, 4.0, None),
    "rosenbrock": ({"a": 1, "b": 100}, None, None),
}


@pytest.mark.parametrize("name", list(INSTANCES))
def test_every_problem_is_recognised_and_solved(nsa, tmp_path, name):
    """By its keys alone; small instances to the optimum."""
    data, objective, solution = INSTANCES[name]
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(data))
    result = nsa("solve", path, "--seed", 3).json
    assert result["problem"] == name
    if objective is not None:
        assert result["objective"] == objective
    else:
        assert 0 <= result["objective"] < 1e-3
    if solution is not None:
        assert result["solution"] == solution


def test_the_same_seed_gives_the_same_answer_whatever_else_is_asked(nsa_process, tmp_path):
    """Log level and threads change nothing; another seed does; a drawn seed is told."""
    path = cities(tmp_path / "cities.json", 40)
    quick = ("--steps", "300", "--init", "random")
    first = nsa_process("solve", path, "--seed", 1, *quick).json
    assert first["seed"] == 1
    for extra in (["-v"], ["--threads", "2"]):
        again = nsa_process("solve", path, "--seed", 1, *quick, *extra).json
        assert again["solution"] == first["solution"]
        assert again["objective"] == first["objective"]
    drawn = nsa_process("solve", path, *quick).json
    assert drawn["solution"] != first["solution"]
    again = nsa_process("solve", path, "--seed", drawn["seed"], *quick).json
    assert again["solution"] == drawn["solution"]


def test_batch_mates_change_no_answer(nsa, tmp_path):
    """Each instance of a file gets the answer that it gets alone."""
    rng = np.random.default_rng(1)
    records = [{"name": f"i{k}", "weights": rng.random(n).tolist()} for k, n in enumerate((9, 12, 9, 12, 9))]
    together = tmp_path / "all.jsonl"
    together.write_text("\n".join(json.dumps(r) for r in records))
    options = ("--seed", 5, "--steps", 200, "--init", "singletons")
    lines = nsa("solve", together, *options).out.splitlines()
    assert len(lines) == 5
    for record, line in zip(records, lines, strict=True):
        alone = tmp_path / "one.json"
        alone.write_text(json.dumps(record))
        result = nsa("solve", alone, *options).json
        assert json.loads(line)["name"] == record["name"]
        assert json.loads(line)["solution"] == result["solution"]


def test_standard_input_and_compressed_files_are_read(nsa, nsa_process, square, tmp_path):
    """``-`` reads a pipe; a gzip file is its content."""
    piped = nsa_process("solve", "-", *QUICK, data=square.read_text())
    assert piped.json["objective"] == 140
    packed = tmp_path / "square.tsp.gz"
    packed.write_bytes(gzip.compress(square.read_bytes()))
    assert nsa("solve", packed, *QUICK).json["objective"] == 140


def test_generate_pipes_into_solve(nsa_process):
    """As the README shows."""
    made = nsa_process("generate", "bin", "--size", 20, "--count", 3, "--seed", 1)
    solved = nsa_process("solve", "-", "--steps", 50, data=made.out)
    assert solved.code == 0
    assert len(solved.out.splitlines()) == 3


@pytest.mark.parametrize(
    ("fmt", "beginning"),
    [
        ("json", "{\n"),
        ("jsonl", '{"problem"'),
        ("table", "problem    tsp\n"),
        ("csv", "position,id,length_to_next\n"),
        ("tour", "NAME : square.tour\nCOMMENT : Length = 140\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n"),
    ],
)
def test_every_format_is_written(nsa, square, fmt, beginning):
    """On stdout, alone."""
    done = nsa("solve", square, "--format", fmt, *QUICK)
    assert done.code == 0
    assert done.out.startswith(beginning)
    assert done.out.endswith("\n")


@pytest.mark.parametrize("suffix", ["json", "tour", "csv", "jsonl", "txt"])
def test_a_file_name_tells_the_format(nsa, square, tmp_path, suffix):
    """``-o x.tour`` is a tour; stdout stays empty."""
    output = tmp_path / f"x.{suffix}"
    done = nsa("solve", square, "-o", output, *QUICK)
    assert (done.code, done.out) == (0, "")
    asked = nsa("solve", square, "--format", {"txt": "table"}.get(suffix, suffix), *QUICK).out
    assert output.read_text()[:20] == asked[:20]


def test_a_written_answer_starts_the_next_run(nsa, square, tmp_path):
    """As a tour and as a result in JSON."""
    for name in ("x.tour", "x.json"):
        assert nsa("solve", square, "-o", tmp_path / name, *QUICK).code == 0
        result = nsa("solve", square, "--init", tmp_path / name, "--steps", 0).json
        assert result["objective"] == 140
        assert result["start"] == "given"


def test_the_answer_is_never_worse_than_the_start(nsa, tmp_path):
    """At a temperature that accepts everything, the start is still the best."""
    path = cities(tmp_path / "cities.json", 30)
    start = nsa("solve", path, "--steps", 0).json["objective"]
    hot = nsa("solve", path, "--steps", 20, "--t-start", 1e6, "--t-end", 1e6, "--chains", 1).json
    assert hot["objective"] <= start
    assert hot["accepted"] == 20


def test_a_broken_start_is_refused_naming_the_city(nsa, square, tmp_path):
    """A city twice, a city unknown, a city missing."""
    for ids, word in (("1 2 2 4", "2"), ("1 2 3 9", "9"), ("1 2 3", "4")):
        tour = tmp_path / "bad.tour"
        tour.write_text(f"TYPE : TOUR\nTOUR_SECTION\n{ids}\n-1\n")
        done = nsa("solve", square, "--init", tour)
        assert done.code == 2
        assert f"city {word}" in done.err


def test_missing_data_are_given_by_options(nsa, tmp_path):
    """A capacity beside a table; parameters beside a problem's name."""
    table = tmp_path / "items.csv"
    table.write_text("weight,value\n4,8\n5,10\n8,15\n3,4\n")
    result = nsa("solve", table, "--capacity", 11).json
    assert (result["objective"], result["solution"]) == (19, [3, 4])
    refused = nsa("solve", table, "--problem", "knapsack")
    assert refused.code == 2
    assert "--capacity" in refused.err
    valley = nsa("solve", "rosenbrock", "--set", "a=2", "--set", "b=1", "--seed", 1).json
    assert valley["a"] == 2
    assert valley["solution"] == pytest.approx([2, 4], abs=0.1)
    typo = nsa("solve", table, "--capacity", 11, "--set", "capcity=11")
    assert typo.code == 2
    assert "capcity" in typo.err


def test_known_optima_give_a_gap(nsa, tmp_path):
    """Relative to the best known; 0 when it is reached."""
    path = tmp_path / "b.json"
    path.write_text(json.dumps({"weights": [5, 5, 5, 5], "capacity": 10, "best_known": 2}))
    result = nsa("solve", path, *QUICK).json
    assert (result["objective"], result["best_known"], result["gap"]) == (2, 2, 0.0)
    path.write_text(json.dumps({"weights": [6, 6], "capacity": 10, "best_known": 1}))
    assert nsa("solve", path, *QUICK).json["gap"] == 1.0


def test_a_time_limit_ends_a_long_run(nsa, tmp_path):
    """With an answer, and a status that says why."""
    path = cities(tmp_path / "cities.json", 60)
    begin = time.monotonic()
    result = nsa("solve", path, "--steps", "1000000", "--time-limit", "1").json
    assert time.monotonic() - begin < 30
    assert (result["status"], result["stop_reason"]) == ("time_limit", "time_limit")
    assert 0 < result["steps"] < 1_000_000


def test_an_interrupt_gives_the_best_so_far(interrupted, tmp_path):
    """Complete output, status interrupted, the exit code of the signal."""
    path = cities(tmp_path / "cities.json", 60)
    numbers = (signal.SIGINT, signal.SIGTERM)
    found = interrupted("solve", path, "--steps", 10**8, numbers=numbers, after=2.0)
    assert [done.code for done in found] == [130, 143]
    for done in found:
        assert done.err == ""
        assert done.json["status"] == "interrupted"
        assert sorted(done.json["solution"]) == list(range(1, 61))


@pytest.mark.parametrize("wait", [0.06, 0.12, 0.18, 0.24, 0.3, 0.5])
def test_an_interrupt_at_any_moment_is_no_traceback(interrupted, tmp_path, wait):
    """While the program is still being loaded there is no solution: one line, or an answer."""
    path = cities(tmp_path / "cities.json", 30)
    (done,) = interrupted("solve", path, "--steps", 10**8, numbers=[signal.SIGINT], after=wait)
    if done.code != 130 and "nsa" not in done.err:
        pytest.skip("Python itself was not there yet")
    assert done.code == 130
    assert "Traceback" not in done.err
    assert done.json["status"] == "interrupted" if done.out else done.err.count("\n") <= 1


def test_a_closed_pipe_is_silent(square):
    """``nsa solve … | head -c 1`` ends without a word."""
    command = f"{sys.executable} -m nsa_cli solve {square} --steps 10 | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "{"
    assert done.stderr == ""


HEAD = b"TYPE : TSP\nDIMENSION : 2\nEDGE_WEIGHT_TYPE : EUC_2D\n"

BAD = {
    "no such file": (None, "no such file"),
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "binary": (b"\x00\x01\x02", "is binary"),
    "prose": (b"Dear sir,\nplease find a tour.\n", "not recognised|cannot tell|cells"),
    "broken json": (b'{"weights": [1,\n 2', ":2: not valid JSON"),
    "nan": (b'{"weights": [NaN]}', "NaN"),
    "negative weight": (b'{"capacity": 3, "weights": [1,\n -2]}', ":2: .*-2"),
    "text for a number": (b'{"capacity": 3, "weights": [1,\n 2,\n "x"]}', ":3: .*'x'"),
    "oversize item": (b'{"capacity": 3,\n "weights": [1,\n 2,\n 5]}', ":4: item 3 .* 5 > capacity 3"),
    "no capacity": (b'{"values": [1], "weights": [1]}', "capacity"),
    "wrong count": (b'{"values": [1, 2], "weights": [1], "capacity": 1}', "expected 2"),
    "missing section": (HEAD, ":3: NODE_COORD_SECTION is missing"),
    "city with text": (HEAD + b"NODE_COORD_SECTION\n1 0 0\n2 x 0\nEOF\n", ":6: .*'x'"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input_is_one_line_with_the_place(nsa, tmp_path, case):
    """Exit code 2, file and line on stderr, nothing on stdout, no output file."""
    content, pattern = BAD[case]
    path, output = tmp_path / "bad.txt", tmp_path / "out.json"
    if content is not None:
        path.write_bytes(content)
    done = nsa("solve", path, "-o", output)
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert str(path) in done.err
    assert re.search(pattern, done.err), done.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ([] if content is None else ["bad.txt"])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--steps", "many"], "--steps"),
        (["--steps", "-1"], "steps"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "x"], "--seed"),
        (["--device", "tpu"], "--device"),
        (["--policy", "nonsense"], "nonsense"),
        (["--greedy", "--policy", "uniform"], "--greedy"),
        (["--chains", "0"], "--chains"),
        (["--chains", "many"], "or auto"),
        (["--threads", "0"], "--threads"),
        (["--t-start", "0"], "geometric"),
        (["--schedule", "cubic"], "schedule"),
        (["--init", "nonsense"], "nonsense"),
        (["--problem", "nonsense"], "nonsense"),
        (["--problem", "knapsack"], "square.tsp"),
        (["--format", "xml"], "xml"),
        (["-o", "/nowhere/x.json"], "/nowhere"),
        (["--set", "x"], "KEY=VALUE"),
        (["--nonsense"], "--nonsense"),
        (["--time-limit", "-1"], "--time-limit"),
    ],
)
def test_bad_options_are_one_line(nsa, square, options, word):
    """Exit code 2, the option's name or the value on stderr, nothing on stdout."""
    done = nsa("solve", square, *options)
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert re.search(word, done.err), done.err


def test_auto_is_what_chains_are_by_default(nsa, square):
    """The word that says so is taken, too."""
    numbers = [nsa("solve", square, "--seed", 1, *more).json["chains"] for more in ((), ("--chains", "auto"))]
    assert numbers[0] == numbers[1] > 0


@pytest.mark.parametrize(
    "options", [["--threads", "0"], ["--backend", "gpu"], ["--method", "tabu"]], ids=lambda o: o[0]
)
def test_a_bad_choice_is_refused_whichever_method_is_taken(nsa, tmp_path, options):
    """Large-step chains ask for less than annealing does, and refuse as much."""
    done = nsa("solve", cities(tmp_path / "cities.json", 30), *options)
    assert (done.code, done.out) == (2, "")
    assert options[0] in done.err


def test_a_directory_is_no_instance(nsa, tmp_path):
    """With a word about what to give."""
    assert "is a directory" in nsa("solve", tmp_path).err


def test_an_existing_output_survives_an_error(nsa, tmp_path):
    """Nothing is lost when the input is bad."""
    output = tmp_path / "precious.json"
    output.write_text("precious")
    (tmp_path / "bad.json").write_text("{")
    assert nsa("solve", tmp_path / "bad.json", "-o", output).code == 2
    assert output.read_text() == "precious"


def test_internal_faults_are_one_line_and_code_1(nsa, square, monkeypatch):
    """Even a fault of ours is no traceback for the user."""
    from nsa_cli.problems.tsp.instance import TspInstance

    def broken(self, solution):
        raise RuntimeError("broken\nin two lines")

    monkeypatch.setattr(TspInstance, "objective", broken)
    done = nsa("solve", square, *QUICK)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "RuntimeError" in done.err


def test_help_version_and_wrong_commands(nsa):
    """Help and version on stdout; a wrong command is one line."""
    assert "Usage" in nsa("--help").out
    assert nsa().out == nsa("--help").out
    assert nsa("--version").out.startswith("nsa ")
    wrong = nsa("nonsense")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)


def test_warnings_do_not_reach_stdout(nsa, tmp_path):
    """Coordinates too small for a rounding type: an answer, and a word on stderr."""
    path = tmp_path / "tiny.tsp"
    path.write_text(
        "NAME : tiny\nTYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n"
        "1 0 0\n2 .1 .1\n3 0 .1\n4 .1 0\nEOF\n"
    )
    done = nsa("solve", path, *QUICK)
    assert done.json["objective"] == 0
    assert "warning" in done.err
    assert nsa("solve", path, "-q", *QUICK).err == ""


def test_a_full_device_is_no_traceback(square, tmp_path):
    """What cannot be written is one line."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    command = [sys.executable, "-m", "nsa_cli", "solve", str(square), "--steps", "5"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, cwd=tmp_path
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
