"""`nsa show`: how files are read, without solving anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from nsa_cli.api import Task, Unread
from nsa_cli.cli.console import Console, describe, emit, say
from nsa_cli.cli.options import Given
from nsa_cli.core.errors import UsageError
from nsa_cli.core.record import Reading
from nsa_cli.inputs import read_inputs

#: Elements that are shown, and columns of a matrix.
_ROWS, _CITIES = 5, 8


def show(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files, folders or patterns; - is stdin."),
    ],
    given: Given,
    reading: Reading,
    console: Console,
) -> int:
    """Show how FILEs are read: problem, columns, units, sizes, first rows, sums. Nothing is solved."""
    items, skipped = read_inputs(files, given.problem, given.keys(), **vars(reading))
    pages = [_page(item) for item in items if isinstance(item, Task)]
    emit("\n".join(pages), None)
    for group in skipped:
        console.tell(f"{group.place}: left out {', '.join(group.files)}, no instances")
    unread = [item for item in items if isinstance(item, Unread)]
    for item in unread:
        say(f"error: {describe(item.error)}")
    return unread[0].error.exit_code if unread else 0


def _page(task: Task) -> str:
    """Write what is known of one instance."""
    instance, problem = task.instance, task.problem
    facts: dict[str, object] = {"file": task.file, "name": instance.name}
    facts |= {"problem": f"{problem.name} ({problem.summary})" if problem.summary else problem.name}
    read_as = ", ".join(f"{word} as {key}" for key, word in task.words.items() if word != key)
    facts |= {"n": instance.size, "read as": read_as, **instance.told(instance.facts())}
    facts["best known"] = instance.best_known
    lines = [f"{key:<11}{value}" for key, value in facts.items() if value not in (None, "")]
    lines += [f"{'note':<11}{remark}" for remark in task.remarks()]
    return "\n".join([*lines, "", _first_rows(task), ""])


def _first_rows(task: Task) -> str:
    """Lay out the first elements, and the range and the sum of each column of numbers."""
    from rich.table import Table

    from nsa_cli.report.result import draw

    columns, summed = _columns(task), "capacity" in task.problem.settings
    table = Table("", *columns, box=None, pad_edge=False)
    size = max(map(len, columns.values()), default=0)
    for i in range(min(size, _ROWS)):
        table.add_row(str(i + 1), *(str(values[i]) for values in columns.values()))
    if size > _ROWS:
        table.add_row("…")
    for what, function in (("smallest", min), ("largest", max), ("sum", sum)):
        if size > 1 and (summed or what != "sum"):
            table.add_row(what, *(_over(values, function) for values in columns.values()))
    return draw(table)


def _over(values: Sequence[Any], function: Any) -> str:
    numbers = [x for x in values if isinstance(x, int | float)]
    return f"{function(numbers):.10g}" if numbers and len(numbers) == len(values) else ""


def _columns(task: Task) -> dict[str, Sequence[Any]]:
    """Give the elements column by column: of a matrix the first cities, of other data its lists."""
    try:
        data = task.problem.columns_of(task.instance)
    except UsageError:
        data = task.instance.record()
    if (matrix := data.get("matrix")) is not None:
        ids = [str(x) for x in data.get("names") or data.get("ids") or range(1, len(matrix) + 1)]
        cities = zip(ids, zip(*matrix, strict=True), strict=True)
        return {"from": ids} | dict(list(cities)[:_CITIES])
    return {key: list(x) for key, x in data.items() if isinstance(x, Sequence) and not isinstance(x, str)}
