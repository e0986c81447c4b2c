"""Settings are checked once, when they are made, with the same words in Python and on the command line."""

import json

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.cli.main import exit_code
from nsa_cli.core.options import Patience, Steps
from nsa_cli.solver.settings import Settings


def test_fields_hold_typed_values():
    """Texts are parsed at the border."""
    settings = Settings(steps="10N2", gap="1%", no_improvement="2s", chains="auto", t_start="0.5")
    assert settings.steps == Steps(10.0, 2)
    assert settings.no_improvement == Patience(seconds=2.0)
    assert (settings.gap, settings.chains, settings.t_start) == (0.01, None, 0.5)


def test_what_was_given_is_told_as_it_can_be_given_again():
    """Ready for JSON, without seed and clock; the same settings come of it."""
    settings = Settings(steps="3N", no_improvement=40, seed=5, gap=0.5, init=np.arange(3))
    given = settings.given()
    expected = {"steps": "3N", "no_improvement": 40, "gap": 0.5, "init": "given"}
    assert json.loads(json.dumps(given)) == expected
    assert Settings(**given).given() == given


BAD = [
    *({"steps": "ten"}, {"seed": -1}, {"device": "gpu"}, {"method": "magic"}, {"threads": 0}),
    *({"schedule": "wavy"}, {"time_limit": -1.0}, {"no_improvement": "soon"}),
]


@pytest.mark.parametrize("option", BAD, ids=str)
def test_python_and_the_command_line_refuse_alike(option, tmp_path, capsys):
    """One message: the option, what was expected, what was got."""
    with pytest.raises(nsa.UsageError) as caught:
        Settings(**option)
    (name, value), message = next(iter(option.items())), caught.value.message
    assert str(caught.value) == f"{name}: {message}"
    file = tmp_path / "tour.json"
    file.write_text(json.dumps({"coords": [[0, 0], [1, 0], [0, 1]]}))
    assert exit_code(["solve", str(file), f"--{name.replace('_', '-')}={value}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"nsa: error: --{name.replace('_', '-')}: expected ")
    assert message.split(", got")[0] in error


def test_options_that_contradict_each_other_are_refused_with_what_to_leave_out():
    """Named as data, spelt by whoever shows it."""
    with pytest.raises(nsa.UsageError, match="leave out bound=False") as caught:
        Settings(gap=0.1, bound=False)
    assert (caught.value.option, caught.value.drop) == ("gap", {"bound": False})


def test_a_unit_is_a_cost_above_nothing():
    """As `nsa solve -v` shows it."""
    assert (Settings(unit="83.7").unit, Settings(unit="2309").unit) == (83.7, 2309)
    with pytest.raises(nsa.UsageError, match="unit: expected a number above 0, got 0"):
        Settings(unit=0)
