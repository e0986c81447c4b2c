"""Rules that end a run between chunks."""

import time

from nsa_cli.anneal.stop import Deadline, Interrupt, Progress, first_reason

HALFWAY = Progress(step=5, steps=10, temperature=0.5, acceptance=0.1, best=3.0)


def test_a_deadline_stops_when_it_has_passed():
    """Before it nothing happens, after it the run is out of time."""
    assert Deadline(time.monotonic() + 60)(HALFWAY) is None
    assert Deadline(time.monotonic() - 1)(HALFWAY) == "time_limit"


def test_an_interrupt_asks_each_time():
    """A rule keeps no state: the same object can serve a second run."""
    asked = []
    rule = Interrupt(lambda: bool(asked))
    assert rule(HALFWAY) is None
    asked.append(1)
    assert rule(HALFWAY) == "interrupted"


def test_the_first_rule_with_a_reason_wins():
    """Rules are asked in order."""
    rules = (lambda _: None, lambda _: "second", lambda _: "third")
    assert first_reason(rules, HALFWAY) == "second"
    assert first_reason((), HALFWAY) is None
