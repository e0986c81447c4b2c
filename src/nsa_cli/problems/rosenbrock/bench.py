"""Benchmark data of Rosenbrock's function: temperatures; the paper prints no figures."""

from nsa_cli.problems.contribution import BenchContribution

contribution = BenchContribution(temperatures={"sa": (1.0, 0.01), "es": (1.0, 0.01)})
