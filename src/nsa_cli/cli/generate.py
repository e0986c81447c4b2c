"""`nsa generate`: instances of the paper's distributions, and its test sets."""

from __future__ import annotations

from dataclasses import dataclass

from nsa_cli.api import generate as make
from nsa_cli.cli.console import emit
from nsa_cli.cli.options import ProblemName
from nsa_cli.cli.writing import check_destination, file_in, format_of, is_directory
from nsa_cli.core.draws import draw_seed
from nsa_cli.core.errors import UsageError
from nsa_cli.core.machine import check_memory
from nsa_cli.core.options import OPTIONS, parse_count, parse_seed, parse_text, read_settings, setting
from nsa_cli.core.problem import Task

#: What an instance takes at least before it is written, and each of its elements.
_INSTANCE_BYTES, _ELEMENT_BYTES = 1_000, 8


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which instances to write, and where.

    Attributes
    ----------
    size : int
        Number of cities, items or dimensions.
    count : int, optional
        Write so many instances; with --paper the first ones.
    seed : int, optional
        The same seed gives the same instances. Without one, a seed is drawn.
    paper : bool
        Write the paper's test set of this size instead of random instances.
    output : str, optional
        Write there; - is stdout; DIR/: a file for each instance.
    format_ : str, optional
        Write in this form; tsplib is for tours.
    """

    size: int = setting(group=OPTIONS, read=parse_count, metavar="N", short=("-n",))
    count: int | None = setting(None, OPTIONS, parse_count, "N")
    seed: int | None = setting(None, OPTIONS, parse_seed, "N")
    paper: bool = setting(False, OPTIONS)
    output: str | None = setting(None, OPTIONS, metavar="FILE|DIR", short=("-o",))
    format_: str | None = setting(None, OPTIONS, parse_text, words=("json", "jsonl", "csv", "tsplib"))

    def __post_init__(self) -> None:
        read_settings(self)


def generate(problem: ProblemName, wanted: Wanted) -> int:
    """Write random instances of PROBLEM. Or, with --paper, the test sets of the paper's tables."""
    from nsa_cli.problems import find_problem
    from nsa_cli.problems.files import write_instances

    found, output, size, count = find_problem(problem), wanted.output, wanted.size, wanted.count
    directory = is_directory(output)
    check_destination(output)
    own = {s: f.name for f in found.formats if f.write for s in f.suffixes}
    known = {".json": "json", ".jsonl": "jsonl", **({".csv": "csv"} if found.columns else {}), **own}
    several = wanted.paper if count is None else count > 1
    fmt = wanted.format_ or format_of(output, known, "jsonl" if several else "json")
    if wanted.paper and wanted.seed is not None:
        raise UsageError("the paper's sets are fixed", option="paper", drop={"seed": None})
    check_memory((count or 1) * (_INSTANCE_BYTES + _ELEMENT_BYTES * size))
    if wanted.paper:
        tasks = [Task(found, instance) for instance in found.paper_set(size, count)]
    else:
        # A drawn seed is in the instances' names, from which the same instances can be made again.
        tasks = make(problem, size, count or 1, draw_seed() if wanted.seed is None else wanted.seed)
    instances = [task.instance for task in tasks]
    if not directory:
        emit(write_instances(found, instances, fmt), output)
        return 0
    for instance in instances:
        suffix = next((f.suffixes[0] for f in found.formats if f.name == fmt), f".{fmt}")
        emit(write_instances(found, [instance], fmt), file_in(output, f"{instance.name}{suffix}"))
    return 0
