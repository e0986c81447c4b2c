"""Devices by their names, where there are some and where there are none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import nsa_cli as nsa
from nsa_cli.cli.main import exit_code
from nsa_cli.problems import find_problem
from nsa_cli.solver.search import choose_device, choose_search
from nsa_cli.solver.settings import Settings

Captured = pytest.CaptureFixture[str]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a device, and PyTorch that could drive one."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "12.8")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two devices, as far as choosing goes."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr("nsa_cli.solver.search._may_have_cuda", lambda: True)
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)
    monkeypatch.delenv("LOCAL_RANK", raising=False)


def said(name: str) -> str:
    with pytest.raises(nsa.UsageError) as caught:
        choose_device(name)
    assert caught.value.option == "device"
    return str(caught.value)


@pytest.mark.parametrize("name", ["cuda", "cuda:1"])
def test_no_device_is_one_line_that_says_what_to_do(none: None, name: str) -> None:
    """And whether it is the machine or PyTorch that lacks it."""
    assert said(name) == f"device: no CUDA device: none on this machine, got {name}; use device='cpu'"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.version, "cuda", None)
        built = re.escape(f"PyTorch {torch.__version__} is built without CUDA")
        assert re.fullmatch(rf"device: no CUDA device: {built}, got {name}; use device='cpu'", said(name))
    assert choose_device("auto", reference=True) == "cpu"
    with pytest.raises(nsa.UsageError, match=r"^device: no CUDA device: .*; use device='cpu'$"):
        nsa.solve(EXAMPLES / "capitals.csv", device=name)


@pytest.mark.parametrize(
    "arguments",
    [
        "solve examples/capitals.csv --method large-step",
        "solve examples/cutting.json examples/valley.json",
        "train tsp --out policy.json",
        "benchmark tsp --sizes 20",
    ],
)
def test_every_command_says_it_before_it_begins(
    none: None,
    arguments: str,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Exit code 2, nothing on stdout, no file."""
    monkeypatch.chdir(tmp_path)
    words = arguments.replace("examples", str(EXAMPLES)).split()
    assert exit_code([*words, "--device", "cuda"]) == 2
    told = capsys.readouterr()
    line = "nsa: error: --device: no CUDA device: none on this machine, got cuda; use --device cpu\n"
    assert (told.out, told.err) == ("", line)
    assert [*tmp_path.iterdir()] == []


def test_a_device_is_taken_by_its_number(two: None) -> None:
    """Numbers count from 0; what is not there is refused, and what is no device at all."""
    assert choose_device("cpu") == "cpu"
    assert choose_device("cuda") == "cuda:0"
    assert choose_device("cuda:1") == "cuda:1"
    there = "device: no such CUDA device: there are 2, counted from 0;"
    assert said("cuda:2") == f"{there} got cuda:2; use device='cpu'"
    assert said("tpu") == "device: expected auto, cpu, cuda or cuda:N, got 'tpu'"


def test_each_process_of_a_machine_has_a_device_of_its_own(
    two: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the number that torchrun gives it; a device that is named is taken as it is."""
    told = {"WORLD_SIZE": "8", "RANK": "5", "MASTER_ADDR": "here", "MASTER_PORT": "29500"}
    for name, text in told.items():
        monkeypatch.setenv(name, text)
    for rank in ("0", "1"):
        monkeypatch.setenv("LOCAL_RANK", rank)
        assert choose_device("cuda") == f"cuda:{rank}"
        assert choose_device("cuda:1") == "cuda:1"
        assert choose_device("cpu") == "cpu"
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert "counted from 0; process 2 of this machine asks for cuda:2; use device='cpu'" in said("cuda")


def test_a_device_that_cannot_be_used_is_no_traceback(two: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be in use by others."""

    def busy(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA error: all devices are busy\nCUDA kernel errors might be reported later")

    monkeypatch.setattr(torch, "empty", busy)
    assert said("cuda:1") == (
        "device: cuda:1 cannot be used: CUDA error: all devices are busy; use device='cpu'"
    )


def test_by_default_a_device_is_taken_by_the_reference_only(two: None) -> None:
    """Kernels and large steps, which do better, run on a CPU."""
    assert choose_device("auto") == "cpu"
    assert choose_device("auto", reference=True) == "cuda:0"
    (task,) = nsa.generate("tsp", 30, seed=1)
    for options, kind in (({}, "large-step"), ({"method": "anneal"}, "anneal")):
        found = choose_search(task, "tsp-es-nearest", Settings(**options))
        assert (found.method, found.backend, found.device) == (kind, "numba", "cpu")


def test_large_steps_are_refused_on_a_device(two: None) -> None:
    """If they are asked for; else it is annealing."""
    (task,) = nsa.generate("tsp", 30, seed=1)
    with pytest.raises(nsa.UsageError, match=r"^method: large-step .* on a CPU; use device='cpu'$"):
        choose_search(task, "uniform", Settings(device="cuda", method="large-step"))
    with pytest.raises(nsa.UsageError, match=r"^backend: numba runs on a CPU only; use backend='torch'$"):
        choose_search(task, "uniform", Settings(device="cuda", backend="numba"))


def test_own_problems_are_refused_on_a_device_by_name(two: None) -> None:
    """Their functions are compiled for a CPU; with `auto` they run there."""
    own = find_problem(f"{EXAMPLES / 'maxcut.py'}:MaxCut")
    assert choose_device("auto", own, reference=True) == "cpu"
    with pytest.raises(nsa.UsageError) as caught:
        choose_device("cuda", own)
    assert str(caught.value) == (
        f"device: the functions of {own.name}, a problem of your own, run on a CPU only, got cuda; "
        "use device='cpu'"
    )
    assert choose_device("cuda", find_problem("bin")) == "cuda:0"
