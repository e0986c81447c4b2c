"""Many instances in one call: files, file sets, instances in a file; bad ones among them."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nsa_cli
from nsa_cli.core.errors import InfeasibleError
from nsa_cli.policy.checkpoint import directories
from nsa_cli.problems.bin.instance import BinInstance

from helpers import KEYS, QUICK, command

OPTIONS = ("--seed", 1, *QUICK)

SACK = "3 7\n6 2\n5 3\n6 4\n"


@pytest.fixture
def bins(tmp_path):
    """Three instances in a file; the second has an item that fits no bin."""
    path = tmp_path / "bins.jsonl"
    lines = [
        {"name": "first", "weights": [0.5, 0.6, 0.4], "best_known": 2},
        {"name": "second", "weights": [0.5, 7]},
        {"name": "third", "weights": [0.5, 0.5]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def lines_of(done):
    return [json.loads(line) for line in done.out.splitlines()]


def test_several_files_are_a_line_each(nsa, square, tmp_path):
    """In their order, whatever the problem; each as if solved alone."""
    sack = tmp_path / "sack.txt"
    sack.write_text(SACK)
    done = nsa("solve", sack, square, sack, "--seed", 1, "--steps", 500)
    assert (done.code, done.err) == (0, "")
    results = lines_of(done)
    assert [r["problem"] for r in results] == ["knapsack", "tsp", "knapsack"]
    assert [r["objective"] for r in results] == [12, 140, 12]
    assert all(set(r) >= KEYS for r in results)
    assert [r["manifest"]["file"] for r in results] == [str(sack), str(square), str(sack)]


def test_batch_mates_change_no_answer(nsa, tmp_path):
    """Each instance of a file gets the answer that it gets alone."""
    rng = np.random.default_rng(1)
    records = [{"name": f"i{k}", "weights": rng.random(n).tolist()} for k, n in enumerate((9, 12, 9, 12, 9))]
    together, alone = tmp_path / "all.jsonl", tmp_path / "one.json"
    together.write_text("\n".join(map(json.dumps, records)))
    options = ("--seed", 5, "--steps", 200, "--init", "singletons")
    for record, line in zip(records, lines_of(nsa("solve", together, *options)), strict=True):
        alone.write_text(json.dumps(record))
        assert line["name"] == record["name"]
        assert line["solution"] == nsa("solve", alone, *options).json["solution"]


@pytest.mark.parametrize("fmt", ["json", "jsonl"])
def test_a_bad_file_does_not_stop_the_rest(nsa, square, bins, tmp_path, fmt):
    """Its error is a line on stderr and an object in its place; the exit code tells."""
    broken = tmp_path / "broken.tsp"
    broken.write_text("TYPE : TSP\nDIMENSION : x\n")
    done = nsa("solve", square, broken, tmp_path / "none.tsp", bins, *OPTIONS, "--format", fmt)
    assert (done.code, done.err.count("\n")) == (2, 3)
    results = lines_of(done)
    names = ["square", str(broken), str(tmp_path / "none.tsp"), "first", "second", "third"]
    assert [r["name"] for r in results] == names
    failed = [r for r in results if set(r) == {"name", "error"}]
    assert [r["name"] for r in failed] == [*names[1:3], "second"]
    for result in failed:
        assert f"nsa: error: {result['error']}\n" in done.err
    assert f"{bins}:2: item 2 does not fit" in done.err


def test_one_bad_file_alone_is_an_error_as_ever(nsa, tmp_path):
    """Nothing on stdout, unless lines were asked for."""
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert (nsa("solve", broken).code, nsa("solve", broken).out) == (2, "")
    done = nsa("solve", broken, "--format", "jsonl")
    assert (done.code, set(lines_of(done)[0])) == (2, {"name", "error"})
    assert done.err.count("\n") == 1
    done = nsa("solve", broken, broken)
    assert (done.code, len(lines_of(done))) == (2, 2)


def test_a_file_of_lines_has_the_errors_too(nsa, bins, tmp_path):
    """``-o x.jsonl`` is whole; a table has the answers."""
    output = tmp_path / "x.jsonl"
    done = nsa("solve", bins, "-o", output, *OPTIONS)
    assert (done.code, done.out) == (2, "")
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["name"] for line in lines] == ["first", "second", "third"]
    table = nsa("solve", bins, "--format", "table", *OPTIONS).out
    assert "first" in table
    assert "third" in table
    assert "second " not in table


@pytest.mark.parametrize(("wanted", "name"), [("third", "third"), ("3", "third"), ("1", "first")])
def test_one_instance_of_several(nsa, bins, wanted, name):
    """By its name or its number; a bad one beside it does no harm."""
    done = nsa("solve", bins, "--instance", wanted, *OPTIONS)
    assert (done.code, done.json["name"]) == (0, name)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("second", ":2: item 2 does not fit"),
        ("4", "--instance: there is no instance '4' in .*; it holds 3: first, second, third"),
        ("0", "no instance '0'"),
        ("other", "no instance 'other'"),
    ],
)
def test_an_instance_that_is_not_there(nsa, bins, wanted, message):
    """One line that says which there are."""
    done = nsa("solve", bins, "--instance", wanted)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search(message, done.err), done.err


def test_a_name_wins_over_a_number(nsa, tmp_path):
    """An instance called 2 is meant by 2; two of one name are not told apart."""
    path = tmp_path / "x.jsonl"
    path.write_text('{"name": "2", "weights": [1]}\n{"weights": [0.5, 0.5]}\n{"name": "a", "weights": [1]}\n')
    assert nsa("solve", path, "--instance", "2", *OPTIONS).json["n"] == 1
    done = nsa("solve", path, path, "--instance", "a")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "2 instances are called 'a'" in done.err


def test_a_file_an_instance(nsa, bins, square, tmp_path):
    """In a directory that is made; JSON by default; a failed one has no file."""
    out = tmp_path / "new" / "out"
    done = nsa("solve", square, bins, "-o", f"{out}/", *OPTIONS)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 2)
    names = ["first.json", "journal.jsonl", "square.json", "third.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert json.loads((out / "square.json").read_text())["objective"] == 140
    nsa("solve", square, "-o", out, "--format", "tour", *OPTIONS)
    assert (out / "square.tour").read_text().startswith("NAME : square.tour")


def test_names_of_files_are_safe_and_unique(nsa, tmp_path):
    """Nothing leaves the directory, nothing is written over, nothing is hidden."""
    names = ["../../up", "a/b", "a/B", "a_b", "", ".hidden", "x" * 300, "über", "con\u0000"]
    path = tmp_path / "i.jsonl"
    path.write_text("\n".join(json.dumps({"name": n, "weights": [1]}) for n in names))
    out = tmp_path / "out"
    done = nsa("solve", path, "-o", f"{out}/", "--quiet", *OPTIONS)
    assert (done.code, done.err) == (0, "")
    (out / "journal.jsonl").unlink()
    written = sorted(p.name for p in out.iterdir())
    assert len(written) == len(names) == len({name.lower() for name in written})
    assert all(name.endswith(".json") and not name.startswith(".") and len(name) < 140 for name in written)
    assert {"a_b.json", "a_B-2.json", "a_b-3.json", "i.json", "hidden.json"} <= set(written)
    assert {p.name for p in tmp_path.iterdir()} == {"i.jsonl", "out"}


def test_formats_of_one_answer_go_into_a_directory_only(nsa, bins, tmp_path):
    """Several answers are no CSV file, but several CSV files."""
    done = nsa("solve", bins, "--format", "csv")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert nsa("solve", bins, "--format", "csv", "-o", f"{tmp_path}/out/", *OPTIONS).code == 2
    assert (tmp_path / "out" / "first.csv").read_text().startswith("bin,item,weight\n")


@pytest.mark.parametrize(("fault", "code"), [(InfeasibleError("there is none"), 3), (MemoryError(), 1)])
def test_an_instance_that_fails_while_it_is_solved(nsa, bins, square, monkeypatch, fault, code):
    """Does not take those of its batch, or what is done, with it."""
    objective = BinInstance.objective

    def broken(self, solution):
        if self.name == "third":
            raise fault
        return objective(self, solution)

    monkeypatch.setattr(BinInstance, "objective", broken)
    done = nsa("solve", square, bins, "--instance", "third", *OPTIONS)
    assert (done.code, done.out, done.err.count("\n")) == (code, "", 1)
    assert "third: " in done.err
    bins.write_text(bins.read_text().replace(" 7]", " 0.7]").replace("[0.5, 0.6, 0.4]", "[0.5, 0.6]"))
    done = nsa("solve", square, bins, *OPTIONS)
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert ["objective" in line for line in lines_of(done)] == [True, True, True, False]
    assert lines_of(done)[3]["error"] in done.err


def test_lines_come_as_they_are_ready(tmp_path):
    """The first answer is there while a later one is still being worked on."""
    path = tmp_path / "i.jsonl"
    path.write_text('{"name": "soon", "weights": [1]}\n{"name": "never", "a": 1, "b": 100, "dim": 5}\n')
    words = command("solve", path, "--steps", 10**12)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        first = json.loads(process.stdout.readline())
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        second = json.loads(process.stdout.readline())
        assert process.wait(timeout=30) == 130
    assert (first["name"], first["status"]) == ("soon", "optimal")
    assert (second["name"], second["status"]) == ("never", "interrupted")


def test_the_manifest_says_how_to_get_the_answer_again(nsa, square):
    """Version, seed, what was asked for, the policy's hash, the machine."""
    options = ("--chains", 2, "--steps", "10N", "--no-bound")
    result = nsa("solve", square, *options).json
    manifest = result["manifest"]
    assert (manifest["version"], manifest["seed"]) == (nsa_cli.__version__, result["seed"])
    assert manifest["settings"] == {"chains": 2, "steps": "10N", "bound": False}
    assert set(manifest["machine"]) == {"platform", "python", "numpy", "torch", "cpus"}
    (file,) = (f for d in directories() if (f := Path(d) / f"{result['policy']}.json").is_file())
    assert manifest["policy_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    uniform = nsa("solve", square, "--policy", "uniform", *OPTIONS).json["manifest"]
    assert (uniform["policy_sha256"], uniform["settings"]["policy"]) == (None, "uniform")
    again = nsa("solve", square, "--seed", manifest["seed"], *options).json
    assert again["solution"] == result["solution"]
