"""Tours as a person reads them: a line a stop, with the leg that leads to it and the length up to there."""

from __future__ import annotations

from collections.abc import Sequence

from nsa_cli.core.instance import Number, Solution
from nsa_cli.core.record import Source
from nsa_cli.problems.tsp.instance import TspInstance


def write(instance: TspInstance, tour: Solution) -> str:
    """Write a tour; a closed one ends with the return to its first stop."""
    unit = f" ({instance.unit})" if instance.unit else ""
    _, rows = instance.table(tour)
    stops, legs, lengths = ([row[i] for row in rows] for i in (1, 2, 3))
    if instance.route.open:
        legs.pop()
    else:
        stops, lengths = [*stops, stops[0]], [*lengths, lengths[-1] + legs[-1]]
    numbers = ["-", *_aligned(legs)], _aligned(lengths)
    lines = [("position", "stop", f"leg{unit}", f"length{unit}")]
    lines += zip(map(str, range(1, len(stops) + 1)), map(str, stops), *numbers, strict=True)
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        f"{place:<{wide[0]}}  {stop:<{wide[1]}}  {leg:>{wide[2]}}  {length:>{wide[3]}}\n"
        for place, stop, leg, length in lines
    )


def _aligned(numbers: Sequence[Number]) -> list[str]:
    """Write numbers with the decimals that six digits leave for the largest one."""
    if all(isinstance(number, int) or number.is_integer() for number in numbers):
        return [f"{number:.0f}" for number in numbers]
    decimals = max(6 - len(f"{max(numbers):.0f}"), 0)
    return [f"{number:.{decimals}f}" for number in numbers]


def read(source: Source) -> list[str]:
    """Read the stops of such a table.

    Raises
    ------
    InputError
        If a line has less than four columns.
    """
    stops = []
    for number, line in enumerate(source.text.rstrip().split("\n")[1:], start=2):
        cells = line.split(None, 1)[-1].rsplit(None, 2)
        if len(cells) < 3:
            raise source.error("expected a position, a stop, a leg and a length", number)
        stops.append(cells[0])
    return stops[:-1] if len(stops) > 1 and stops[0] == stops[-1] else stops
