"""Certificates: written by a solve, checked without a solver, refused where they are false."""

import json

import numpy as np
import pytest

#: Bound by prices: 3 bins, where functions of the weights say 2.
PRICED = {"weights": [15, 13, 11, 9, 8, 2], "capacity": 29}


@pytest.fixture
def proved(nsa, tmp_path):
    """An instance, its answer and its certificate, as files."""
    paths = [tmp_path / name for name in ("i.json", "answer.json", "proof.json")]
    paths[0].write_text(json.dumps(PRICED))
    done = nsa("solve", paths[0], "-o", paths[1], "--certificate", paths[2], "--seed", 1)
    assert done.code == 0, done.err
    return paths


def test_a_certificate_proves_an_answer(nsa, proved):
    """In exact arithmetic, whatever the instance is called."""
    instance, answer, proof = proved
    data = json.loads(proof.read_text())
    assert (data["format"], data["problem"], data["bound"]) == ("nsa-certificate-1", "bin", 3)
    assert len(data["prices"]) == 6
    instance.write_text(json.dumps({"name": "other", **PRICED}))
    done = nsa("check", instance, answer, "--certificate", proof, "--format", "json")
    assert (done.code, done.json["status"], done.json["bound"]["method"]) == (0, "optimal", "certificate")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"bound": 4}, "proves 3"),
        ({"bound": True}, "proves 3"),
        ({"bound": None}, "proves 3"),
        ({"bound": "3"}, "proves 3"),
        ({"format": "nsa-certificate-2"}, "format"),
        ({"problem": "tsp"}, "problem"),
        ({"instance": "0" * 64}, "another instance"),
        ({"most": 1}, "does not hold"),
        ({"most": 0}, "does not hold"),
        ({"most": 10**12}, "does not hold"),
        ({"most": 2.5}, "does not hold"),
        ({"prices": [999] * 6}, "does not hold"),
        ({"prices": [-1] * 6}, "does not hold"),
        ({"prices": [1] * 5}, "does not hold"),
        ({"prices": [True] * 6}, "does not hold"),
        ({"prices": None}, "does not hold"),
        ({"prices": {"0": 1}}, "does not hold"),
    ],
)
def test_altered_certificates_are_refused(nsa, proved, changes, word):
    """With exit code 2 and a line that says why."""
    instance, answer, proof = proved
    proof.write_text(json.dumps({**json.loads(proof.read_text()), **changes}))
    done = nsa("check", instance, answer, "--certificate", proof)
    assert (done.code, word in done.err, done.err.count("\n")) == (2, True, 1)


def test_of_another_instance_it_is_refused(nsa, proved):
    instance, answer, proof = proved
    instance.write_text(json.dumps({**PRICED, "capacity": 30}))
    done = nsa("check", instance, answer, "--certificate", proof)
    assert (done.code, "another instance" in done.err) == (2, True)


def test_what_has_no_certificate_says_so(nsa, tmp_path):
    """The answer comes all the same."""
    proof = tmp_path / "proof.json"
    done = nsa("solve", "-", "--certificate", proof, "--no-bound", "--steps", 10, data=json.dumps(PRICED))
    assert (done.code, "no certificate" in done.err, proof.exists()) == (0, True, False)
    done = nsa("solve", "-", "--certificate", "-", data=json.dumps(PRICED))
    assert done.code == 2


def test_few_cities_whose_tours_are_all_tried_are_proved_for_a_certificate(nsa, tmp_path):
    instance, answer, proof = (tmp_path / name for name in ("i.json", "answer.json", "proof.json"))
    for size in (4, 9):
        coords = np.random.default_rng(size).random((size, 2)).tolist()
        instance.write_text(json.dumps({"coords": coords, "open": size == 9}))
        done = nsa("solve", instance, "-o", answer, "--certificate", proof)
        assert done.code == 0, done.err
        assert json.loads(answer.read_text())["bound"]["method"] == "enumeration"
        checked = nsa("check", instance, answer, "--certificate", proof, "--format", "json")
        assert (checked.code, checked.json["status"]) == (0, "optimal")


def test_long_witnesses_are_in_certificates_only(nsa, tmp_path):
    data = json.dumps({"coords": np.random.default_rng(3).random((200, 2)).tolist()})
    instance, proof = tmp_path / "i.json", tmp_path / "proof.json"
    instance.write_text(data)
    done = nsa("solve", instance, "--steps", 50, "--seed", 1, "--certificate", proof)
    if done.json["bound"]["method"] == "held-karp":
        assert done.json["bound"]["witness"] is None
        assert len(json.loads(proof.read_text())["potentials"]) == 200
    answer = tmp_path / "a.json"
    answer.write_text(done.out)
    checked = nsa("check", instance, answer, "--certificate", proof, "--format", "json")
    assert (checked.code, checked.json["bound"]["value"]) == (0, done.json["bound"]["value"])
