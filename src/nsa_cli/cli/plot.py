"""`nsa plot`: pictures of a policy, and of a solution from a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nsa_cli.api import generate, read
from nsa_cli.cli.command import completion
from nsa_cli.cli.options import Given
from nsa_cli.cli.writing import check_output
from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import need
from nsa_cli.core.options import parse_count, parse_seed
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Reading
from nsa_cli.solver.settings import policy_names

Picture = Annotated[
    str,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write the picture to this file: .png, .svg or .pdf."
    ),
]

#: Size of the instance that a policy is shown on, where its file does not say what it was trained on.
_SIZE = 20

#: Chains that a rollout shows the spread of.
_CHAINS = 64


def policy(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="A shipped policy, or a file.",
            autocompletion=completion(policy_names),
        ),
    ],
    output: Picture,
    problem: Annotated[
        str | None,
        typer.Option(
            "-p", "--problem", help="Name the problem, or FILE.py:CLASS; by default the file says it."
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option("-n", "--size", help="Take an instance of this size; by default the size of training."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", help="Make so many steps; by default twice the size, at least 100."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draw the instance and the steps with this seed.")] = 0,
) -> int:
    """Draw a policy's proposals, as the paper's figures do."""
    from nsa_cli.report.plots import check_picture, need_drawing, picture, write_picture

    check_output(output)
    check_picture("output", output)
    from nsa_cli.policy.checkpoint import problem_of
    from nsa_cli.problems import find_problem

    owner = find_problem(problem or problem_of(name))
    drawing = need_drawing(owner.drawing(), owner.name)
    need("torch", "the picture of a policy")
    view = _view(owner, name, size, steps, parse_seed("seed", seed) or 0)
    write_picture(picture(drawing.policy_shape, drawing.policy, view), output)
    return 0


def _view(owner: Problem[Any], name: str, size: int | None, steps: int | None, seed: int) -> Any:
    """Run a policy on a random instance."""
    from nsa_cli.anneal.rollout import rollout
    from nsa_cli.anneal.schedule import Schedule
    from nsa_cli.core.drawing import LearntView
    from nsa_cli.policy.build import find_policy
    from nsa_cli.policy.checkpoint import find_stored, neighbourhood_for

    neighbourhood = neighbourhood_for(owner, find_stored(name, owner.name))
    operations = neighbourhood.operations()
    learnt = find_policy(name, owner.name, operations)
    trained = learnt.trained
    if size is None:
        size = trained.size if trained else _SIZE
    (task,) = generate(owner, size, seed=seed)
    steps = max(2 * size, 100) if steps is None else steps
    parse_count("steps", steps)
    ends = trained or neighbourhood.budget(task.instance)
    schedule = Schedule(steps, ends.t_start, ends.t_end)
    x, temperatures = rollout(owner, operations, task.instance, learnt, schedule, seed=seed, chains=_CHAINS)
    return LearntView(learnt.name, learnt, operations, task.instance, x, temperatures)


def solution(
    instance: Annotated[str, typer.Argument(metavar="INSTANCE", help="File with one instance.")],
    solved: Annotated[str, typer.Argument(metavar="SOLUTION", help="Its solution: JSON of nsa, a tour, …")],
    output: Picture,
    given: Given,
    reading: Reading,
) -> int:
    """Draw a solution of an instance, both from files."""
    from nsa_cli.io.source import read_source
    from nsa_cli.problems.files import read_solution
    from nsa_cli.report.plots import check_picture, need_drawing, solution_picture, write_picture

    check_output(output)
    check_picture("output", output)
    tasks = read(instance, given.problem, given.keys(), **vars(reading))
    if len(tasks) != 1:
        raise UsageError(f"{instance}: holds {len(tasks)} instances; a picture shows one")
    (task,) = tasks
    drawing = need_drawing(task.problem.drawing(), task.problem.name)
    found = read_solution(read_source(solved), task.problem, task.instance)
    write_picture(solution_picture(drawing, task.instance, found), output)
    return 0
