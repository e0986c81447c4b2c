"""Both methods learn, resume exactly and refuse what they cannot do."""

import csv
import json
from dataclasses import replace

import pytest
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import nsa_cli as nsa
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.core.errors import InputError, UsageError
from nsa_cli.policy.build import build
from nsa_cli.policy.checkpoint import read
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy
from nsa_cli.problems import builtin_names
from nsa_cli.train.config import METHODS, EsConfig, PpoConfig, load_config, load_preset
from nsa_cli.train.es import stacked, train_es
from nsa_cli.train.estimators import shaped
from nsa_cli.train.loop import Training
from nsa_cli.train.ppo import collect, train_ppo, untrained

from helpers import random_instances, starts_of

SMALL = {"size": 12, "steps": 24, "problems": 48, "epochs": 6, "validate_every": 3, "validation_size": 12}
CONFIGS = {
    "es": EsConfig(**SMALL, learning_rate=2e-2, validation_problems=48),
    "ppo": PpoConfig(
        **SMALL, learning_rate=3e-3, critic_learning_rate=3e-3, passes=3, validation_problems=48
    ),
}
TRAIN = {"es": train_es, "ppo": train_ppo}


def make_run(problem, method, out, **changes):
    config = replace(CONFIGS[method], **changes)
    if problem.name == "rosenbrock":
        config = replace(config, size=2, validation_size=2)
    return Training(problem, config, seed=3, out=out)


@pytest.mark.parametrize("method", ["es", "ppo"])
def test_every_problem_trains_and_the_best_policy_is_in_the_file(problem, method, tmp_path):
    """A few epochs; the file loads, says how it came about, and scores what it says."""
    run = make_run(problem, method, tmp_path / "p.json")
    TRAIN[method](run)
    data = json.loads((tmp_path / "p.json").read_text())
    assert data["seed"] == 3
    assert data["training"]["method"] == method
    policy = build(read(tmp_path / "p.json", problem.name), run.operations)
    assert run.validate(policy) == pytest.approx(data["validation"], rel=1e-6)
    log = (tmp_path / "p.csv").read_text().splitlines()
    assert len(log) == 1 + run.config.epochs
    assert log[0].startswith("epoch,seconds,")


@pytest.mark.parametrize("method", ["es", "ppo"])
def test_how_long_a_temperature_is_shown_is_noted_and_changes_no_weight(method, tmp_path):
    """It is for the finished policy."""
    problem, files = nsa.find_problem("knapsack"), []
    for name, changes in (("paper", {}), ("held", {"temperature_steps": 4})):
        TRAIN[method](make_run(problem, method, tmp_path / f"{name}.json", epochs=3, **changes))
        files.append(json.loads((tmp_path / f"{name}.json").read_text()))
    paper, held = files
    assert paper["temperature_steps"] == 1
    assert held["temperature_steps"] == 4
    assert held["training"] == paper["training"]
    assert held["weights"] == paper["weights"]
    operations = problem.neighbourhood("paper").operations()
    assert build(read(tmp_path / "held.json", "knapsack"), operations).temperature_steps == 4


@pytest.mark.parametrize("method", ["es", "ppo"])
def test_a_trained_policy_beats_uniform_proposals(method, tmp_path):
    """On instances that training never saw; knapsack learns in seconds."""
    problem = nsa.find_problem("knapsack")
    judged = {"validation_size": 30, "validation_steps": "2N"}
    run = make_run(problem, method, tmp_path / "p.json", epochs=15, problems=64, size=30, steps=60, **judged)
    TRAIN[method](run)
    assert run.best_score < run.validate(UniformSlotPolicy()) - 0.2


@pytest.mark.parametrize("method", ["es", "ppo"])
def test_a_resumed_training_is_the_same_training(method, tmp_path):
    """Stopped after half and resumed: bit for bit the policy of the run that was not."""
    problem = nsa.find_problem("knapsack")
    whole = make_run(problem, method, tmp_path / "whole.json")
    expected = TRAIN[method](whole)
    part = make_run(problem, method, tmp_path / "part.json")
    seen = []
    part.on_epoch = seen.append
    part.asked_to_stop = lambda: len(seen) == 4
    TRAIN[method](part)
    assert len(seen) == 4
    again = make_run(problem, method, tmp_path / "part.json")
    result = TRAIN[method](again, resume=True)
    assert torch.equal(*(parameters_to_vector(p.parameters()) for p in (result, expected)))
    assert again.best_score == whole.best_score
    without_seconds = [
        [cells for k, cells in enumerate(line.split(",")) if k != 1]
        for name in ("whole", "part")
        for line in (tmp_path / f"{name}.csv").read_text().splitlines()
    ]
    half = len(without_seconds) // 2
    assert without_seconds[:half] == without_seconds[half:]


def test_the_last_tenth_of_the_epochs_learns_slowly(tmp_path):
    """Two of twenty; with a final learning rate of nothing these change no weight."""
    changes = {"epochs": 20, "final_learning_rate": 0.0, "problems": 2, "steps": 4, "population": 2}
    run = make_run(nsa.find_problem("knapsack"), "es", tmp_path / "p.json", **changes)
    train_es(run)
    with run.log_path.open() as log:
        norms = [float(row["parameter_norm"]) for row in csv.DictReader(log)]
    assert [k for k in range(1, 20) if norms[k] != norms[k - 1]] == list(range(1, 18))


def test_what_cannot_be_resumed_is_refused(tmp_path):
    """No state, another configuration."""
    problem = nsa.find_problem("knapsack")
    run = make_run(problem, "es", tmp_path / "p.json", epochs=1)
    with pytest.raises(InputError, match="no training"):
        train_es(run, resume=True)
    train_es(run)
    with pytest.raises(InputError, match="another configuration"):
        train_es(make_run(problem, "es", tmp_path / "p.json", epochs=2, sigma=0.1), resume=True)


@pytest.mark.parametrize("name", ["knapsack", "bin", "tsp"])
def test_members_of_a_population_act_as_they_would_alone(name):
    """A stacked policy scores each member's rows with that member's weights."""
    problem = nsa.find_problem(name)
    operations = problem.neighbourhood("paper").operations()
    torch.manual_seed(0)
    policy = SlotPolicy(operations.feature_sets["paper"].slots)
    mean = parameters_to_vector(policy.parameters()).detach()
    vectors = mean + torch.randn(4, len(mean))
    instances = random_instances(problem, 9, 3)
    x = starts_of(problem, instances, "paper")
    heat = torch.tensor(0.5, dtype=torch.float64)
    chosen = tuple(torch.zeros(len(x), dtype=torch.int64) for _ in range(operations.slots - 1))
    for k in range(operations.slots):
        together = stacked(policy, vectors).logits(
            operations,
            operations.pack(instances * 4),
            x.repeat(4, 1),
            tuple(c.repeat(4) for c in chosen[:k]),
            heat,
        )
        for member, vector in enumerate(vectors):
            vector_to_parameters(vector, policy.parameters())
            alone = policy.logits(operations, operations.pack(instances), x, chosen[:k], heat)
            torch.testing.assert_close(together[3 * member : 3 * member + 3], alone)


def presets():
    """Give every preset that is shipped."""
    from importlib import resources

    for name in builtin_names():
        package = f"nsa_cli.problems.{name}"
        for file in sorted(f.name for f in (resources.files(package) / "presets").iterdir()):
            yield package, *file.removesuffix(".yaml").split("-")


@pytest.mark.parametrize(("package", "method", "preset"), list(presets()))
def test_every_preset_is_valid(package, method, preset):
    """Its fields exist and its features are the problem's."""
    config = load_preset(package, method, preset)
    assert isinstance(config, METHODS[method])
    operations = nsa.find_problem(package.rpartition(".")[2]).neighbourhood(config.neighbourhood).operations()
    assert config.features in getattr(operations, "feature_sets", {"paper": None})


PAPER = {
    "ppo": {"learning_rate": 2e-4, "weight_decay": 1e-2, "discount": 0.9, "trace": 0.9, "clip": 0.25},
    "es": {"population": 16, "sigma": 0.05, "learning_rate": 1e-3, "momentum": 0.9, "epochs": 10_000}
    | {"size": 20, "steps": 40, "t_start": 1.0, "t_end": 1e-4, "problems": 256},
}


@pytest.mark.parametrize("method", PAPER)
def test_the_papers_numbers_are_in_the_papers_presets(method):
    """Appendix A: what is published, and not what works better."""
    config = vars(load_preset("nsa_cli.problems.tsp", method, "paper"))
    assert config | PAPER[method] == config


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("sighma: 1", "sighma"),
        ("sigma: x", "sigma"),
        ("size: 2.5", "size"),
        ("mixed_sizes: 50", "mixed_sizes"),
        ("mixed_sizes: [50, x]", "mixed_sizes"),
        ("mixed_sizes: [0]", "mixed_sizes"),
        ("size:", "size"),
        ("validation_steps: many", "validation_steps"),
        ("- 1", "names with values"),
        ("a: [", ":1: not valid YAML|YAML"),
        ("population: 3", "population"),
        ("epochs: 0", "epochs"),
        ("t_end: 0", "t_end"),
        ("fitness: worst", "fitness: .*log_best"),
    ],
)
def test_wrong_configurations_are_one_line(tmp_path, text, word):
    """The message names the field."""
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=word) as caught:
        load_config(path, EsConfig())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reward", ["gain", "log_best", "root_best", "log_gain"])
def test_rewards_add_up_to_what_is_judged(reward, tmp_path):
    """Of a chain: from its start to its end, or to the best it met, in the scale that counts."""
    problem = nsa.find_problem("rosenbrock")
    run = make_run(problem, "ppo", tmp_path / "p.json", reward=reward)
    instances = run.instances(0)
    keys = run.keys(0, len(instances))
    learner = untrained(run, run.config)
    rollout = collect(run, learner, instances, keys)
    got, batch, starts = rollout.reward.sum(0), rollout.batch, run.starts(instances, keys)
    first = run.operations.cost(batch, starts)
    chains = TorchChains(run.operations, batch, learner.policy, starts, torch.from_numpy(keys))
    chains.advance(run.schedule().temperatures(0, run.config.steps))
    last = chains.state.best_energy if reward.endswith("best") else chains.state.energy
    expected = shaped(first, reward) - shaped(last, reward)
    torch.testing.assert_close(got, expected.float(), rtol=1e-4, atol=1e-4)


def test_ppo_is_paid_in_what_es_makes_small(tmp_path):
    """On squared loads a bin counts for one, as much as a full square, and not for twice the items."""
    problem = nsa.find_problem("bin")
    run = make_run(
        problem, "ppo", tmp_path / "p.json", neighbourhood="squares", features="squares", t_start=0.03
    )
    instances = run.instances(0)
    keys = run.keys(0, len(instances))
    found = collect(run, untrained(run, run.config), instances, keys)
    batch = found.batch
    energy = run.operations.cost(batch, run.starts(instances, keys)) / batch.scale
    first = run.losses(energy, run.config.size)
    weights = batch.weights / batch.capacity[:, None]
    torch.testing.assert_close(first, (1 - weights**2).sum(1), check_dtype=False)  # one bin an item
    left = first - found.reward.sum(0).double()
    assert (left > 0).all()
    assert (left < first).all()
    assert float(found.cost.mean()) <= float(left.mean())


def test_numbers_in_yaml_may_be_written_as_people_do(tmp_path):
    """1e-2 is a text to YAML and a number to everyone else."""
    path = tmp_path / "c.yaml"
    path.write_text("learning_rate: 1e-2\nunit: null\nsigma: 1\nmixed_sizes: [8, 9]\n")
    config = load_config(path, EsConfig())
    assert (config.learning_rate, config.unit, config.sigma) == (0.01, None, 1.0)
    assert config.mixed_sizes == (8, 9)


def test_epochs_take_sizes_in_turn_and_validation_all_of_them(tmp_path):
    """And energies of each count in proportion to the size."""
    run = make_run(nsa.find_problem("knapsack"), "es", tmp_path / "p.json", mixed_sizes=(6, 30))
    assert [run.instances(epoch)[0].size for epoch in range(4)] == [12, 6, 30, 12]
    run.validate(UniformSlotPolicy())
    assert [size for size, *_ in run._validation] == [12, 6, 30]


def test_squared_fills_are_learnt_from_and_the_policy_anneals_on_them(tmp_path):
    """The file names the neighbourhood; what training makes small is bins less squared loads."""
    problem = nsa.find_problem("bin")
    run = make_run(problem, "es", tmp_path / "p.json", neighbourhood="squares", features="squares", epochs=2)
    train_es(run)
    assert json.loads((tmp_path / "p.json").read_text())["neighbourhood"] == "squares"
    (task,) = nsa.generate(problem, 12, 1, 1)
    result = nsa.solve(task, policy=str(tmp_path / "p.json"), init="singletons", steps=500, seed=1)
    assert result.objective == task.instance.objective(result.raw) < 12
    energy, _ = run.rollouts(
        UniformSlotPolicy(), [task.instance], *_alone(run, task.instance), run.schedule()
    )
    assert -1 < energy.item() < 12
    with pytest.raises(UsageError, match="neighbourhood: there is no 'squares'; there is paper"):
        make_run(nsa.find_problem("knapsack"), "es", tmp_path / "q.json", neighbourhood="squares")


def _alone(run, instance):
    keys = run.keys(0, 1)
    return run.starts([instance], keys), keys


@pytest.mark.parametrize("method", ["es", "ppo"])
def test_a_training_stopped_at_once_leaves_a_policy(method, tmp_path):
    """Before the first validation: the policy is there, without a score, and can be resumed."""
    problem = nsa.find_problem("knapsack")
    run = make_run(problem, method, tmp_path / "p.json")
    run.asked_to_stop = lambda: True
    TRAIN[method](run)
    assert json.loads((tmp_path / "p.json").read_text())["validation"] is None
    again = make_run(problem, method, tmp_path / "p.json")
    TRAIN[method](again, resume=True)
    assert json.loads((tmp_path / "p.json").read_text())["validation"] == again.best_score
