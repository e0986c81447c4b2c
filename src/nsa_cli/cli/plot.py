"""`nsa plot`: pictures of a policy, and of a solution from a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nsa_cli.api import generate, read
from nsa_cli.cli.command import completion
from nsa_cli.cli.options import Given
from nsa_cli.cli.outputs import check_output
from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import need
from nsa_cli.core.options import parse_count, parse_seed
from nsa_cli.core.problem import Problem
from nsa_cli.core.reading import Reading
from nsa_cli.solver.settings import policy_names

Picture = Annotated[
    str, typer.Option("-o", "--output", metavar="FILE", help="The picture: .png, .svg or .pdf.")
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
        typer.Option("-p", "--problem", help="Problem, or FILE.py:CLASS; by default what the file says."),
    ] = None,
    size: Annotated[
        int | None, typer.Option("-n", "--size", help="Size of the instance; by default the training's.")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", help="Steps of the rollout; by default twice the size, at least 100."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the instance and of the rollout.")] = 0,
) -> int:
    """Draw a policy's proposals, as the paper's figures do."""
    from nsa_cli.report.plots import check_picture, drawing_of

    check_output(output)
    check_picture("output", output)
    from nsa_cli.policy.checkpoint import problem_of
    from nsa_cli.problems import find_problem

    owner = find_problem(problem or problem_of(name))
    drawing = drawing_of(owner)
    need("torch", "the picture of a policy")
    from nsa_cli.report.plots import save_policy

    save_policy(output, drawing, _view(owner, name, size, steps, parse_seed("seed", seed) or 0))
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
    parse_count("size", size)
    instance = generate(owner, size, seed=seed)[0].instance
    budget = neighbourhood.budget(instance)
    t_start, t_end = (trained.t_start, trained.t_end) if trained else (budget.t_start, budget.t_end)
    steps = max(2 * size, 100) if steps is None else steps
    parse_count("steps", steps)
    schedule = Schedule(steps, t_start, t_end)
    done = rollout(owner, operations, instance, learnt, schedule, seed=seed, chains=_CHAINS)
    temperature = float(done.temperature[steps // 2])
    return LearntView(learnt.name, learnt, operations, instance, done, temperature)


def solution(
    instance: Annotated[str, typer.Argument(metavar="INSTANCE", help="File with one instance.")],
    solved: Annotated[str, typer.Argument(metavar="SOLUTION", help="Its solution: our JSON, a tour, …")],
    output: Picture,
    given: Given,
    reading: Reading,
) -> int:
    """Draw a solution of an instance, both from files."""
    from nsa_cli.problems.files import read_solution
    from nsa_cli.report.plots import check_picture, drawing_of, save_solution

    check_output(output)
    check_picture("output", output)
    from nsa_cli.io.source import read_source

    tasks = read(instance, given.problem, given.keys(), **vars(reading))
    if len(tasks) != 1:
        raise UsageError(f"{instance}: holds {len(tasks)} instances; a picture shows one")
    task = tasks[0]
    drawing = drawing_of(task.problem)
    found = read_solution(read_source(solved), task.problem, task.instance)
    save_solution(output, drawing, task.instance, found)
    return 0
