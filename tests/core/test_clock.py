"""The clock of a run: when it must end, and why."""

import math
import time

from nsa_cli.core.clock import Clock


def test_a_clock_ends_a_run_when_its_time_is_over():
    """Before it nothing happens; without a limit never."""
    assert Clock.of(60.0).reason() is None
    assert Clock.of(1.0, began=time.monotonic() - 2).reason() == "time_limit"
    assert (Clock().left, Clock().is_limited, Clock.of(None).left) == (math.inf, False, math.inf)
    assert Clock.of(1.0, began=time.monotonic() - 2).left == 0.0


def test_a_clock_asks_each_time():
    """It keeps no state; time over goes before a wish."""
    asked = []
    clock = Clock(asked=lambda: bool(asked))
    assert clock.reason() is None
    asked.append(1)
    assert clock.reason() == "interrupted"
    assert Clock.of(0.0, asked=lambda: True).reason() == "time_limit"


def test_a_part_of_the_time_left_is_a_clock():
    """That began when the whole did; without a limit it has none, either."""
    whole = Clock.of(10.0)
    part = whole.part(0.5)
    assert part.began == whole.began
    assert 4.5 < part.left <= 5.0
    assert Clock().part(0.5).left == math.inf
