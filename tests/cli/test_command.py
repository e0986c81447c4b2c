"""Settings on the command line: options made of fields, and objects made of options."""

import re
from dataclasses import dataclass, replace

import pytest
import typer

from nsa_cli.cli.command import GroupedCommand, command
from nsa_cli.core.errors import UsageError
from nsa_cli.core.options import SEARCH, parse_count, parse_flag, read_settings, setting
from nsa_cli.solver.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Few:
    """Some settings of each kind.

    Attributes
    ----------
    count : int, optional
        How many.
    fast : bool
        Take your
        time.
    from_ : tuple of str
        Where from.
    inner : int
        No option.
    """

    count: int | None = setting(None, SEARCH, parse_count, "N")
    fast: bool = setting(True, SEARCH, parse_flag)
    from_: tuple[str, ...] = setting((), SEARCH, short=("-f",))
    inner: int = setting(7, read=parse_count)

    def __post_init__(self) -> None:
        read_settings(self)


def _command(name: str, few: Few, loud: bool = False) -> int:
    return print(name, few, loud) or 0


def run(*arguments):
    """Run the command by itself."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(cls=GroupedCommand)(command(_command))
    typer.main.get_command(app).main([*arguments], standalone_mode=False)


def test_a_command_gets_objects_of_the_options(capsys):
    """Typed, with a flag that makes something false, repeated words, and its own options beside them."""
    run("x", "--count", "3", "--no-fast", "-f", "a", "--from", "b", "--loud")
    assert capsys.readouterr().out == f"x {Few(count=3, fast=False, from_=('a', 'b'))} True\n"
    run("y")
    assert capsys.readouterr().out == f"y {Few()} False\n"


def test_the_help_is_what_the_docstring_says(capsys):
    """Under the heading of each; what people need first is under the first one."""
    run("--help")
    text = capsys.readouterr().out
    assert re.search(r"Options:\n +-f, --from \S+ +Where from.\n", text)
    assert re.search(r"Search:\n +--count N +How many.\n +--no-fast +Take your time.\n", text)


@pytest.mark.parametrize("wrong", ["--inner", "--fast"])
def test_what_has_no_heading_is_no_option(wrong):
    """Nor is the name of a flag that makes it false."""
    with pytest.raises(Exception, match=f"No such option.*{wrong}"):
        run("x", wrong)


def test_a_value_that_cannot_be_is_refused_by_name():
    """In the words of its reader."""
    with pytest.raises(UsageError, match=r"^count: expected a whole number from 1 on, got 'many'"):
        run("x", "--count", "many")


@pytest.mark.parametrize(
    "given",
    [
        {"steps": "10N2", "time_limit": "500ms", "gap": "1%", "chains": "auto"},
        {"no_improvement": "2s", "t_start": "auto", "t_end": "0.5", "target": "7", "seed": 3},
        {"no_improvement": "10N", "steps": 1e6, "threads": 2, "bound": False, "unit": 2.0},
    ],
    ids=str,
)
def test_what_was_read_is_read_as_the_same(given):
    """So that settings can be replaced one by one."""
    settings = Settings(**given)
    assert replace(settings, init="greedy", started=settings.started) == replace(settings, init="greedy")
    assert replace(settings) == settings
